/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations on the receiving side. False: no memory, later. */
#ifndef WEFT_RECV_H
#define WEFT_RECV_H

#include "endpoint.h"

bool recv_post(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);
bool recv_peek(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);
void recv_cancel(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);

#endif
