/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric object, waiting on several queues, and refusals shared by all objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov.h"

int prov_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int prov_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int prov_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

static int fabric_close(struct fid *fid)
{
	struct prov_fabric *fabric = container_of(fid, struct prov_fabric, fid.fid);
	if (fabric->refs)
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static int fabric_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context)
{
	return -FI_ENOSYS; /* connectionless endpoints only */
}

int prov_trywait(struct fid *fid)
{
	switch (fid->fclass) {
	case FI_CLASS_CQ:
		return prov_cq_trywait(fid);
	case FI_CLASS_EQ:
		return prov_eq_trywait(fid);
	case FI_CLASS_CNTR:
		return prov_cntr_trywait(fid);
	case FI_CLASS_WAIT:
		return prov_waitset_trywait(fid);
	default:
		return -FI_EINVAL;
	}
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int ret = 0;
	for (int i = 0; i < count && !ret; i++)
		ret = prov_trywait(fids[i]);
	return ret;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = prov_domain_open,
	.passive_ep = fabric_passive_ep,
	.eq_open = prov_eq_open,
	.wait_open = prov_waitset_open,
	.trywait = fabric_trywait,
};

int prov_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	if (attr->name && strcmp(attr->name, PROV_NAME) != 0)
		return -FI_ENODATA;
	struct prov_fabric *fabric = calloc(1, sizeof *fabric);
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fi_ops;
	fabric->fid.ops = &fabric_ops;
	*out = &fabric->fid;
	return 0;
}
