/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions, access to peers' memory, and what their calls share with the sends. */
#ifndef PROV_RMA_H
#define PROV_RMA_H

#include <rdma/fi_rma.h>

#include "prov.h"

/* ---- memory regions (mr.c) ---- */

struct prov_mr {
	struct fid_mr fid;
	struct prov_domain *domain;
	struct weft_mr *wmr;
	struct prov_cntr *remote_read, *remote_write; /* or NULL */
};

extern struct fi_ops_mr prov_mr_ops;
/* A peer's access to our memory through `ep` has ended. Needs up to one free request. Lock held. */
void prov_mr_event(struct prov_ep *ep, const struct weft_cqe *cqe);
/* Peers that address the endpoint reach the domain's regions. Lock held. */
void prov_mr_reach(struct prov_ep *ep, struct weft_ep *wep);

/* ---- access to peers' memory (rma.c) ---- */

extern struct fi_ops_rma prov_rma_ops;

/* ---- the transmit side of all operations (op.c). Lock held for all of these. ---- */

/* Total length, or -1 when the description is impossible. */
int64_t prov_iov_total(const struct iovec *iov, size_t count);
/* Completion level and fence of the API's flags as the engine's. -FI_EOPNOTSUPP: FI_COMMIT_COMPLETE. */
int prov_tx_level(uint64_t flags, struct weft_op *wop);
/* -FI_EAGAIN: too many operations outstanding or completions unread, or no room for `parts` operations. */
int prov_tx_room(struct prov_ep *ep, unsigned parts);
/* A request of this endpoint; `flags` go into the completion. NULL: no memory. */
struct prov_req *prov_tx_req(struct prov_ep *ep, const struct prov_op *op, uint64_t flags);
/* Copies what may change before the operation completes, or what lies in pieces. -FI_EAGAIN: no memory. */
int prov_req_gather(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t total);
/* The engine's sink for data that goes into the pieces of req->iov. */
void prov_req_scatter(void *req, uint64_t offset, const uint8_t *data, uint32_t len);
/* Hands `parts` operations with this request as context to the engine, which owns it until prov_req_done. Refused, it
 * is freed. */
ssize_t prov_tx_post(struct prov_ep *ep, struct prov_req *req, const struct weft_op *wops, unsigned parts);
/* Ends a call that posted an operation unless `ret` is an error: unlocks, and returns that. `late`: see prov_push. */
ssize_t prov_tx_leave(struct prov_nic *nic, ssize_t ret, uint64_t flags, bool late);

#endif
