/* SPDX-License-Identifier: BSD-3-Clause */
/* The target tells what arrived: ACK_CC with cumulative PSN, SACK bitmap, congestion mark and the entropy of the packet
 * it answers (REPS sec. 3.1), per packet or coalesced; NACKs at once. */
#include "ack_tx.h"

#include "shim.h"
#include "wire_build.h"

enum { SERVICE_TIME_UNIT_NS = 128, SERVICE_TIME_MAX = 0xfffe, RCVD_BYTES_UNIT = 256, ACK_FLUSH_MAX = 16 };

/* What an ACK says of packets beyond the first gap. */
struct beyond {
	struct sack sack;
	uint16_t ooo_count;
};

static const struct beyond nothing_beyond = {{1, 0}, 0};

static inline struct beyond report_beyond(const struct pds *pds, struct pdc_rx *p)
{
	if (likely(!p->win.ooo_pkts))
		return nothing_beyond;
	return (struct beyond){rxwin_report(&p->win, &pds->win, p->trigger_psn), (uint16_t)p->win.ooo_pkts};
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

static void fill_response(const struct pdc_rx *p, struct wire_pkt *w)
{
	const struct gtd_rsp *g = rxwin_response(&p->win, p->trigger_psn);
	w->ses.opcode = g ? WIRE_RSP_RESPONSE : WIRE_RSP_DEFAULT;
	w->ses.return_code = g ? g->return_code : WIRE_RC_OK;
	w->ses.message_id = g ? g->message_id : p->trigger_message_id;
	w->pds.flags |= g ? WIRE_F_ACK_CLEAR : 0;
}

static void fill_ack(const struct pds *pds, struct pdc_rx *p, struct wire_pkt *w, weft_ns now)
{
	w->net.dst = p->ip;
	w->net.entropy = p->trigger_ev;
	w->pds.type = WIRE_PDS_ACK_CC;
	w->pds.next_hdr = p->closed ? WIRE_NH_NONE : WIRE_NH_RSP;
	w->pds.flags = p->trigger_flags;
	w->pds.spdcid = p->pdc.id;
	w->pds.dpdcid = p->remote_id;
	w->pds.psn = p->win.cack_psn;
	w->pds.offset = (int16_t)(p->trigger_psn - p->win.cack_psn);
	w->pds.cc_type = 0;
	w->pds.cc_flags = 0;
	w->pds.mpr = (uint8_t)(pds->win.window_pkts / 128);
	w->pds.rc = w->pds.rcv_cwnd_pend = 0;
	w->pds.service_time = service_time(p->trigger_at_ns, now);
	w->pds.ooo_count = (uint16_t)p->win.ooo_pkts;
	w->pds.rcvd_bytes = rcvd_units(p);
	fill_response(p, w);
}

/* An ACK with the usual response. */
static inline __attribute__((always_inline)) void ack_patched(struct pds *pds, const struct pdc_rx *p,
							      struct weft_pkt *pkt, const struct beyond *b, weft_ns now)
{
	if (unlikely(!wire_ack_is_to(pds->ack_head, &p->ip)))
		wire_aim_ack(pds->ack_head, &p->ip);
	const struct wire_ack_patch patch = {.entropy = p->trigger_ev,
					     .flags = p->trigger_flags,
					     .ack_offset = (int16_t)(p->trigger_psn - p->win.cack_psn),
					     .cack = p->win.cack_psn,
					     .spdcid = p->pdc.id,
					     .dpdcid = p->remote_id,
					     .sack_offset = b->sack.offset,
					     .sack_bitmap = b->sack.bits,
					     .service_time = service_time(p->trigger_at_ns, now),
					     .rcvd_bytes = rcvd_units(p),
					     .ooo_count = b->ooo_count,
					     .message_id = p->trigger_message_id};
	wire_fill_ack(pkt->head, pds->ack_head, &patch);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	out_address(&pds->out, pkt, &p->ip, p->trigger_ev, WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	out_add(&pds->out, pkt, sizeof pds->ack_head, wire_class_flags(WIRE_DSCP_CONTROL), 0, now);
}

static void __attribute__((noinline))
ack_encoded(struct pds *pds, struct pdc_rx *p, struct weft_pkt *pkt, const struct beyond *b, weft_ns now)
{
	struct wire_pkt *w = &pds->out.control;
	fill_ack(pds, p, w, now);
	w->pds.sack_offset = b->sack.offset;
	w->pds.sack_bitmap = b->sack.bits;
	out_send_control(&pds->out, pkt, now);
}

static void owe_ack(struct pds *pds, struct pdc_rx *p)
{
	if (p->ack_owed)
		return;
	assert(list_empty(&p->ack_link));
	p->ack_owed = true;
	list_add_tail(&pds->ack_due, &p->ack_link);
}

/* A coalesced ACK, or the rest of the news, is due at `at`. */
static void ack_later(struct pds *pds, struct pdc_rx *p, weft_ns at)
{
	p->ack_at_ns = at;
	if (at < p->pdc.timer.at)
		wheel_set(&pds->timers.wheel, &p->pdc.timer, at);
}

static inline __attribute__((always_inline)) void ack_send_in(struct pds *pds, struct pdc_rx *p, struct weft_pkt *pkt,
							      const struct beyond *b, weft_ns now)
{
	if (pds->conf.has_templates && !p->closed && !p->win.gtd_count)
		ack_patched(pds, p, pkt, b, now);
	else
		ack_encoded(pds, p, pkt, b, now);
	p->unacked_pkts = 0;
	pds->stats.tx_ack++;
}

static inline __attribute__((always_inline)) bool ack_send(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt) {
		owe_ack(pds, p);
		return false;
	}
	const struct beyond b = report_beyond(pds, p);
	ack_send_in(pds, p, pkt, &b, now);
	return true;
}

/* What has not been told yet will be, when the delay is over. */
static inline void ack_rest_later(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if ((p->unacked_pkts || p->win.unreported_pkts) && p->ack_at_ns == WEFT_NEVER)
		ack_later(pds, p, now + pds->conf.ack_delay_ns);
}

static inline __attribute__((always_inline)) void answer(struct pds *pds, struct pdc_rx *p, bool at_once, weft_ns now)
{
	p->unacked_pkts++;
	if (at_once || p->unacked_pkts >= pds->conf.tune.ack_every)
		ack_send(pds, p, now);
	ack_rest_later(pds, p, now);
}

/* All up to the gap, and nothing of what is beyond. */
static void ack_to_gap(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	p->unacked_pkts++;
	if (pkt)
		ack_send_in(pds, p, pkt, &nothing_beyond, now);
	else
		owe_ack(pds, p);
	ack_rest_later(pds, p, now);
}

/* True: the packet needs no answer beside what was done here. */
static bool hold_back(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	weft_ns until = 0;
	enum shim_verdict verdict = shim_decide(&pds->conf, p, now, &until);
	if (verdict == SHIM_PASS)
		return false;
	ack_later(pds, p, until);
	if (verdict == SHIM_TO_GAP) {
		ack_to_gap(pds, p, now);
	} else {
		p->unacked_pkts++;
		pds->stats.rx_held++;
	}
	return true;
}

/* An ACK tells of one packet's mark, transmission and response, and its bitmap has an end. */
static bool may_share(const struct pdc_rx *p)
{
	return !p->trigger_flags && !p->win.ooo_pkts && !p->win.gtd_count && !p->closed;
}

void ack_note(struct pds *pds, struct pdc_rx *p, bool at_once, weft_ns now)
{
	if (pds->conf.tune.reorder_shim_ns && hold_back(pds, p, now))
		return;
	bool wanted = at_once || p->unacked_pkts + 1 >= pds->conf.tune.ack_every;
	if (pds->conf.tune.ack_burst && wanted && may_share(p)) {
		p->unacked_pkts++;
		owe_ack(pds, p);
	} else {
		answer(pds, p, at_once || (pds->conf.tune.ack_burst && p->win.ooo_pkts), now);
	}
}

void ack_now(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	answer(pds, p, true, now);
}

void ack_note_plain(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	assert(!p->closed && !p->win.gtd_count && pds->conf.has_templates);
	if (unlikely(p->win.ooo_pkts || !pds->out.spare_count || pds->out.count >= OUT_MAX)) {
		ack_now(pds, p, now);
		return;
	}
	ack_patched(pds, p, out_take(&pds->out), &nothing_beyond, now);
	p->unacked_pkts = 0;
	pds->stats.tx_ack++;
}

/* Until every received PSN has been reported: one bitmap covers little when hundreds of packets are on many paths. */
void ack_flush(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	for (int i = 0; i < ACK_FLUSH_MAX && (p->unacked_pkts || p->win.unreported_pkts); i++)
		if (!ack_send(pds, p, now))
			break;
	if (p->unacked_pkts || p->win.unreported_pkts)
		ack_later(pds, p, now + pds->conf.ack_delay_ns);
}

void ack_send_due(struct pds *pds, weft_ns now)
{
	while (!list_empty(&pds->ack_due) && !pds->out.short_of_pkts) {
		struct pdc_rx *p = list_entry(pds->ack_due.next, struct pdc_rx, ack_link);
		list_del(&p->ack_link);
		p->ack_owed = false;
		if (p->unacked_pkts || !pds->conf.tune.ack_burst)
			ack_send(pds, p, now);
	}
}

void ack_probe(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *probe_pkt, const struct wire_view *probe,
	       weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return; /* the initiator probes again */
	struct wire_pkt *w = &pds->out.control;
	fill_ack(pds, p, w, now);
	/* Probes are answered for their time; initiators do not look at the bitmap. */
	w->pds.sack_offset = 1;
	w->pds.sack_bitmap = 0;
	w->net.entropy = wire_view_entropy(probe);
	w->pds.service_time = service_time(probe_pkt->arrived_ns, now);
	w->pds.next_hdr = WIRE_NH_NONE;
	w->pds.flags = WIRE_F_ACK_P;
	w->pds.opaque = wire_hdr_opaque(probe->hdr);
	w->pds.offset = 0;
	out_send_control(&pds->out, pkt, now);
	pds->stats.tx_ack++;
}

/* Lost when there is no packet to put it in: the initiator's timer covers that. */
void nack_send(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return;
	struct wire_pkt *w = &pds->out.control;
	w->net.dst = *wire_view_src(refused);
	w->net.entropy = wire_view_entropy(refused);
	uint8_t mark = wire_view_ecn(refused) == WEFT_ECN_CE ? WIRE_F_ACK_M : 0;
	w->pds = (struct wire_pds){.type = WIRE_PDS_NACK,
				   .flags = (uint8_t)(mark | (wire_hdr_flags(refused->hdr) & WIRE_F_RETX)),
				   .code = code,
				   .psn = wire_hdr_psn(refused->hdr),
				   .spdcid = our_id,
				   .dpdcid = wire_hdr_spdcid(refused->hdr)};
	out_send_control(&pds->out, pkt, now);
	pds->stats.tx_nack++;
}
