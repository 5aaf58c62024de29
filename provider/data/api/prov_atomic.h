/* SPDX-License-Identifier: BSD-3-Clause */
/* Which atomic operations there are. */
#ifndef PROV_ATOMIC_H
#define PROV_ATOMIC_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>

#include "weft/engine.h"

/* fi_query_atomic. */
int prov_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags);
/* The engine's numbers; -FI_EOPNOTSUPP: there is no such base operation. */
int prov_atomic_code(enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic);

#endif
