/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MSG_TX_H
#define WEFT_MSG_TX_H

#include "endpoint.h"

/* Begins an operation that sends. False: no memory, later. */
bool msg_tx_start(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, weft_ns now);

#endif
