/* SPDX-License-Identifier: BSD-3-Clause */
/* The last step of every packet we build: its metadata, the link's pace, and the batch for the port. Inline, because it
 * comes after each of the few ways to build one, with most of it constant there. */
#ifndef WEFT_ENGINE_OUT_H
#define WEFT_ENGINE_OUT_H

#include "engine_int.h"

enum { PACE_SHIFT = 20, CRC_TRAILER_BYTES = 4 };

static inline uint16_t wire_bytes_of(const struct weft_engine *e, size_t head, uint32_t payload)
{
	uint32_t bytes = (uint32_t)head + payload + (e->tune.crc ? CRC_TRAILER_BYTES : 0) + WEFT_L1_OVERHEAD_BYTES;
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

/* The headers are encoded; payload, addresses, entropy, ECN and DSCP of `pkt` are set. */
static inline void engine_out(struct weft_engine *e, struct weft_pkt *pkt, size_t head, weft_ns now)
{
	pkt->head_len = (uint16_t)head;
	pkt->wire_bytes = wire_bytes_of(e, head, pkt->payload_len);
	pkt->flags = wire_class_flags(pkt->dscp);
	if (e->tune.crc && (pkt->payload || !pkt->payload_len)) {
		pkt->trailer = wire_crc(pkt->head, head, pkt->payload, pkt->payload_len);
		pkt->flags |= WEFT_PKT_TRAILER;
	}
	pace_link(e, pkt->wire_bytes, now);
	e->out[e->out_count++] = pkt;
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
