/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of finished operations. */
#include <stdlib.h>

#include "prov.h"

static struct prov_cntr *cntr_of(struct fid_cntr *fid)
{
	return container_of(fid, struct prov_cntr, fid);
}

static void cntr_progress(struct prov_cntr *cntr)
{
	prov_nic_lock(cntr->domain->nic);
	prov_progress(cntr->domain->nic);
	prov_nic_unlock(cntr->domain->nic);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	cntr_progress(cntr_of(fid));
	return cntr_of(fid)->value;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	cntr_progress(cntr_of(fid));
	return cntr_of(fid)->errors;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	cntr_of(fid)->value += value;
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	cntr_of(fid)->value = value;
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	cntr_of(fid)->errors += value;
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	cntr_of(fid)->errors = value;
	return 0;
}

struct cntr_goal {
	struct prov_cntr *cntr;
	uint64_t threshold, errors; /* errors: when the wait began */
};

static bool goal_reached(void *arg)
{
	struct cntr_goal *goal = arg;
	return goal->cntr->value >= goal->threshold || goal->cntr->errors != goal->errors;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct prov_cntr *cntr = cntr_of(fid);
	struct cntr_goal goal = {.cntr = cntr, .threshold = threshold, .errors = cntr->errors};
	if (!prov_wait_until(cntr->domain->nic, goal_reached, &goal, timeout))
		return -FI_ETIMEDOUT;
	return cntr->value >= threshold ? 0 : -FI_EAVAIL;
}

static int cntr_close(struct fid *fid)
{
	struct prov_cntr *cntr = container_of(fid, struct prov_cntr, fid.fid);
	if (cntr->refs)
		return -FI_EBUSY;
	cntr->domain->refs--;
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int prov_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out, void *context)
{
	if (attr && (attr->events != FI_CNTR_EVENTS_COMP || attr->flags ||
		     (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)))
		return -FI_ENOSYS;
	struct prov_cntr *cntr = calloc(1, sizeof *cntr);
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = container_of(domain, struct prov_domain, fid);
	cntr->domain->refs++;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	*out = &cntr->fid;
	return 0;
}
