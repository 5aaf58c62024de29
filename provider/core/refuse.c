/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_refuse.h"

#include <rdma/fi_errno.h>

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
