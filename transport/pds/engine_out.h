/* SPDX-License-Identifier: BSD-3-Clause */
/* The last step of every packet we build: its metadata, the link's pace, and the batch for the port. Inline, because it
 * comes after each of the few ways to build one, with most of it constant there. */
#ifndef WEFT_ENGINE_OUT_H
#define WEFT_ENGINE_OUT_H

#include "engine_int.h"

enum { PACE_SHIFT = 20, CRC_TRAILER_BYTES = 4 };

static inline uint16_t wire_bytes_of(size_t head, uint32_t payload, uint32_t trailer)
{
	uint32_t bytes = (uint32_t)head + payload + trailer + WEFT_L1_OVERHEAD_BYTES;
	return (uint16_t)(bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : bytes);
}

static inline void pace_link(struct weft_engine *e, uint32_t bytes, weft_ns now)
{
	if (!e->link_pace)
		return;
	if (e->link_free_ns < now) {
		e->link_free_ns = now;
		e->link_free_frac = 0;
	}
	uint64_t busy = e->link_free_frac + bytes * e->link_pace;
	e->link_free_ns += busy >> PACE_SHIFT;
	e->link_free_frac = busy & ((1 << PACE_SHIFT) - 1);
}

static inline void engine_out_with(struct weft_engine *e, struct weft_pkt *pkt, size_t head, uint8_t flags,
				   uint32_t trailer, weft_ns now)
{
	pkt->head_len = (uint16_t)head;
	pkt->wire_bytes = wire_bytes_of(head, pkt->payload_len, trailer);
	pkt->flags = flags;
	pace_link(e, pkt->wire_bytes, now);
	e->out[e->out_count++] = pkt;
}

/* The headers are encoded; payload, addresses, entropy, ECN and DSCP of `pkt` are set. There are no trailers
 * (weft_engine.has_hot), and `flags` are what wire_class_flags says to the DSCP. */
static inline void engine_out_hot(struct weft_engine *e, struct weft_pkt *pkt, size_t head, uint8_t flags, weft_ns now)
{
	engine_out_with(e, pkt, head, flags, 0, now);
}

/* The same for any packet. */
static inline void engine_out(struct weft_engine *e, struct weft_pkt *pkt, size_t head, weft_ns now)
{
	uint8_t flags = wire_class_flags(pkt->dscp);
	if (e->tune.crc && (pkt->payload || !pkt->payload_len)) {
		pkt->trailer = wire_crc(pkt->head, head, pkt->payload, pkt->payload_len);
		flags |= WEFT_PKT_TRAILER;
	}
	engine_out_with(e, pkt, head, flags, e->tune.crc ? CRC_TRAILER_BYTES : 0, now);
}

/* What packets to `to` have in common; the payload is set. */
static inline void engine_out_to(struct weft_engine *e, struct weft_pkt *pkt, const struct weft_ip *to,
				 uint16_t entropy, uint8_t dscp, uint8_t ecn)
{
	pkt->src = weft_ip_low32(&e->ip);
	pkt->dst = weft_ip_low32(to);
	pkt->entropy = entropy;
	pkt->ecn = ecn;
	pkt->dscp = dscp;
}

#endif
