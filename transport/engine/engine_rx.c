/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive dispatch: what kind of packet it is. */
#include <assert.h>

#include "engine_state.h"
#include "wire_check.h"

static void __attribute__((noinline)) count_bad(struct weft_engine *e, enum wire_error error)
{
	uint64_t *const counters[] = {
		[WIRE_ERR_SHORT] = &e->pds.stats.rx_bad_short, [WIRE_ERR_IP] = &e->pds.stats.rx_bad_ip,
		[WIRE_ERR_UDP] = &e->pds.stats.rx_bad_udp,     [WIRE_ERR_PDS] = &e->pds.stats.rx_bad_pds,
		[WIRE_ERR_SES] = &e->pds.stats.rx_bad_ses,     [WIRE_ERR_CRC] = &e->pds.stats.rx_bad_crc,
		[WIRE_NOT_OURS] = &e->pds.stats.rx_not_ours,
	};
	assert((size_t)error < sizeof counters / sizeof *counters && counters[error]);
	(*counters[error])++;
}

/* What has lost its end may come again, whole. Without a SES header there is nothing that could be answered. */
static void receive_refused(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now)
{
	if (!v->ses_bytes)
		e->pds.stats.rx_bad_ses++;
	else if (wire_view_is_cut(v))
		e->pds.stats.rx_bad_short++;
	else
		pds_rx_request(&e->pds, pkt, v, now);
}

/* `v` is a copy, so that what is checked of other packets stays in registers. */
static void __attribute__((noinline))
receive_rare(struct weft_engine *e, const struct weft_pkt *pkt, struct wire_view v, weft_ns now)
{
	switch (v.kind) {
	case WIRE_KIND_DATA:
	case WIRE_KIND_READ_DATA:
	case WIRE_KIND_TRIMMED:
		pds_rx_request(&e->pds, pkt, &v, now);
		break;
	case WIRE_KIND_REFUSED:
		receive_refused(e, pkt, &v, now);
		break;
	case WIRE_KIND_ACK:
		pds_rx_ack(&e->pds, pkt, &v, now);
		break;
	case WIRE_KIND_NACK:
		if (wire_hdr_flags(v.hdr) & WIRE_F_NACK_NT)
			ses_rx_rudi_nack(&e->ses, &v);
		else
			pds_rx_nack(&e->pds, &v, now);
		break;
	case WIRE_KIND_CP:
		pds_rx_control(&e->pds, pkt, &v, now);
		break;
	case WIRE_KIND_RUDI:
		ses_rx_rudi(&e->ses, pkt, &v, now);
		break;
	case WIRE_KIND_DATAGRAM:
		ses_rx_dgram(&e->ses, pkt, &v);
		break;
	default:
		assert(false); /* wire_check names no others */
	}
}

/* Apart from the longer form, so that the compiler knows in each which fields there are. */
static __attribute__((noinline)) void receive_short_ack(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_view v;
	wire_view_set_short_ack(&v, pkt->head, &e->rules.seen_short_ack);
	pds_rx_ack(&e->pds, pkt, &v, now);
}

static inline void receive(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_view v;
	enum wire_error error = wire_check(&e->rules, pkt->head, pkt->head_len, pkt->payload_len, &v);
	if (unlikely(error != WIRE_OK))
		count_bad(e, error);
	else if (unlikely(!v.usual))
		receive_rare(e, pkt, v, now);
	else if (v.kind == WIRE_KIND_DATA)
		pds_rx_data(&e->pds, pkt, &v, now);
	else if (v.type == WIRE_PDS_ACK)
		receive_short_ack(e, pkt, now);
	else
		pds_rx_ack(&e->pds, pkt, &v, now);
}

/* Not part of the loop, which has variables enough of its own. */
__attribute__((noinline)) void engine_rx(struct weft_engine *e, struct weft_pkt **pkts, uint16_t n, weft_ns now)
{
	if (!n)
		return;
	assert(pkts && n <= ENGINE_BURST);
	for (struct weft_pkt **at = pkts, **end = pkts + n; at < end; at++) {
		if (at + 1 < end)
			__builtin_prefetch(at[1]->head);
		receive(e, *at, now);
	}
	struct weft_port *port = e->pds.out.port;
	port->ops->free(port, pkts, n);
}
