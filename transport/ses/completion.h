/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: room for each is reserved when its operation begins, so that it comes whatever happens. */
#ifndef WEFT_COMPLETION_H
#define WEFT_COMPLETION_H

#include "endpoint.h"
#include "msg.h"

/* Room for one completion; NULL: no memory. */
struct cqe_node *cqe_reserve(struct ses *ses);
void cqe_release(struct ses *ses, struct cqe_node *node);

/* Uses `node` up; `ep` may be NULL: nobody wants to know any more. */
void ep_complete(struct ses *ses, struct weft_ep *ep, struct cqe_node *node, const struct weft_cqe *cqe);
/* Sets kind and context, frees `req`. */
void ep_complete_recv(struct ses *ses, struct weft_ep *ep, struct rx_req *req, struct weft_cqe cqe);
/* Moves what waited for room into the ring. */
void ep_flush_cq(struct ses *ses, struct weft_ep *ep);

#endif
