/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives find messages and messages find receives, each in order. What follows from that is the caller's. */
#ifndef WEFT_MATCH_H
#define WEFT_MATCH_H

#include "endpoint.h"
#include "msg.h"

/* The first receive that wants `m`, taken off the list unless there is room for more; false: none. */
bool match_posted(struct ses *ses, struct rx_msg *m);
/* A receive that was just submitted; NULL: no memory. */
struct rx_req *match_req_new(struct ses *ses, struct weft_ep *ep, const struct weft_op *op);
/* Whether a receive is posted that wants such a message. */
bool match_is_posted(const struct weft_ep *ep, uint32_t peer, uint64_t tag, bool tagged);
/* Gives the first unexpected message that `req`, posted, wants to it; NULL: there is none. `req` may be off the list
 * then. */
struct rx_msg *match_take(struct ses *ses, struct weft_ep *ep, struct rx_req *req, bool tagged);
/* The receive and the message, which is in no list, belong together. */
void match_give(struct ses *ses, struct rx_req *req, struct rx_msg *m);
/* The first message the operation describes, which stays where it is; NULL: none. */
struct rx_msg *match_find_unexpected(const struct weft_ep *ep, const struct weft_op *op, bool tagged);
struct rx_msg *match_find_claimed(const struct weft_ep *ep, const struct weft_op *op);
/* The message that has a receive ends so; sets kind, context and what else concerns the receive. */
void match_done(struct ses *ses, struct rx_msg *m, struct weft_cqe cqe);
/* An endpoint closes. True: the message was for it and is to be thrown away; whoever shares its receive may use that
 * again. */
bool match_detach(struct ses *ses, struct rx_msg *m, const struct weft_ep *ep);
void match_drop(struct ses *ses, struct list *reqs); /* receives whose endpoint closes */

#endif
