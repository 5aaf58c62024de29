/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations: what a call describes, and what it becomes. */
#ifndef PROV_AMO_H
#define PROV_AMO_H

#include <rdma/fi_atomic.h>
#include <sys/uio.h>

#include "prov_domain.h"
#include "prov_ep.h"
#include "prov_req.h"

/* The three families of calls. */
enum prov_amo_family { PROV_AMO_BASE, PROV_AMO_FETCH, PROV_AMO_COMPARE };

/* Vectors of elements as the application gave them. */
struct prov_ioc {
	const struct fi_ioc *at;
	size_t count;
};

/* One call of any family. */
struct prov_amo {
	enum prov_amo_family family;
	struct prov_ioc operands, comparands, results;
	const struct fi_msg_atomic *msg; /* target, type, operation and context */
	uint64_t flags;
};

/* ---- atomic_code.c ---- */

/* The engine's numbers; -FI_EOPNOTSUPP when this family has no such operation on this type. */
int prov_amo_code(enum prov_amo_family family, enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic);
/* What the domain says about an operation; errors of prov_amo_code. */
int prov_amo_query(const struct prov_domain *domain, enum prov_amo_family family, enum fi_datatype datatype,
		   enum fi_op op, struct fi_atomic_attr *attr);

/* ---- atomic_plan.c ---- */

/* What a call comes to: operands and comparands in a row, results, and how many bytes each of them has. */
struct prov_amo_plan {
	struct weft_op_atomic atomic;
	struct iovec in[2 * PROV_IOV_MAX], out[PROV_IOV_MAX];
	size_t operand_count, in_count, out_count; /* pieces: of the operands, of all that goes in, of the results */
	uint64_t in_bytes, bytes;                  /* all that goes in; the target's elements */
	struct fi_rma_ioc remote[PROV_IOV_MAX];
	size_t parts; /* of `remote` */
};

/* -FI_EINVAL: lengths that do not agree; -FI_EMSGSIZE; errors of prov_amo_code. */
int prov_amo_plan(const struct prov_domain *domain, const struct prov_amo *amo, struct prov_amo_plan *plan);

/* ---- prov_atomic.c. Device's lock held. ---- */

/* -FI_EBADFLAGS: flags that atomic operations do not support. */
int prov_amo_check_flags(uint64_t flags);
/* Errors and doorbell as for the functions of post.h. */
ssize_t prov_amo_post(struct prov_ep *ep, const struct prov_amo *amo, struct prov_work work);

#endif
