/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between endpoints of one engine: no packets, the same matching. */
#ifndef WEFT_MSG_LOCAL_H
#define WEFT_MSG_LOCAL_H

#include "endpoint.h"

/* False: no memory, later. */
bool msg_local_send(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to);
/* A message that is all here, as `op` describes it, to `to`. False: no memory. */
bool msg_local_whole(struct ses *ses, struct weft_ep *to, uint32_t peer, const struct weft_op *op);

#endif
