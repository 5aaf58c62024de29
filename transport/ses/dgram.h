/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams of one packet, for the other files of this room. */
#ifndef WEFT_DGRAM_H
#define WEFT_DGRAM_H

#include "engine_int.h"

void dgram_init(struct weft_engine *e);
void dgram_fini(struct weft_engine *e);
bool dgram_send(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op,
		weft_ns now);              /* false: no memory or no room for packets, later */
void dgram_flushed(struct weft_engine *e); /* the port was given packets: those it took are sent */
void dgram_detach(struct weft_engine *e, const struct weft_ep *ep); /* the endpoint closes, and its buffers go */
void dgram_rx(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w);
struct weft_ep *dgram_ep(const struct weft_engine *e, uint16_t port); /* NULL: none with this number is for datagrams */

#endif
