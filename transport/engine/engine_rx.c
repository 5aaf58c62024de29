/* SPDX-License-Identifier: BSD-3-Clause */
/* One received burst: decode, then hand each packet to the step it belongs to. */
#include "dgram.h"
#include "wire_hot.h"

static void bad(struct weft_engine *e, enum wire_error error)
{
	uint64_t *const counters[WIRE_ERRORS] = {
		[WIRE_ERR_SHORT] = &e->stats.rx_bad_short, [WIRE_ERR_IP] = &e->stats.rx_bad_ip,
		[WIRE_ERR_UDP] = &e->stats.rx_bad_udp,     [WIRE_ERR_PDS] = &e->stats.rx_bad_pds,
		[WIRE_ERR_SES] = &e->stats.rx_bad_ses,     [WIRE_ERR_CRC] = &e->stats.rx_bad_crc,
	};
	(*counters[error])++;
}

/* READ, some atomics, and messages that are announced: the length is of something else. */
static bool may_lack_payload(uint8_t opcode)
{
	return opcode == WIRE_OP_READ || opcode == WIRE_OP_ATOMIC || opcode == WIRE_OP_FETCHING_ATOMIC ||
	       opcode == WIRE_OP_RENDEZVOUS_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND;
}

/* A request we can place: within its message, and all of its payload. */
static inline bool request_fits(const struct wire_pkt *w)
{
	if (!w->ses.message_id || w->ses.request_length == UINT32_MAX)
		return false;
	bool som = w->ses.flags & WIRE_SES_SOM;
	if (!som && w->ses.payload_length != w->payload_bytes)
		return false;
	uint64_t offset = som ? 0 : w->ses.message_offset;
	return offset + w->payload_bytes <= w->ses.request_length &&
	       (w->payload_bytes || !w->ses.request_length || may_lack_payload(w->ses.opcode));
}

static bool answer_fits(const struct wire_pkt *w)
{
	return w->pds.next_hdr == WIRE_NH_RSP_DATA && w->ses.opcode == WIRE_RSP_W_DATA &&
	       w->ses.payload_length == w->payload_bytes;
}

static bool request_is_sane(const struct wire_pkt *w)
{
	return w->trimmed || (w->has_ses && ((w->pds.next_hdr == WIRE_NH_STD && request_fits(w)) || answer_fits(w)));
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
		nack_rx(e, pkt, w, now);
		break;
	case WIRE_PDS_CP:
		pdc_rx_control(e, pkt, w, now);
		break;
	case WIRE_PDS_UUD_REQ:
		dgram_rx(e, pkt, w);
		break;
	default:
		e->stats.rx_bad_pds++;
	}
	return WIRE_HOT_NONE;
}

/* All that the short decoder did not take. */
static enum wire_hot __attribute__((noinline))
decode_any(struct weft_engine *e, const struct weft_pkt *pkt, struct wire_pkt *w, weft_ns now)
{
	enum wire_error error = wire_decode(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, e->tune.crc, w);
	if (error) {
		bad(e, error);
		return WIRE_HOT_NONE;
	}
	if (!weft_ip_eq(&w->net.dst, &e->ip)) {
		e->stats.rx_not_ours++;
		return WIRE_HOT_NONE;
	}
	enum wire_hot kind = dispatch(e, pkt, w, now);
	if (kind == WIRE_HOT_DATA && !request_is_sane(w)) {
		e->stats.rx_bad_ses++;
		return WIRE_HOT_NONE;
	}
	return kind;
}

static enum wire_hot decode(struct weft_engine *e, const struct weft_pkt *pkt, struct wire_pkt *w)
{
	if (!e->has_hot)
		return WIRE_HOT_NONE;
	enum wire_hot kind =
		wire_decode_hot(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, &e->ip, e->seen, w);
	if (kind != WIRE_HOT_DATA)
		return kind;
	bool fits = w->pds.next_hdr == WIRE_NH_STD ? request_fits(w) : answer_fits(w);
	return fits ? kind : WIRE_HOT_NONE;
}

static void __attribute__((noinline)) receive_any(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt w; /* not all of it may be filled in, see wire_decode_hot */
	enum wire_hot kind = decode(e, pkt, &w);
	if (kind == WIRE_HOT_NONE)
		kind = decode_any(e, pkt, &w, now);
	if (kind == WIRE_HOT_DATA)
		pdc_rx_request(e, pkt, &w, now);
	else if (kind == WIRE_HOT_ACK)
		ack_rx(e, pkt, &w, now);
}

static inline void receive(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	enum wire_hot kind = wire_glance_hot(pkt->head, pkt->head_len);
	bool done = false;
	if (kind == WIRE_HOT_ACK && likely(e->has_hot))
		done = ack_rx_hot(e, pkt, now);
	else if (kind == WIRE_HOT_DATA && likely(e->has_hot_data))
		done = pdc_rx_hot(e, pkt, now);
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
	e->port->ops->free(e->port, pkts, n);
}
