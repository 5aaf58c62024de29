/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets: queues and counters of any devices of a fabric that wake the same sleepers. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "prov.h"
#include "weft/ethdev.h"

enum { YIELD_US = 50 }; /* fi_wait makes progress itself this long; then the devices' threads do */

static struct prov_waitset *set_of(struct fid *fid)
{
	return container_of(fid, struct prov_waitset, fid.fid);
}

void prov_waitset_add(struct prov_waitset *set, struct prov_wait_obj *member)
{
	pthread_rwlock_wrlock(&set->members_lock);
	TAILQ_INSERT_TAIL(&set->members, member, member_link);
	pthread_rwlock_unlock(&set->members_lock);
}

void prov_waitset_del(struct prov_waitset *set, struct prov_wait_obj *member)
{
	pthread_rwlock_wrlock(&set->members_lock);
	TAILQ_REMOVE(&set->members, member, member_link);
	pthread_rwlock_unlock(&set->members_lock);
	if (member->raised)
		prov_waitset_count(set, false);
}

void prov_waitset_count(struct prov_waitset *set, bool raised)
{
	pthread_mutex_lock(&set->lock);
	set->raised_count += raised ? 1 : -1;
	prov_wait_raise(&set->obj, set->raised_count > 0);
	pthread_mutex_unlock(&set->lock);
}

int prov_waitset_trywait(struct fid *fid)
{
	struct prov_waitset *set = set_of(fid);
	struct prov_wait_obj *member;
	int ret = 0;
	pthread_rwlock_rdlock(&set->members_lock);
	TAILQ_FOREACH(member, &set->members, member_link)
	{
		if (prov_trywait(member->owner))
			ret = -FI_EAGAIN; /* the others are looked at all the same: counters note what was seen */
	}
	pthread_rwlock_unlock(&set->members_lock);
	return ret;
}

static bool set_raised(struct prov_waitset *set)
{
	pthread_mutex_lock(&set->lock);
	bool raised = set->obj.raised;
	pthread_mutex_unlock(&set->lock);
	return raised;
}

/* The threads of the devices tell. */
static bool set_sleep(struct prov_waitset *set, weft_ns limit)
{
	struct prov_wait_obj *obj = &set->obj;
	struct timespec end;
	int expired = 0;
	bool raised;
	prov_deadline(limit, &end);
	pthread_mutex_lock(&obj->lock);
	while (!(raised = set_raised(set)) && !expired)
		expired = limit == WEFT_NEVER ? pthread_cond_wait(&obj->cond, &obj->lock)
					      : pthread_cond_clockwait(&obj->cond, &obj->lock, CLOCK_MONOTONIC, &end);
	pthread_mutex_unlock(&obj->lock);
	return raised;
}

static int set_wait(struct fid_wait *fid, int timeout)
{
	struct prov_waitset *set = set_of(&fid->fid);
	weft_ns now = weft_clock_ns(), limit = timeout < 0 ? WEFT_NEVER : now + WEFT_MS(timeout);
	weft_ns patience = set->obj.kind == FI_WAIT_YIELD ? limit : now + WEFT_US(YIELD_US);
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
	return prov_wait_control(&set_of(fid)->obj, command, arg);
}

static int set_close(struct fid *fid)
{
	struct prov_waitset *set = set_of(fid);
	if (!TAILQ_EMPTY(&set->members))
		return -FI_EBUSY;
	prov_wait_close(&set->obj);
	pthread_mutex_destroy(&set->lock);
	pthread_rwlock_destroy(&set->members_lock);
	set->fabric->refs--;
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
	set->fabric = container_of(fabric, struct prov_fabric, fid);
	int ret = prov_wait_open(&set->obj, attr->wait_obj, NULL, &set->fid.fid, set->fabric);
	if (ret) {
		free(set);
		return ret;
	}
	pthread_rwlock_init(&set->members_lock, NULL);
	pthread_mutex_init(&set->lock, NULL);
	TAILQ_INIT(&set->members);
	set->fabric->refs++;
	set->fid.fid.fclass = FI_CLASS_WAIT;
	set->fid.fid.ops = &set_fi_ops;
	set->fid.ops = &set_ops;
	*out = &set->fid;
	return 0;
}
