/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets on their way to the port: empty ones in hand, those built and not yet taken, and the pace of our link. */
#ifndef WEFT_OUT_BATCH_H
#define WEFT_OUT_BATCH_H

#include <assert.h>

#include "likely.h"
#include "weft/spi/port.h"
#include "weft/stats.h"
#include "wire_build.h"

enum {
	OUT_SPARE = 32,  /* empty packets, fetched in bulk */
	OUT_MAX = 128,   /* packets built and not yet taken by the port */
	OUT_DATA = 64,   /* data stops here, the rest is for ACKs and NACKs */
	PACE_SHIFT = 20, /* paces are in 2^-20 ns per byte */
	CRC_TRAILER_BYTES = 4,
};

struct out_batch {
	struct weft_port *port;
	uint32_t count;          /* packets in `pkts` */
	uint32_t refused;        /* the first of `pkts`: the port did not take them at the last flush */
	uint32_t spare_count;    /* packets in `spare` */
	uint32_t link_free_frac; /* fraction of link_free_ns, 2^-20 ns */
	weft_ns link_free_ns;    /* when the link will have sent what it was given (pacing) */
	uint64_t link_pace;      /* 2^-20 ns per byte on our link; 0: no pacing */
	weft_ns link_backlog_ns; /* the port may hold packets for this much link time */
	uint32_t src;            /* our address, weft_ip_low32 */
	bool short_of_pkts;      /* an allocation failed in this poll */
	struct weft_stats *stats;
	struct weft_pkt *spare[OUT_SPARE];
	struct weft_pkt *pkts[OUT_MAX];
	struct weft_ip ip; /* our address */
	bool is_v4;        /* it is of this family */
};

/* Makes sure that there is an empty packet and room to queue it. False: not, which is counted. */
bool out_refill(struct out_batch *o);

static inline bool out_reserve(struct out_batch *o)
{
	assert(o->spare_count <= OUT_SPARE && o->count <= OUT_MAX);
	return likely(o->spare_count && o->count < OUT_MAX) || out_refill(o);
}

/* The packet that out_reserve has found; the caller fills and queues it. */
static inline struct weft_pkt *out_take(struct out_batch *o)
{
	assert(o->spare_count > 0);
	return o->spare[--o->spare_count];
}

/* A packet to fill and to queue, or NULL. */
struct weft_pkt *out_get(struct out_batch *o);

/* Where a packet goes, and how it is wrapped. */
struct out_to {
	const struct weft_ip *ip; /* of our family */
	uint16_t entropy;
	uint8_t encap; /* enum wire_encap */
};

/* Where the PDS header of a packet is built that is wrapped so (enum wire_encap). */
static inline uint8_t *out_pds(const struct out_batch *o, struct weft_pkt *pkt, uint8_t encap)
{
	return pkt->head + wire_encap_bytes(o->is_v4, encap);
}

/* Network headers of a packet of ours. */
static inline struct wire_net out_net(const struct out_batch *o, struct out_to to, uint8_t dscp, uint8_t ecn)
{
	struct wire_net net = {.src = o->ip, .dst = *to.ip, .entropy = to.entropy, .dscp = dscp, .ecn = ecn};
	wire_net_wrap(&net, to.encap);
	return net;
}

/* Puts the network headers in front of what was built from out_pds to `end`, and queues `pkt`, whose payload is set. */
void out_send(struct out_batch *o, struct weft_pkt *pkt, const struct wire_net *net, const uint8_t *end, weft_ns now);

/* The same for a control packet, which has no payload. */
void out_send_control(struct out_batch *o, struct weft_pkt *pkt, struct out_to to, const uint8_t *end, weft_ns now);

/* Hands all that is queued to the port; what it refuses waits. */
void out_flush(struct out_batch *o);

/* Drops packets that wait for the port and point into the buffer, which is about to change hands. It may be all memory.
 */
void out_forget(struct out_batch *o, const uint8_t *buf, uint64_t bytes);

/* Whether this packet still waits for the port. */
bool out_holds(const struct out_batch *o, const struct weft_pkt *pkt);

/* Gives all packets back to the port. */
void out_fini(struct out_batch *o);

/* When the link will start on a packet handed over now. */
static inline weft_ns out_departure(const struct out_batch *o, weft_ns now)
{
	return o->link_free_ns > now ? o->link_free_ns : now;
}

/* Whether the link is free, or will be so soon that the port may have more. */
static inline bool out_link_allows(const struct out_batch *o, weft_ns now)
{
	return !o->link_pace || o->link_free_ns <= now + o->link_backlog_ns;
}

/* ---- queueing: inline because every packet passes here ---- */

static inline uint16_t out_wire_bytes(size_t head, uint32_t payload, uint32_t trailer)
{
	uint32_t bytes = (uint32_t)head + payload + trailer + WEFT_L1_OVERHEAD_BYTES;
	return (uint16_t)(bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : bytes);
}

static inline void out_pace(struct out_batch *o, uint32_t bytes, weft_ns now)
{
	if (!o->link_pace)
		return;
	if (o->link_free_ns < now) {
		o->link_free_ns = now;
		o->link_free_frac = 0;
	}
	uint64_t busy = o->link_free_frac + bytes * o->link_pace;
	o->link_free_ns += busy >> PACE_SHIFT;
	o->link_free_frac = busy & ((1 << PACE_SHIFT) - 1);
}

/* The headers are encoded; payload and what out_address sets is there. `flags`: those of the packet's class, and of
 * its trailer of so many bytes. */
static inline void out_add(struct out_batch *o, struct weft_pkt *pkt, size_t head, uint8_t flags, uint32_t trailer,
			   weft_ns now)
{
	assert(o->count < OUT_MAX);
	pkt->head_len = (uint16_t)head;
	pkt->wire_bytes = out_wire_bytes(head, pkt->payload_len, trailer);
	pkt->flags = flags;
	out_pace(o, pkt->wire_bytes, now);
	o->pkts[o->count++] = pkt;
}

/* What a switch will look at. */
static inline void out_address(const struct out_batch *o, struct weft_pkt *pkt, const struct weft_ip *to,
			       uint16_t entropy, uint8_t dscp, uint8_t ecn)
{
	pkt->src = o->src;
	pkt->dst = weft_ip_low32(to);
	pkt->entropy = entropy;
	pkt->ecn = ecn;
	pkt->dscp = dscp;
}

#endif
