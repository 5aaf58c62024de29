/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams of one packet. */
#ifndef WEFT_DGRAM_H
#define WEFT_DGRAM_H

#include "endpoint.h"

void dgram_init(struct ses *ses);
void dgram_fini(struct ses *ses);
/* False: no memory or no room for packets, later. */
bool dgram_send(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, weft_ns now);
/* The port was given packets: those it took are sent. */
void dgram_flushed(struct ses *ses);
/* The endpoint closes, and its buffers go. */
void dgram_detach(struct ses *ses, const struct weft_ep *ep);

#endif
