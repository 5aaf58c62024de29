/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive dispatch: what kind of packet it is. */
#include "engine_state.h"
#include "wire_hot.h"

static void bad(struct weft_engine *e, enum wire_error error)
{
	uint64_t *const counters[WIRE_ERRORS] = {
		[WIRE_ERR_SHORT] = &e->pds.stats.rx_bad_short, [WIRE_ERR_IP] = &e->pds.stats.rx_bad_ip,
		[WIRE_ERR_UDP] = &e->pds.stats.rx_bad_udp,     [WIRE_ERR_PDS] = &e->pds.stats.rx_bad_pds,
		[WIRE_ERR_SES] = &e->pds.stats.rx_bad_ses,     [WIRE_ERR_CRC] = &e->pds.stats.rx_bad_crc,
	};
	(*counters[error])++;
}

/* Requests and ACKs are left to the caller, for all of them go the same way. */
static enum wire_hot dispatch(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	switch (w->pds.type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		return WIRE_HOT_DATA;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
		return WIRE_HOT_ACK;
	case WIRE_PDS_NACK:
		pds_rx_nack(&e->pds, w, now);
		break;
	case WIRE_PDS_CP:
		pds_rx_control(&e->pds, pkt, w, now);
		break;
	case WIRE_PDS_UUD_REQ:
		ses_rx_dgram(&e->ses, pkt, w);
		break;
	default:
		e->pds.stats.rx_bad_pds++;
	}
	return WIRE_HOT_NONE;
}

/* All that the short decoder did not take. */
static enum wire_hot __attribute__((noinline))
decode_any(struct weft_engine *e, const struct weft_pkt *pkt, struct wire_pkt *w, weft_ns now)
{
	enum wire_error error =
		wire_decode(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, e->pds.conf.tune.crc, w);
	if (error) {
		bad(e, error);
		return WIRE_HOT_NONE;
	}
	if (!weft_ip_eq(&w->net.dst, &e->pds.conf.ip)) {
		e->pds.stats.rx_not_ours++;
		return WIRE_HOT_NONE;
	}
	enum wire_hot kind = dispatch(e, pkt, w, now);
	if (kind == WIRE_HOT_DATA && !ses_is_sane(w)) {
		e->pds.stats.rx_bad_ses++;
		return WIRE_HOT_NONE;
	}
	return kind;
}

static enum wire_hot decode(struct weft_engine *e, const struct weft_pkt *pkt, struct wire_pkt *w)
{
	if (!e->pds.conf.has_hot)
		return WIRE_HOT_NONE;
	enum wire_hot kind = wire_decode_hot(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, &e->pds.conf.ip,
					     e->pds.seen, w);
	return kind != WIRE_HOT_DATA || ses_is_sane(w) ? kind : WIRE_HOT_NONE;
}

static void __attribute__((noinline)) receive_any(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt w; /* not all of it may be filled in, see wire_decode_hot */
	enum wire_hot kind = decode(e, pkt, &w);
	if (kind == WIRE_HOT_NONE)
		kind = decode_any(e, pkt, &w, now);
	if (kind == WIRE_HOT_DATA)
		pds_rx_request(&e->pds, pkt, &w, now);
	else if (kind == WIRE_HOT_ACK)
		pds_rx_ack(&e->pds, pkt, &w, now);
}

static inline void receive(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	enum wire_hot kind = wire_glance_hot(pkt->head, pkt->head_len);
	bool done = false;
	if (kind == WIRE_HOT_ACK && likely(e->pds.conf.has_hot))
		done = pds_rx_hot_ack(&e->pds, pkt, now);
	else if (kind == WIRE_HOT_DATA && likely(e->pds.conf.has_hot_data))
		done = pds_rx_hot_data(&e->pds, pkt, now);
	if (unlikely(!done))
		receive_any(e, pkt, now);
}

/* Not part of the loop, which has variables enough of its own. */
__attribute__((noinline)) void engine_rx(struct weft_engine *e, struct weft_pkt **pkts, uint16_t n, weft_ns now)
{
	if (!n)
		return;
	for (struct weft_pkt **at = pkts, **end = pkts + n; at < end; at++) {
		if (at + 1 < end)
			__builtin_prefetch(at[1]->head);
		receive(e, *at, now);
	}
	struct weft_port *port = e->pds.out.port;
	port->ops->free(port, pkts, n);
}
