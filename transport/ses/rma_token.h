/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens: numbers that name a message to the peer it waits for. */
#ifndef WEFT_RMA_TOKEN_H
#define WEFT_RMA_TOKEN_H

#include "rma.h"
#include "ses.h"

/* Gives m->rma one. False: no memory, or none is free. */
bool rma_token_take(struct ses *ses, struct tx_msg *m);
void rma_token_put(struct ses *ses, uint64_t token);
/* The message whose token agrees in the bits of `mask`, or NULL. */
struct tx_msg *rma_token_find(const struct ses *ses, uint64_t token, uint64_t mask);
/* The announced message with this token, if `ip` may fetch it; else NULL. */
struct tx_msg *rma_announced(const struct ses *ses, const struct weft_ip *ip, uint64_t token);

#endif
