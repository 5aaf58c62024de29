/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations handed to the engine: from the API's description to the engine's. Device's lock held for all of them. */
#ifndef PROV_POST_H
#define PROV_POST_H

#include <rdma/fi_rma.h>

#include "prov_ep.h"
#include "prov_req.h"

/* One send or receive as the API describes it. */
struct prov_op {
	uint8_t kind; /* enum weft_op_kind */
	const struct iovec *iov;
	size_t iov_count;
	fi_addr_t addr;
	uint64_t tag, ignore, data;
	uint64_t flags; /* FI_* and PROV_NO_COMPLETION */
	void *context;
};

/* -FI_EAGAIN: there is no room or memory now; -FI_EINVAL, -FI_EMSGSIZE, -FI_EOPNOTSUPP. All ring the doorbell, unless
 * FI_MORE says that others follow. */
ssize_t prov_send_post(struct prov_ep *ep, const struct prov_op *op, struct prov_work work);
ssize_t prov_recv_post(struct prov_ep *ep, const struct prov_op *op, struct prov_work work);
/* `kind`: WEFT_OP_READ or WEFT_OP_WRITE. */
ssize_t prov_rma_post(struct prov_ep *ep, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags,
		      struct prov_work work);
/* Ends a receive that was posted, another one with each call. -FI_ENOENT: none with this context is left. */
ssize_t prov_recv_cancel(struct prov_ep *ep, const void *context);

#endif
