/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets: queues and counters of any devices of a fabric that wake the same sleepers. */
#ifndef PROV_WAITSET_H
#define PROV_WAITSET_H

#include <rdma/fi_eq.h>

#include "prov_fabric.h"
#include "prov_wait.h"

int prov_waitset_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set);
/* fi_trywait: all its members. */
int prov_waitset_trywait(struct fid *fid);
/* The group that members of the set join. NULL: no set, or one of another fabric. */
struct prov_wait_group *prov_waitset_group(struct fid_wait *set, const struct prov_fabric *fabric);

#endif
