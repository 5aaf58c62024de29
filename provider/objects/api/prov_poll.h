/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets: which of several completion queues and counters have something to look at. */
#ifndef PROV_POLL_H
#define PROV_POLL_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

int prov_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);

#endif
