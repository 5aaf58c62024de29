/* SPDX-License-Identifier: BSD-3-Clause */
#include "out_batch.h"

bool out_refill(struct out_batch *o)
{
	if (!o->spare_count)
		o->spare_count = o->port->ops->alloc(o->port, o->spare, OUT_SPARE);
	assert(o->spare_count <= OUT_SPARE);
	if (o->spare_count && o->count < OUT_MAX)
		return true;
	o->stats->alloc_fail++;
	o->short_of_pkts = true;
	return false;
}

struct weft_pkt *out_get(struct out_batch *o)
{
	return out_reserve(o) ? out_take(o) : NULL;
}

void out_send(struct out_batch *o, struct weft_pkt *pkt, const struct wire_net *net, const uint8_t *end, weft_ns now)
{
	uint8_t flags = wire_class_flags(net->dscp);
	uint32_t head = (uint32_t)(end - pkt->head), built = head - wire_net_bytes(net);
	assert(head <= WEFT_PKT_HEAD_MAX);
	wire_build_net(pkt->head, net, built + pkt->payload_len);
	out_address(o, pkt, &net->dst, net->entropy, net->dscp, net->ecn);
	if (net->crc && (pkt->payload || !pkt->payload_len)) {
		pkt->trailer = wire_crc(pkt->head, head, pkt->payload, pkt->payload_len);
		flags |= WEFT_PKT_TRAILER;
	}
	out_add(o, pkt, head, flags, net->crc ? CRC_TRAILER_BYTES : 0, now);
}

void out_send_control(struct out_batch *o, struct weft_pkt *pkt, struct out_to to, const uint8_t *end, weft_ns now)
{
	const struct wire_net net = out_net(o, to, WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	out_send(o, pkt, &net, end, now);
}

void out_flush(struct out_batch *o)
{
	if (!o->count)
		return;
	uint32_t taken = o->port->ops->tx(o->port, o->pkts, (uint16_t)o->count);
	assert(taken <= o->count);
	if (taken < o->count)
		o->stats->tx_full++;
	for (uint32_t i = taken; i < o->count; i++)
		o->pkts[i - taken] = o->pkts[i];
	o->count -= taken;
	o->refused = o->count;
}

void out_forget(struct out_batch *o, const uint8_t *buf, uint64_t bytes)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < o->count; i++) {
		const uint8_t *payload = o->pkts[i]->payload;
		if (payload && (uintptr_t)payload - (uintptr_t)buf < bytes)
			o->port->ops->free(o->port, &o->pkts[i], 1);
		else
			o->pkts[kept++] = o->pkts[i];
	}
	assert(kept <= o->count);
	o->count = kept;
	if (o->refused > kept)
		o->refused = kept;
}

bool out_holds(const struct out_batch *o, const struct weft_pkt *pkt)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (o->pkts[i] == pkt)
			return true;
	return false;
}

void out_fini(struct out_batch *o)
{
	if (o->count)
		o->port->ops->free(o->port, o->pkts, (uint16_t)o->count);
	if (o->spare_count)
		o->port->ops->free(o->port, o->spare, (uint16_t)o->spare_count);
	o->count = o->spare_count = 0;
}
