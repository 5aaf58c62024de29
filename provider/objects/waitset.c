/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets: queues and counters of any devices of a fabric that wake the same sleepers. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "member.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"
#include "prov_waitset.h"
#include "weft/ethdev.h"

enum { YIELD_US = 50 }; /* fi_wait makes progress itself this long; then the devices' threads do */

struct prov_waitset {
	struct fid_wait fid;
	struct prov_fabric *fabric;
	struct prov_wait_group group;
};

static struct prov_waitset *set_of(struct fid *fid)
{
	return container_of(fid, struct prov_waitset, fid.fid);
}

struct prov_wait_group *prov_waitset_group(struct fid_wait *set, const struct prov_fabric *fabric)
{
	if (!set || set->fid.fclass != FI_CLASS_WAIT || set_of(&set->fid)->fabric != fabric)
		return NULL;
	return &set_of(&set->fid)->group;
}

int prov_waitset_trywait(struct fid *fid)
{
	return prov_wait_group_trywait(&set_of(fid)->group);
}

/* The threads of the devices make progress meanwhile. */
static bool set_sleep(struct prov_waitset *set, weft_ns limit)
{
	struct prov_wait_obj *obj = &set->group.obj;
	struct timespec end;
	int expired = 0;
	bool raised;
	prov_deadline(limit, &end);
	pthread_mutex_lock(&obj->lock);
	while (!(raised = prov_wait_group_is_raised(&set->group)) && !expired)
		expired = limit == WEFT_NEVER ? pthread_cond_wait(&obj->cond, &obj->lock)
					      : pthread_cond_clockwait(&obj->cond, &obj->lock, CLOCK_MONOTONIC, &end);
	pthread_mutex_unlock(&obj->lock);
	return raised;
}

static int set_wait(struct fid_wait *fid, int timeout)
{
	struct prov_waitset *set = set_of(&fid->fid);
	weft_ns now = weft_clock_ns(), limit = timeout < 0 ? WEFT_NEVER : now + WEFT_MS(timeout);
	weft_ns patience = set->group.obj.attr.kind == FI_WAIT_YIELD ? limit : now + WEFT_US(YIELD_US);
	while (!prov_waitset_trywait(&fid->fid)) {
		now = weft_clock_ns();
		if (now >= limit)
			return -FI_ETIMEDOUT;
		if (now < patience)
			sched_yield();
		else if (!set_sleep(set, limit))
			return -FI_ETIMEDOUT;
	}
	return 0;
}

static int set_control(struct fid *fid, int command, void *arg)
{
	return prov_wait_control(&set_of(fid)->group.obj, command, arg);
}

static int set_close(struct fid *fid)
{
	struct prov_waitset *set = set_of(fid);
	if (!prov_wait_group_is_empty(&set->group))
		return -FI_EBUSY;
	prov_wait_group_close(&set->group);
	prov_unref(&set->fabric->refs);
	free(set);
	return 0;
}

static struct fi_ops set_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = prov_no_bind,
	.control = set_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_wait set_ops = {
	.size = sizeof(struct fi_ops_wait),
	.wait = set_wait,
};

int prov_waitset_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **out)
{
	if (!attr || attr->flags || attr->wait_obj == FI_WAIT_NONE || attr->wait_obj == FI_WAIT_SET)
		return -FI_EINVAL;
	struct prov_waitset *set = calloc(1, sizeof *set);
	if (!set)
		return -FI_ENOMEM;
	set->fabric = prov_fabric_of(fabric);
	int ret = prov_wait_group_open(&set->group,
				       &(struct prov_wait_attr){.kind = attr->wait_obj, .owner = &set->fid.fid});
	if (ret) {
		free(set);
		return ret;
	}
	prov_ref(&set->fabric->refs);
	set->fid.fid.fclass = FI_CLASS_WAIT;
	set->fid.fid.ops = &set_fi_ops;
	set->fid.ops = &set_ops;
	*out = &set->fid;
	return 0;
}
