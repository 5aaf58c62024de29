/* SPDX-License-Identifier: BSD-3-Clause */
/* The target tells what arrived: ACK_CC with cumulative PSN, SACK bitmap, congestion mark and the entropy of the packet
 * it answers (REPS sec. 3.1), per packet or coalesced; NACKs at once. */
#include "bitmap.h"
#include "engine_out.h"
#include "wire_hot.h"

enum { SERVICE_TIME_UNIT_NS = 128, SERVICE_TIME_MAX = 0xfffe, RCVD_BYTES_UNIT = 256, ACK_FLUSH_MAX = 16 };

static void unreport(struct pdc_rx *p, uint32_t mask, uint32_t base, uint64_t reported)
{
	reported &= bitmap_get64(p->unreported, mask, base);
	p->unreported_pkts -= (uint32_t)__builtin_popcountll(reported);
	for (; reported; reported &= reported - 1)
		bitmap_clear(p->unreported, mask, base + (uint32_t)__builtin_ctzll(reported));
}

/* Base of the next bitmap: the first PSN no SACK has covered yet; with none left, the 64 up to the trigger once more,
 * against lost ACKs. */
static uint32_t sack_base(const struct weft_engine *e, const struct pdc_rx *p, uint32_t mask)
{
	if (p->unreported_pkts)
		return p->next_expected + bitmap_find(p->unreported, mask, p->next_expected, e->tune.window_pkts);
	return psn_max(p->trigger_psn - 63, p->next_expected);
}

/* PSNs whose error response has not been cleared must stay open at the initiator. */
static uint64_t without_responses(const struct pdc_rx *p, uint32_t base, uint64_t bits)
{
	for (uint32_t i = 0; i < p->gtd_count; i++)
		if (p->gtd[i].psn - base < 64)
			bits &= ~(UINT64_C(1) << (p->gtd[i].psn - base));
	return bits;
}

/* A bitmap on the way out. */
struct sack {
	int16_t offset; /* of its base from CACK */
	uint64_t bits;
};

static struct sack __attribute__((noinline)) sack_of_holes(const struct weft_engine *e, struct pdc_rx *p)
{
	uint32_t mask = e->rx_mask;
	if (!psn_before(p->trigger_psn, p->next_expected))
		unreport(p, mask, p->trigger_psn, 1);
	uint32_t base = sack_base(e, p, mask);
	uint64_t bits = bitmap_get64(p->received, mask, base);
	uint32_t end = p->next_expected + e->tune.window_pkts - base;
	if (end < 64)
		bits &= ~(UINT64_MAX << end);
	unreport(p, mask, base, bits);
	return (struct sack){(int16_t)(base - p->cack_psn), without_responses(p, base, bits)};
}

static struct sack next_sack(const struct weft_engine *e, struct pdc_rx *p)
{
	return p->ooo_pkts ? sack_of_holes(e, p) : (struct sack){1, 0};
}

static uint16_t service_time(weft_ns arrived_ns, weft_ns now)
{
	weft_ns units = now > arrived_ns ? (now - arrived_ns) / SERVICE_TIME_UNIT_NS : 0;
	return (uint16_t)(units > SERVICE_TIME_MAX ? SERVICE_TIME_MAX + 1 : units);
}

static uint32_t rcvd_units(const struct pdc_rx *p)
{
	return (uint32_t)((p->rcvd_bytes + RCVD_BYTES_UNIT - 1) / RCVD_BYTES_UNIT) & 0xffffff;
}

static const struct gtd_rsp *response_of(const struct pdc_rx *p, uint32_t psn)
{
	for (uint32_t i = 0; i < p->gtd_count; i++)
		if (p->gtd[i].psn == psn)
			return &p->gtd[i];
	return NULL;
}

static void fill_response(const struct pdc_rx *p, struct wire_pkt *w)
{
	const struct gtd_rsp *g = response_of(p, p->trigger_psn);
	w->ses.opcode = g ? WIRE_RSP_RESPONSE : WIRE_RSP_DEFAULT;
	w->ses.return_code = g ? g->return_code : WIRE_RC_OK;
	w->ses.message_id = g ? g->message_id : p->trigger_message_id;
	w->pds.flags |= g ? WIRE_F_ACK_CLEAR : 0;
}

static void fill_ack(const struct weft_engine *e, struct pdc_rx *p, struct wire_pkt *w, weft_ns now)
{
	w->net.dst = p->ip;
	w->net.entropy = p->trigger_ev;
	w->pds.type = WIRE_PDS_ACK_CC;
	w->pds.next_hdr = p->closed ? WIRE_NH_NONE : WIRE_NH_RSP;
	w->pds.flags = p->trigger_flags;
	w->pds.spdcid = p->pdc.id;
	w->pds.dpdcid = p->remote_id;
	w->pds.psn = p->cack_psn;
	w->pds.offset = (int16_t)(p->trigger_psn - p->cack_psn);
	w->pds.cc_type = 0;
	w->pds.cc_flags = 0;
	w->pds.mpr = (uint8_t)(e->tune.window_pkts / 128);
	w->pds.rc = w->pds.rcv_cwnd_pend = 0;
	w->pds.service_time = service_time(p->trigger_at_ns, now);
	w->pds.ooo_count = (uint16_t)p->ooo_pkts;
	w->pds.rcvd_bytes = rcvd_units(p);
	fill_response(p, w);
}

/* An ACK with the usual response. */
static inline __attribute__((always_inline)) void
ack_patched(struct weft_engine *e, const struct pdc_rx *p, struct weft_pkt *pkt, const struct sack *sack, weft_ns now)
{
	if (unlikely(!wire_ack_is_to(e->ack_head, &p->ip)))
		wire_aim_ack(e->ack_head, &p->ip);
	const struct wire_ack_patch patch = {.entropy = p->trigger_ev,
					     .flags = p->trigger_flags,
					     .ack_offset = (int16_t)(p->trigger_psn - p->cack_psn),
					     .cack = p->cack_psn,
					     .spdcid = p->pdc.id,
					     .dpdcid = p->remote_id,
					     .sack_offset = sack->offset,
					     .sack_bitmap = sack->bits,
					     .service_time = service_time(p->trigger_at_ns, now),
					     .rcvd_bytes = rcvd_units(p),
					     .ooo_count = (uint16_t)p->ooo_pkts,
					     .message_id = p->trigger_message_id};
	wire_fill_ack(pkt->head, e->ack_head, &patch);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	engine_out_to(e, pkt, &p->ip, p->trigger_ev, WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	engine_out_hot(e, pkt, sizeof e->ack_head, wire_class_flags(WIRE_DSCP_CONTROL), now);
}

static void __attribute__((noinline))
ack_encoded(struct weft_engine *e, struct pdc_rx *p, struct weft_pkt *pkt, const struct sack *sack, weft_ns now)
{
	struct wire_pkt *w = &e->ack_scratch;
	fill_ack(e, p, w, now);
	w->pds.sack_offset = sack->offset;
	w->pds.sack_bitmap = sack->bits;
	engine_send_control(e, pkt, now);
}

static void owe_ack(struct weft_engine *e, struct pdc_rx *p)
{
	if (p->ack_owed)
		return;
	p->ack_owed = true;
	list_add_tail(&e->ack_due, &p->ack_link);
}

static inline __attribute__((always_inline)) bool ack_send(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = engine_pkt(e);
	if (!pkt) {
		owe_ack(e, p);
		return false;
	}
	struct sack sack = next_sack(e, p);
	if (e->has_hot && !p->closed && !p->gtd_count)
		ack_patched(e, p, pkt, &sack, now);
	else
		ack_encoded(e, p, pkt, &sack, now);
	p->unacked_pkts = 0;
	e->stats.tx_ack++;
	return true;
}

static inline __attribute__((always_inline)) void answer(struct weft_engine *e, struct pdc_rx *p, bool at_once,
							 weft_ns now)
{
	p->unacked_pkts++;
	if (at_once || p->unacked_pkts >= e->tune.ack_every)
		ack_send(e, p, now);
	if ((p->unacked_pkts || p->unreported_pkts) && p->ack_at_ns == WEFT_NEVER)
		pdc_rx_ack_at(e, p, now + e->ack_delay_ns);
}

/* An ACK tells of one packet's mark, transmission and response, and its bitmap has an end. */
static bool may_share(const struct pdc_rx *p)
{
	return !p->trigger_flags && !p->ooo_pkts && !p->gtd_count && !p->closed;
}

void ack_data(struct weft_engine *e, struct pdc_rx *p, bool at_once, weft_ns now)
{
	if (e->tune.reorder_shim_ns && shim_holds(e, p, now))
		return;
	bool wanted = at_once || p->unacked_pkts + 1 >= e->tune.ack_every;
	if (e->tune.ack_burst && wanted && may_share(p)) {
		p->unacked_pkts++;
		owe_ack(e, p);
	} else {
		answer(e, p, at_once || (e->tune.ack_burst && p->ooo_pkts), now);
	}
}

void ack_again(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	answer(e, p, true, now);
}

void ack_hot(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	if (unlikely(p->ooo_pkts || !e->spare_count || e->out_count >= ENGINE_OUT)) {
		ack_again(e, p, now);
		return;
	}
	ack_patched(e, p, e->spare[--e->spare_count], &(struct sack){1, 0}, now);
	p->unacked_pkts = 0;
	e->stats.tx_ack++;
}

/* Until every received PSN has been reported: one bitmap covers little when hundreds of packets are on many paths. */
void ack_flush(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	for (int i = 0; i < ACK_FLUSH_MAX && (p->unacked_pkts || p->unreported_pkts); i++)
		if (!ack_send(e, p, now))
			break;
	if (p->unacked_pkts || p->unreported_pkts)
		pdc_rx_ack_at(e, p, now + e->ack_delay_ns);
}

void ack_due(struct weft_engine *e, weft_ns now)
{
	while (!list_empty(&e->ack_due) && !e->short_of_pkts) {
		struct pdc_rx *p = list_entry(e->ack_due.next, struct pdc_rx, ack_link);
		list_del(&p->ack_link);
		p->ack_owed = false;
		if (p->unacked_pkts || !e->tune.ack_burst)
			ack_send(e, p, now);
	}
}

void ack_probe(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *probe_pkt, const struct wire_pkt *probe,
	       weft_ns now)
{
	struct weft_pkt *pkt = engine_pkt(e);
	if (!pkt)
		return; /* the initiator probes again */
	struct wire_pkt *w = &e->ack_scratch;
	fill_ack(e, p, w, now);
	/* Probes are answered for their time; initiators do not look at the bitmap. */
	w->pds.sack_offset = 1;
	w->pds.sack_bitmap = 0;
	w->net.entropy = probe->net.entropy;
	w->pds.service_time = service_time(probe_pkt->arrived_ns, now);
	w->pds.next_hdr = WIRE_NH_NONE;
	w->pds.flags = WIRE_F_ACK_P;
	w->pds.opaque = probe->pds.opaque;
	w->pds.offset = 0;
	engine_send_control(e, pkt, now);
	e->stats.tx_ack++;
}

/* Lost when there is no packet to put it in: the initiator's timer covers that. */
void nack_send(struct weft_engine *e, const struct wire_pkt *refused, uint16_t our_id, uint8_t code, weft_ns now)
{
	struct weft_pkt *pkt = engine_pkt(e);
	if (!pkt)
		return;
	struct wire_pkt *w = &e->ack_scratch;
	w->net.dst = refused->net.src;
	w->net.entropy = refused->net.entropy;
	uint8_t mark = refused->net.ecn == WEFT_ECN_CE ? WIRE_F_ACK_M : 0;
	w->pds = (struct wire_pds){.type = WIRE_PDS_NACK,
				   .flags = (uint8_t)(mark | (refused->pds.flags & WIRE_F_RETX)),
				   .code = code,
				   .psn = refused->pds.psn,
				   .spdcid = our_id,
				   .dpdcid = refused->pds.spdcid};
	engine_send_control(e, pkt, now);
	e->stats.tx_nack++;
}
