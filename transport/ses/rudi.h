/* SPDX-License-Identifier: BSD-3-Clause */
/* Reliable unordered delivery of idempotent operations (RUDI, UE 1.0 sec. 3.5): WRITE and READ, packet by packet. The
 * target keeps nothing and may carry a packet out more than once; the initiator repeats each until its response comes.
 *   rudi_rx  targets: requests     rudi_tx  initiators: operations, responses */
#ifndef WEFT_RUDI_H
#define WEFT_RUDI_H

#include "ses.h"
#include "weft/ep.h"
#include "weft/view.h"

void rudi_init(struct ses *ses);
/* No operation is left. */
void rudi_fini(struct ses *ses);

/* Begins WRITE or READ with WEFT_OP_IDEMPOTENT to another engine; `node` reports its end. False: no memory. */
bool rudi_start(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, struct cqe_node *node);
/* Sends what may be sent and what must be repeated; sets rudi.due_ns. */
void rudi_poll(struct ses *ses, weft_ns now);
/* Rows of at most `n` operations, from 1, the oldest first. Returns how many. */
unsigned rudi_pending(const struct ses *ses, unsigned n, weft_ns now, struct weft_op_row *rows);
/* A response to one of our packets. */
void rudi_response(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v);
/* One of our packets or its response was trimmed: it is sent again at once. */
void rudi_repeat(struct ses *ses, const struct wire_view *v);
/* Drops the operations of an endpoint, which closes; all with NULL. */
void rudi_detach(struct ses *ses, const struct weft_ep *ep);
/* Ends all operations with an error. */
void rudi_fail(struct ses *ses, int err);

#endif
