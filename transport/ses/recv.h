/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations on the receiving side. False: no memory, later. */
#ifndef WEFT_RECV_H
#define WEFT_RECV_H

#include "endpoint.h"

struct rx_req;

bool recv_post(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);
bool recv_peek(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);
/* Receives were given back to those that `ep` shares: messages that wait may fit them. */
void recv_match_again(struct ses *ses, struct weft_ep *ep);
/* Ends a posted receive that has no message; one for many messages ends when those it has found are complete. */
void recv_end(struct ses *ses, struct weft_ep *ep, struct rx_req *req, int err);
void recv_cancel(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);

#endif
