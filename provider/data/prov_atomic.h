/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations: what one asks for beyond a struct prov_op, and what the domain says about them. */
#ifndef WEFT_PROV_ATOMIC_H
#define WEFT_PROV_ATOMIC_H

#include <rdma/fi_atomic.h>

#include "prov.h"

extern struct fi_ops_atomic prov_atomic_ops;

/* fi_query_atomic. */
int prov_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags);

/* The engine's numbers; -FI_EOPNOTSUPP: there is no such base operation. */
int prov_atomic_code(enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic);

#endif
