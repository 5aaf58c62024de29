/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of struct fi_ops that an object does not offer: -FI_ENOSYS. */
#ifndef PROV_REFUSE_H
#define PROV_REFUSE_H

#include <rdma/fabric.h>

int prov_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int prov_no_control(struct fid *fid, int command, void *arg);
int prov_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
