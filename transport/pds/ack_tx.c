/* SPDX-License-Identifier: BSD-3-Clause */
/* The target tells what arrived: ACK_CC with cumulative PSN, SACK bitmap, congestion mark and the entropy of the packet
 * it answers (REPS sec. 3.1), per packet or coalesced, or a short ACK without bitmap; NACKs at once. */
#include "ack_tx.h"

#include <string.h>

#include "offer.h"
#include "pdc_rx.h"
#include "record.h"
#include "shim.h"
#include "wire_build.h"

enum {
	SERVICE_TIME_UNIT_NS = 128,
	SERVICE_TIME_MAX = 0xfffe,
	RCVD_BYTES_UNIT = 256,
	ACK_FLUSH_MAX = 16,
	FULL_ACK_PSNS = 8
};

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

/* Builds an ACK up to its PDS header's end, which is returned; the response, if any, is not there yet. */
static uint8_t *build_pds(struct pds *pds, const struct pdc_rx *p, struct weft_pkt *pkt, uint8_t type, uint8_t next_hdr,
			  uint8_t flags, const struct sack *sack, weft_ns arrived_ns, weft_ns now)
{
	const struct link_share share = pdc_rx_share(pds, p);
	struct wire_ack_cc *ack = (struct wire_ack_cc *)out_pds(&pds->out, pkt, p->pdc.encap);
	uint8_t *end = wire_build_pds((uint8_t *)ack, type, next_hdr, flags);
	wire_hdr_set_cack(&ack->hdr, p->win.cack_psn);
	wire_hdr_set_spdcid(&ack->hdr, p->pdc.id);
	wire_hdr_set_dpdcid(&ack->hdr, p->remote_id);
	wire_ack_cc_set_mpr(ack, (uint8_t)(pds->win.window_pkts / 128));
	wire_ack_cc_set_sack_offset(ack, sack->offset);
	wire_ack_cc_set_sack_bitmap(ack, sack->bits);
	wire_ack_cc_set_service_time(ack, service_time(arrived_ns, now));
	wire_ack_cc_set_rcvd_bytes(ack, rcvd_units(p));
	wire_ack_cc_set_cc_flags(ack, share.has_room ? WIRE_SHARE_FLAG_ROOM : 0);
	wire_ack_cc_set_share(ack, share.code);
	wire_ack_cc_set_ooo_count(ack, (uint16_t)p->win.ooo_pkts);
	return end;
}

/* The same with data, which follows the header. */
static uint8_t *build_data(uint8_t *at, const struct gtd_rsp *g)
{
	const struct wire_echo echo = {.head = g->head};
	uint8_t *end = wire_build_ses(at, WIRE_NH_RSP_DATA, WIRE_RSP_W_DATA, g->return_code);
	struct wire_rsp_data *d = (struct wire_rsp_data *)at;
	wire_rsp_repeat((struct wire_rsp *)at, &echo);
	wire_rsp_set_ri_generation((struct wire_rsp *)at, 0);
	wire_rsp_data_set_read_message_id(d, wire_rsp_message_id((const struct wire_rsp *)at));
	wire_rsp_data_set_payload_length(d, g->data_bytes);
	wire_rsp_data_set_modified_length(d, g->length);
	memcpy(end, g->data, g->data_bytes);
	return end + g->data_bytes;
}

/* Builds the response to the trigger, and returns its end. */
static uint8_t *build_response(const struct pdc_rx *p, uint8_t *at, const struct gtd_rsp *g)
{
	uint8_t *end = wire_build_ses(at, WIRE_NH_RSP, g ? WIRE_RSP_RESPONSE : WIRE_RSP_DEFAULT,
				      g ? g->return_code : WIRE_RC_OK);
	const struct wire_echo refused = {.head = g ? g->head : 0};
	wire_rsp_repeat((struct wire_rsp *)at, g ? &refused : &p->trigger_echo);
	return end;
}

/* An ACK whose `bytes` of headers are there. */
static inline void send_head(struct pds *pds, const struct pdc_rx *p, struct weft_pkt *pkt, uint16_t bytes, weft_ns now)
{
	pkt->payload = NULL;
	pkt->payload_len = 0;
	out_address(&pds->out, pkt, &p->ip, p->trigger_ev, WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	out_add(&pds->out, pkt, bytes, wire_class_flags(WIRE_DSCP_CONTROL), 0, now);
}

/* An ACK with the usual response. */
static inline __attribute__((always_inline)) void
ack_send_template(struct pds *pds, const struct pdc_rx *p, struct weft_pkt *pkt, const struct beyond *b, weft_ns now)
{
	if (unlikely(!wire_ack_is_to(pds->ack_head, &p->ip)))
		wire_aim_ack(pds->ack_head, &p->ip);
	const struct link_share share = pdc_rx_share(pds, p);
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
					     .share = share.code,
					     .has_room = share.has_room,
					     .ooo_count = b->ooo_count,
					     .echo = p->trigger_echo};
	wire_fill_ack(pkt->head, pds->ack_head, &patch);
	send_head(pds, p, pkt, sizeof pds->ack_head, now);
}

/* Whether headers of the connection's ACKs are patched copies of a template. */
static inline bool has_template(const struct pds *pds, const struct pdc_rx *p)
{
	return pds->conf.has_templates && pdc_rx_is_plain(p) && !p->win.gtd_count && likely(p->trigger_echo.head);
}

/* Whether an ACK without congestion state and response says as much: the mark, the entropy, the packet and all before
 * the gap are in each; a response that is not there is the usual one; the initiator takes a share that it is not told
 * for none, and keeps the window that it was offered; and beyond the gap no other packet waits to be reported. Every
 * FULL_ACK_PSNS-th says all: the window, and once more what lost ACKs had. */
static inline bool is_short(struct pds *pds, const struct pdc_rx *p, weft_ns now)
{
	if (!pds->conf.tune.short_acks || p->trigger_psn % FULL_ACK_PSNS == 0 ||
	    p->win.unreported_pkts > rxwin_is_unreported(&p->win, &pds->win, p->trigger_psn) ||
	    !pdc_rx_may_be_announced(pds, p))
		return false;
	const struct link_share share = pdc_rx_share(pds, p);
	return !share.code && !share.has_room && !service_time(p->trigger_at_ns, now);
}

static inline void ack_send_short(struct pds *pds, struct pdc_rx *p, struct weft_pkt *pkt, weft_ns now)
{
	if (unlikely(!wire_ack_is_to(pds->short_ack_head, &p->ip)))
		wire_aim_ack(pds->short_ack_head, &p->ip);
	const struct wire_short_ack_patch patch = {.entropy = p->trigger_ev,
						   .flags = p->trigger_flags,
						   .ack_offset = (int16_t)(p->trigger_psn - p->win.cack_psn),
						   .cack = p->win.cack_psn,
						   .spdcid = p->pdc.id,
						   .dpdcid = p->remote_id};
	wire_fill_short_ack(pkt->head, pds->short_ack_head, &patch);
	send_head(pds, p, pkt, sizeof pds->short_ack_head, now);
	rxwin_report_trigger(&p->win, &pds->win, p->trigger_psn);
}

static void __attribute__((noinline))
ack_send_full(struct pds *pds, struct pdc_rx *p, struct weft_pkt *pkt, const struct beyond *b, weft_ns now)
{
	const struct gtd_rsp *g = rxwin_response(&p->win, p->trigger_psn);
	uint8_t flags = p->trigger_flags | (g ? WIRE_F_ACK_CLEAR : 0),
		next_hdr = !g && (p->closed || !p->trigger_echo.head) ? WIRE_NH_NONE
			   : g && g->data_bytes                       ? WIRE_NH_RSP_DATA
								      : WIRE_NH_RSP;
	uint8_t *end = build_pds(pds, p, pkt, WIRE_PDS_ACK_CC, next_hdr, flags, &b->sack, p->trigger_at_ns, now);
	wire_hdr_set_ack_offset((struct wire_hdr *)out_pds(&pds->out, pkt, p->pdc.encap),
				(int16_t)(p->trigger_psn - p->win.cack_psn));
	if (next_hdr == WIRE_NH_RSP)
		end = build_response(p, end, g);
	else if (next_hdr == WIRE_NH_RSP_DATA)
		end = build_data(end, g);
	out_send_control(&pds->out, pkt, pdc_rx_way(p, p->trigger_ev), end, now);
}

static void ack_owe(struct pds *pds, struct pdc_rx *p)
{
	if (p->ack_owed)
		return;
	assert(list_empty(&p->ack_link));
	p->ack_owed = true;
	list_add_tail(&pds->ack_due, &p->ack_link);
}

/* A coalesced ACK, or what the last one could not report, is due at `at`. */
static void ack_defer(struct pds *pds, struct pdc_rx *p, weft_ns at)
{
	p->ack_at_ns = at;
	if (at < p->pdc.timer.at)
		wheel_set(&pds->timers.wheel, &p->pdc.timer, at);
}

static inline void count_ack(struct pds *pds, struct pdc_rx *p)
{
	p->unacked_pkts = 0;
	pds->stats.tx_ack++;
}

/* Where every packet has an ACK at once, the event of the packet tells of both. */
static inline void ack_sent(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if (is_recorded(pds) && pds->conf.ack_policy != PDS_ACK_EACH)
		record_ack_sent(pds, p, now);
	count_ack(pds, p);
}

static inline __attribute__((always_inline)) void ack_send_pkt(struct pds *pds, struct pdc_rx *p, struct weft_pkt *pkt,
							       const struct beyond *b, weft_ns now)
{
	if (has_template(pds, p))
		ack_send_template(pds, p, pkt, b, now);
	else
		ack_send_full(pds, p, pkt, b, now);
	ack_sent(pds, p, now);
}

static inline __attribute__((always_inline)) bool ack_send(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt) {
		ack_owe(pds, p);
		return false;
	}
	if (p->unacked_pkts == 1 && has_template(pds, p) && is_short(pds, p, now)) {
		ack_send_short(pds, p, pkt, now);
		ack_sent(pds, p, now);
		return true;
	}
	const struct beyond b = report_beyond(pds, p);
	ack_send_pkt(pds, p, pkt, &b, now);
	return true;
}

/* Packets that no ACK has reported yet are reported when the delay is over. */
static inline void ack_defer_rest(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if ((p->unacked_pkts || p->win.unreported_pkts) && p->ack_at_ns == WEFT_NEVER)
		ack_defer(pds, p, now + pds->conf.ack_delay_ns);
}

static inline __attribute__((always_inline)) void ack_or_defer(struct pds *pds, struct pdc_rx *p, bool at_once,
							       weft_ns now)
{
	p->unacked_pkts++;
	if (at_once || p->unacked_pkts >= pds->conf.tune.ack_every)
		ack_send(pds, p, now);
	ack_defer_rest(pds, p, now);
}

/* Acknowledges everything up to the gap, and nothing beyond it. */
static void ack_send_to_gap(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	p->unacked_pkts++;
	if (pkt)
		ack_send_pkt(pds, p, pkt, &nothing_beyond, now);
	else
		ack_owe(pds, p);
	ack_defer_rest(pds, p, now);
}

/* True: the packet needs no answer beside what was done here. */
static bool hold_back(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	weft_ns until = 0;
	enum shim_verdict verdict = shim_decide(&pds->conf, p, now, &until);
	if (verdict == SHIM_PASS)
		return false;
	ack_defer(pds, p, until);
	if (verdict == SHIM_TO_GAP) {
		ack_send_to_gap(pds, p, now);
	} else {
		p->unacked_pkts++;
		pds->stats.rx_held++;
	}
	return true;
}

/* Whether one ACK can answer this packet together with others: an ACK carries the mark, the retransmission flag and the
 * response of one packet only, and its bitmap is limited. */
static bool may_coalesce(const struct pdc_rx *p)
{
	return !p->trigger_flags && !p->win.ooo_pkts && !p->win.gtd_count && !p->closed;
}

void ack_data(struct pds *pds, struct pdc_rx *p, bool at_once, weft_ns now)
{
	if (pds->conf.tune.reorder_shim_ns && hold_back(pds, p, now))
		return;
	bool due = at_once || p->unacked_pkts + 1 >= pds->conf.tune.ack_every;
	if (pds->conf.tune.ack_burst && due && may_coalesce(p)) {
		p->unacked_pkts++;
		ack_owe(pds, p);
	} else {
		ack_or_defer(pds, p, at_once || (pds->conf.tune.ack_burst && p->win.ooo_pkts), now);
	}
}

void ack_at_once(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	ack_or_defer(pds, p, true, now);
}

void ack_data_each(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	assert(pdc_rx_is_plain(p) && !p->win.gtd_count && pds->conf.has_templates);
	if (unlikely(p->win.ooo_pkts || !pds->out.spare_count || pds->out.count >= OUT_MAX)) {
		ack_at_once(pds, p, now);
		return;
	}
	if (is_short(pds, p, now))
		ack_send_short(pds, p, out_take(&pds->out), now);
	else
		ack_send_template(pds, p, out_take(&pds->out), &nothing_beyond, now);
	count_ack(pds, p);
}

/* Until every received PSN has been reported: one bitmap covers little when hundreds of packets are on many paths. */
void ack_send_all(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	for (int i = 0; i < ACK_FLUSH_MAX && (p->unacked_pkts || p->win.unreported_pkts); i++)
		if (!ack_send(pds, p, now))
			break;
	if (p->unacked_pkts || p->win.unreported_pkts)
		ack_defer(pds, p, now + pds->conf.ack_delay_ns);
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

void ack_send_probe_answer(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *probe_pkt,
			   const struct wire_view *probe, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return; /* the initiator probes again */
	bool offer = wire_hdr_opaque(probe->hdr) == OFFER_OPAQUE;
	/* Probes are answered for their time; initiators do not look at the bitmap. */
	const uint8_t *end = build_pds(pds, p, pkt, offer ? WIRE_PDS_ACK_CCX : WIRE_PDS_ACK_CC, WIRE_NH_NONE,
				       WIRE_F_ACK_P, &nothing_beyond.sack, probe_pkt->arrived_ns, now);
	if (offer) {
		offer_heard(pds, p);
		offer_fill_answer((struct wire_ack_ccx *)out_pds(&pds->out, pkt, p->pdc.encap));
	}
	wire_hdr_set_opaque((struct wire_hdr *)out_pds(&pds->out, pkt, p->pdc.encap), wire_hdr_opaque(probe->hdr));
	out_send_control(&pds->out, pkt, pdc_rx_way(p, wire_view_entropy(probe)), end, now);
	pds->stats.tx_ack++;
}

/* A trimmed packet does not tell whether it had a trailer. */
static uint8_t answer_encap(const struct pds *pds, const struct wire_view *v, uint16_t our_id)
{
	const struct pdc_rx *p = v->outer->trimmed ? pdc_rx_by_id(&pds->ids, our_id) : NULL;
	return v->outer->encap | ((p ? p->pdc.encap : pds->conf.tune.crc ? WIRE_ENCAP_CRC : 0) & WIRE_ENCAP_CRC);
}

/* What the refusal of a packet that our link had no room for says of the link. */
static uint8_t nack_share(struct pds *pds, uint16_t our_id, uint8_t code)
{
	const struct pdc_rx *p = our_id ? pdc_rx_by_id(&pds->ids, our_id) : NULL;
	bool is_weft = p ? pdc_rx_may_be_announced(pds, p) : pds->conf.tune.profile == WEFT_PROFILE_WEFT;
	if (code != WIRE_NACK_TRIMMED_LASTHOP || !is_weft)
		return WIRE_SHARE_NONE;
	const struct link_share share = sharers_say(&pds->sharers);
	return share.has_room ? WIRE_SHARE_NONE : share.code;
}

/* Lost when there is no packet to put it in: the initiator's timer covers that. */
void nack_send_payload(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code,
		       uint32_t payload, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return;
	const struct out_to to = {wire_view_src(refused), wire_view_entropy(refused),
				  answer_encap(pds, refused, our_id)};
	struct wire_nack *nack = (struct wire_nack *)out_pds(&pds->out, pkt, to.encap);
	uint8_t mark = wire_view_ecn(refused) == WEFT_ECN_CE ? WIRE_F_ACK_M : 0;
	bool rudi = refused->type == WIRE_PDS_RUDI_REQ; /* has no PDCIDs */
	uint8_t flags = (uint8_t)(mark | (wire_hdr_flags(refused->hdr) & WIRE_F_RETX) | (rudi ? WIRE_F_NACK_NT : 0));
	const uint8_t *end = wire_build_pds((uint8_t *)nack, WIRE_PDS_NACK, WIRE_NH_NONE, flags);
	wire_nack_set_code(nack, code);
	wire_nack_set_vendor_code(nack, nack_share(pds, our_id, code));
	wire_nack_set_payload(nack, payload);
	wire_hdr_set_psn(&nack->hdr, wire_hdr_psn(refused->hdr));
	wire_hdr_set_spdcid(&nack->hdr, our_id);
	wire_hdr_set_dpdcid(&nack->hdr, rudi ? 0 : wire_hdr_spdcid(refused->hdr));
	out_send_control(&pds->out, pkt, to, end, now);
	pds->stats.tx_nack++;
	record_nack(pds, refused, our_id, code, true, now);
}

void nack_send(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code, weft_ns now)
{
	nack_send_payload(pds, refused, our_id, code, 0, now);
}
