/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric object, and waiting on several queues. */
#include "prov_fabric.h"
#include "member.h"
#include "prov_attr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_cntr.h"
#include "prov_cq.h"
#include "prov_eq.h"
#include "prov_log.h"
#include "prov_refuse.h"
#include "prov_waitset.h"

static int fabric_close(struct fid *fid)
{
	struct prov_fabric *fabric = container_of(fid, struct prov_fabric, fid.fid);
	if (fabric->refs)
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static int trywait(struct fid *fid)
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

int prov_fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int ret = 0;
	for (int i = 0; i < count && !ret; i++)
		ret = trywait(fids[i]);
	return ret;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

int prov_fabric_open(const struct prov_tables *tables, const struct fi_fabric_attr *attr, struct fid_fabric **out,
		     void *context)
{
	if (attr->name && !prov_fabric_is(attr->name))
		return -FI_ENODATA;
	struct prov_fabric *fabric = calloc(1, sizeof *fabric);
	if (!fabric)
		return -FI_ENOMEM;
	fabric->tables = tables;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fi_ops;
	fabric->fid.ops = tables->fabric;
	*out = &fabric->fid;
	return 0;
}
