/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_open_ops of domains and endpoints: WEFT_FI_OPS (weft/provider.h). */
#ifndef PROV_FI_OPS_H
#define PROV_FI_OPS_H

#include <rdma/fabric.h>

int prov_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
