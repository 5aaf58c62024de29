/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator learns what arrived: cumulative and selective acknowledgements, RTT samples, refused content. */
#include <errno.h>

#include "bitmap.h"
#include "ctl_tx.h"
#include "ev_probe.h"
#include "loss.h"
#include "offer.h"
#include "path_search.h"
#include "pdc_tx.h"
#include "ready.h"
#include "record.h"
#include "rto.h"
#include "tx_timer.h"
#include "wire_check.h"
#include "withdraw.h"

enum { SERVICE_TIME_UNIT_NS = 128, SERVICE_TIME_OVERFLOW = 0xffff };

/* Fields of an ACK that are used more than once. */
struct ack_fields {
	uint32_t cack;    /* all up to it arrived */
	uint32_t trigger; /* PSN of the packet it answers */
	uint8_t flags;
};

static inline struct ack_fields read_ack_fields(const struct wire_view *v)
{
	uint32_t cack = wire_hdr_cack(v->hdr);
	return (struct ack_fields){cack, cack + (uint32_t)wire_hdr_ack_offset(v->hdr), wire_hdr_flags(v->hdr)};
}

/* What one ACK acknowledged for the first time. */
struct acked {
	uint32_t bytes; /* newly acknowledged, wire bytes */
	uint32_t pkts;
	bool closed; /* CLOSE_CMD among them */
};

/* What one ACK covers: all up to `cack`, `trigger`, and the set bits of `bits`, bit 0: `base`. */
struct ack_coverage {
	uint32_t cack, trigger, base;
	uint64_t bits;
	weft_ns now;
};

static inline void note_acked(struct pds *pds, struct pdc_tx *p, struct tx_run *run)
{
	assert(run->unacked_pkts > 0);
	if (unlikely(!--run->unacked_pkts && run->cut))
		pds->events->on_acked(pds->ses, p, run);
}

/* The record leaves the list of its state. */
static inline void ack_one(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct acked *acked)
{
	if (likely(sendq_unlink(&p->q, psn, s))) {
		assert(p->inflight_bytes >= s->wire_bytes);
		p->inflight_bytes -= s->wire_bytes;
	} else {
		pds->stats.spurious++;
	}
	acked->bytes += s->wire_bytes;
	acked->pkts++;
	if (likely(s->run != NULL))
		note_acked(pds, p, s->run);
	else
		acked->closed |= sent_is_close(s);
}

/* A marked packet is answered at once, so whatever else an ACK covers had no mark. It answers one packet; with several
 * transmissions it is not known which of them arrived. */
static void lb_feedback_covered(struct pds *pds, struct pdc_tx *p, const struct ack_coverage *c, uint32_t psn,
				const struct sent *s)
{
	if (pds->conf.tune.lb_all_acked && psn != c->trigger && !s->tries)
		lb_feedback(pds, p, s->ev, WEFT_LB_COVERED, c->now);
}

static void ack_ooo(struct pds *pds, struct pdc_tx *p, const struct ack_coverage *c, uint32_t psn, struct acked *acked)
{
	struct sent *s = sendq_at(&p->q, psn);
	if (s->state == SENT_ACKED)
		return;
	lb_feedback_covered(pds, p, c, psn, s);
	ack_one(pds, p, psn, s, acked);
	sendq_mark(&p->q, psn, s);
}

/* Of the bitmap's packets those that are new; it may reach beyond what we have in flight. */
static void ack_bits(struct pds *pds, struct pdc_tx *p, const struct ack_coverage *c, struct acked *acked)
{
	const struct sendq *q = &p->q;
	int32_t below = psn_diff(q->una, c->base), room = psn_diff(q->nxt, c->base);
	uint64_t bits = c->bits;
	if (below >= 64 || room <= 0)
		return;
	if (below > 0)
		bits &= UINT64_MAX << below;
	if (room < 64)
		bits &= ~(UINT64_MAX << room);
	if (!bits)
		return; /* nothing of ours: there may be no ring */
	bits &= ~bitmap_get64(q->acked, q->mask, c->base);
	for (; bits; bits &= bits - 1)
		ack_ooo(pds, p, c, c->base + (uint32_t)__builtin_ctzll(bits), acked);
}

static void ack_cumulative(struct pds *pds, struct pdc_tx *p, const struct ack_coverage *c, struct acked *acked)
{
	while (psn_diff(p->q.una, c->cack) <= 0) {
		struct sent *s = sendq_at(&p->q, p->q.una);
		if (s->state == SENT_ACKED) {
			sendq_pop(&p->q);
		} else {
			lb_feedback_covered(pds, p, c, p->q.una, s);
			ack_one(pds, p, p->q.una, s, acked);
			p->q.una++; /* its record needs no mark */
		}
	}
}

static struct acked __attribute__((noinline)) ack_many(struct pds *pds, struct pdc_tx *p, const struct ack_coverage *c)
{
	struct acked acked = {0};
	ack_cumulative(pds, p, c, &acked);
	if (sendq_has(&p->q, c->trigger))
		ack_ooo(pds, p, c, c->trigger, &acked);
	if (c->bits)
		ack_bits(pds, p, c, &acked);
	sendq_advance(&p->q);
	return acked;
}

/* The oldest packet, and nothing else: all that came before has been acknowledged, nothing behind it has arrived. */
static inline struct acked ack_oldest(struct pds *pds, struct pdc_tx *p, struct sent *s)
{
	struct acked acked = {0};
	ack_one(pds, p, p->q.una, s, &acked);
	p->q.una++;
	if (sendq_len(&p->q) && unlikely(sendq_at(&p->q, p->q.una)->state == SENT_ACKED))
		sendq_advance(&p->q);
	return acked;
}

/* ACK_CCX begins like ACK_CC, with another type of state. */
static inline bool is_cc(const struct wire_view *v)
{
	return v->type != WIRE_PDS_ACK;
}

/* `s`: the record of the trigger, if there is one. */
static inline struct acked ack_covered(struct pds *pds, struct pdc_tx *p, const struct wire_view *v,
				       const struct ack_fields *n, struct sent *s, weft_ns now)
{
	uint64_t bits = is_cc(v) ? wire_ack_cc_sack_bitmap(v->ack_cc) : 0;
	if (psn_after(n->cack, p->cack_psn))
		p->cack_psn = n->cack;
	if (likely(s != NULL) && likely(n->cack == p->q.una) && likely(n->trigger == n->cack) && likely(!bits))
		return ack_oldest(pds, p, s);
	uint32_t base = n->cack + (is_cc(v) ? (uint32_t)wire_ack_cc_sack_offset(v->ack_cc) : 0);
	return ack_many(pds, p, &(struct ack_coverage){n->cack, n->trigger, base, bits, now});
}

/* 0 when the ACK does not say. */
static inline weft_ns service_ns(const struct wire_view *v)
{
	if (unlikely(!is_cc(v) || wire_ack_cc_cc_type(v->ack_cc) != WIRE_CC_NSCC))
		return 0;
	uint16_t units = wire_ack_cc_service_time(v->ack_cc);
	return units != SERVICE_TIME_OVERFLOW ? (weft_ns)units * SERVICE_TIME_UNIT_NS : 0;
}

static bool is_ambiguous(const struct sent *s, bool retx)
{
	return s->state == SENT_ACKED || s->tries > 1 || (s->tries == 1) != retx;
}

/* An ACK of another transmission than the first and only one may show that the RTO was too short. Returns whether it
 * is of no use as an RTT sample. */
static bool __attribute__((noinline))
take_retx_answer(struct pds *pds, struct pdc_tx *p, const struct sent *s, bool retx, weft_ns now)
{
	if (s->state != SENT_ACKED && s->tries && !retx)
		rto_raise(&pds->conf, p, s, now);
	return is_ambiguous(s, retx);
}

/* RTT of the packet that triggered the ACK; 0 when it is ambiguous which transmission was answered (UE 1.0 sec. 3.5).
 */
static inline weft_ns take_rtt_sample(struct pds *pds, struct pdc_tx *p, const struct weft_pkt *pkt,
				      const struct wire_view *v, const struct ack_fields *n, const struct sent *s,
				      weft_ns now)
{
	if (unlikely(!s))
		return 0;
	bool retx = n->flags & WIRE_F_RETX, first = s->state == SENT_INFLIGHT && !s->tries && !retx;
	if (unlikely(!first) && take_retx_answer(pds, p, s, retx, now))
		return 0;
	if (s->sent_at > p->newest_acked_ns)
		p->newest_acked_ns = s->sent_at;
	weft_ns out = s->sent_at + service_ns(v);
	weft_ns rtt = pkt->arrived_ns > out ? pkt->arrived_ns - out : 1;
	if (s->payload_len == p->pdc.payload_bytes && rtt < p->min_rtt_ns)
		rto_lower_brtt(&pds->conf, p, rtt);
	rto_sample(&pds->conf, p, rtt, now);
	return rtt;
}

/* One probe per connection, in the control class, right after the target is known (UE 1.0 sec. 3.5, Probe). */
static void probe(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->probes_refused)
		p->chores &= (uint8_t)~CHORE_BRTT;
	if (p->probes_refused || p->probe_sent_ns != WEFT_NEVER)
		return;
	ctl_send_probe(pds, p, now);
}

static void __attribute__((noinline)) do_chores(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->chores & CHORE_PATH && p->state == PDC_TX_OPEN) {
		p->chores &= (uint8_t)~CHORE_PATH;
		path_opened(pds, p, now);
	}
	if (p->chores & CHORE_OFFER && p->state == PDC_TX_OPEN)
		offer_make(pds, p, now);
	if (p->chores & CHORE_BRTT)
		probe(pds, p, now);
}

/* The probe is short: the base RTT is of a full packet, so the difference is added once each way over our link. */
static void __attribute__((noinline))
probe_answered(const struct pds *pds, struct pdc_tx *p, const struct weft_pkt *pkt, uint16_t opaque, weft_ns service)
{
	if (p->probe_sent_ns == WEFT_NEVER || opaque != p->probe_opaque)
		return;
	weft_ns out = p->probe_sent_ns + service;
	weft_ns rtt = pkt->arrived_ns > out ? pkt->arrived_ns - out : 1;
	uint64_t full_bytes = pds->conf.overhead_bytes + p->pdc.payload_bytes;
	weft_ns full = rtt + 2 * ((full_bytes - WEFT_WIRE_MIN_BYTES) * 8 * WEFT_S(1) / p->cc.params->link_bps);
	p->probe_sent_ns = WEFT_NEVER;
	if (!(p->chores & CHORE_BRTT))
		return; /* it only asked whether anybody is there */
	p->chores &= (uint8_t)~CHORE_BRTT;
	p->brtt_ns = full > pds->conf.tune.brtt_floor_ns ? full : pds->conf.tune.brtt_floor_ns;
}

/* What is left, sent at the last expiry, has waited long enough once a single timeout is over: its timer was set for a
 * doubled one. */
static void __attribute__((noinline)) end_backoff(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	p->rto_backoff = 0;
	tx_timer_arm(pds, p, now);
}

static void any_probe_answered(struct pds *pds, struct pdc_tx *p, const struct weft_pkt *pkt, const struct wire_view *v,
			       weft_ns now)
{
	uint16_t opaque = wire_hdr_opaque(v->hdr);
	if (opaque & PATH_OPAQUE)
		path_answered(pds, p, opaque, now);
	else if (opaque == OFFER_OPAQUE)
		offer_answered(p, v);
	else if (opaque == EV_OPAQUE)
		ev_probe_answered(pds, p, v, now);
	else
		probe_answered(pds, p, pkt, opaque, service_ns(v));
	if (!p->rto_backoff || p->outage_ended || p->state != PDC_TX_OPEN)
		return;
	/* The target is back: no timer has grown. If data goes on vanishing, it is for another reason. A search goes on
	 * until data gets through. */
	p->outage_ended = true;
	if (opaque != EV_OPAQUE)
		end_backoff(pds, p, now);
}

static inline bool is_error(const struct wire_view *v)
{
	return v->ses_bytes && v->next_hdr == WIRE_NH_RSP && wire_rsp_opcode(v->rsp) == WIRE_RSP_RESPONSE &&
	       wire_rsp_return_code(v->rsp) > WIRE_RC_OK;
}

/* SES refused the message of this packet; the packet itself counts as acknowledged and its response waits to be
 * cleared. False: the answer cannot be taken now, and will come again. */
static bool __attribute__((noinline))
error_response(struct pds *pds, struct pdc_tx *p, uint32_t psn, const struct wire_rsp *rsp)
{
	const struct sent *s = sendq_has(&p->q, psn) ? sendq_at(&p->q, psn) : NULL;
	bool of_data = s && s->state != SENT_ACKED && s->run;
	bool of_withdrawal = of_data && sent_is_withdrawn(s) && wire_rsp_return_code(rsp) == WIRE_RC_UNSUPPORTED_OP;
	if (of_withdrawal && !withdraw_refused(pds, p, psn))
		return false;
	p->clear_wanted = true;
	p->clear_psn = psn;
	if (of_data && !of_withdrawal)
		pds->events->on_refused(pds->ses, p, s->run, rsp);
	return true;
}

/* The response waits to be cleared, and is taken once. False: not all of it is here; it comes again. */
static bool __attribute__((noinline))
data_response(struct pds *pds, struct pdc_tx *p, uint32_t psn, const struct weft_pkt *pkt, const struct wire_view *v)
{
	const struct sent *s = sendq_has(&p->q, psn) ? sendq_at(&p->q, psn) : NULL;
	if (!wire_rsp_data_fits(v->rsp_data, v->payload_bytes)) {
		pds->stats.rx_stale++;
		return false;
	}
	p->clear_psn = p->clear_wanted ? psn_max(p->clear_psn, psn) : psn;
	p->clear_wanted = true;
	if (s && s->state != SENT_ACKED && s->run)
		pds->events->on_answer(pds->ses, s->run, v, pds_payload(pkt, v));
	return true;
}

/* An earlier ACK covered the packet already, and the load balancer was told then (lb_feedback_covered). */
static bool was_covered_before(const struct pds *pds, const struct pdc_tx *p, const struct ack_fields *n)
{
	return unlikely(pds->conf.tune.lb_all_acked) && !(n->flags & WIRE_F_RETX) &&
	       (!sendq_has(&p->q, n->trigger) || sendq_at(&p->q, n->trigger)->state == SENT_ACKED);
}

/* In which time what is left of the last message leaves, by the window or at most a BDP per round trip; WEFT_NEVER: it
 * does not fit the window, other messages follow, or all was sent. */
static weft_ns last_leaves_ns(const struct pds *pds, const struct pdc_tx *p)
{
	const struct tx_run *run = p->cutting;
	if (!run || run->link.next != &p->runs || likely(run->bytes - run->cut_bytes > p->cc.cwnd_bytes))
		return WEFT_NEVER;
	uint64_t bdp_bytes = (uint64_t)p->lb.params->bdp_pkts * pds->conf.full_wire_bytes;
	uint64_t window_bytes = p->cc.cwnd_bytes < bdp_bytes ? p->cc.cwnd_bytes : bdp_bytes;
	return (run->bytes - run->cut_bytes) * p->brtt_ns / (window_bytes + 1); /* a window may be empty */
}

static __attribute__((noinline)) void lb_tell_wait(struct pds *pds, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb,
						   weft_ns rtt_ns, weft_ns now)
{
	weft_ns wait_ns = rtt_ns > p->brtt_ns ? rtt_ns - p->brtt_ns : 0;

	p->lb.ops->answered(&p->lb, ev, fb, wait_ns, last_leaves_ns(pds, p), now);
	trace_feedback(pds, p, ev, fb, now);
}

/* A packet arrived, marked or not (WEFT_LB_CE, WEFT_LB_OK), and its ACK came back; `rtt_ns`: 0 where it says nothing.
 */
static inline void lb_answered(struct pds *pds, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb, weft_ns rtt_ns,
			       weft_ns now)
{
	if (p->lb.ops->answered && rtt_ns)
		lb_tell_wait(pds, p, ev, fb, rtt_ns, now);
	else
		lb_feedback(pds, p, ev, fb, now);
}

/* Several ACKs may answer one packet; its mark and its path count once. Returns the mark. */
static inline bool path_feedback(struct pds *pds, struct pdc_tx *p, const struct wire_view *v,
				 const struct ack_fields *n, weft_ns rtt_ns, weft_ns now)
{
	if (unlikely(n->trigger == p->last_ack_psn))
		return false;
	p->last_ack_psn = n->trigger;
	if (n->flags & WIRE_F_ACK_M) {
		pds->stats.rx_ack_ce++;
		p->remote->marked_acks++;
		lb_answered(pds, p, wire_view_entropy(v), WEFT_LB_CE, rtt_ns, now);
		return true;
	}
	if (likely(!was_covered_before(pds, p, n)))
		lb_answered(pds, p, wire_view_entropy(v), WEFT_LB_OK, rtt_ns, now);
	return false;
}

static void clear(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (likely(!p->clear_wanted) || !psn_after(p->q.una, p->clear_psn))
		return;
	p->clear_wanted = false;
	ctl_send(pds, p, WIRE_CTL_CLEAR_CMD, 0, p->q.una - 1, now);
}

static inline void after_ack(struct pds *pds, struct pdc_tx *p, const struct acked *acked, weft_ns now)
{
	loss_by_gap(pds, p, now);
	if (acked->pkts) {
		if (unlikely(p->rto_backoff))
			end_backoff(pds, p, now);
		p->syn_tries = 0;
		p->outage_ended = false;
		p->heard = true;
	}
	clear(pds, p, now);
	if (unlikely(p->held))
		pds->events->on_progress(pds->ses, p);
	if (unlikely(acked->closed)) {
		pdc_tx_closed(pds, p, now);
		return;
	}
	if (unlikely(p->chores))
		do_chores(pds, p, now);
	ready_add(pds, p);
	if (acked->pkts && unlikely(!sendq_len(&p->q)) && list_empty(&p->runs))
		pdc_tx_idle(pds, p, now);
}

/* Takes the ACK for the connection `p`, if there is one and it may tell it something; false: not. The PSN first:
 * answers to an engine that was here before us may name the same connection. */
static inline bool accept_ack(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, uint32_t cack, weft_ns now)
{
	pds->stats.rx_ack++;
	if (unlikely(!p || !psn_before(cack, p->q.nxt) || psn_diff(p->cack_psn, cack) > (int32_t)p->window_pkts ||
		     !pdc_tx_learn_target(p, v))) {
		pds->stats.rx_stale++;
		return false;
	}
	/* answers to probes say that the target lives, not that data gets there: it may be too large, or of a class
	 * that is dropped */
	if (unlikely(p->outage_ended) && wire_hdr_flags(v->hdr) & WIRE_F_ACK_P && sendq_len(&p->q))
		return true;
	p->last_heard_ns = now;
	return true;
}

static inline __attribute__((always_inline)) void take(struct pds *pds, struct pdc_tx *p, const struct weft_pkt *pkt,
						       const struct wire_view *v, const struct ack_fields *n,
						       weft_ns now)
{
	struct sent *s = likely(sendq_has(&p->q, n->trigger)) ? sendq_at(&p->q, n->trigger) : NULL;
	weft_ns rtt = take_rtt_sample(pds, p, pkt, v, n, s, now);
	bool ce = path_feedback(pds, p, v, n, rtt, now);
	const struct acked acked = ack_covered(pds, p, v, n, s, now);
	if (is_cc(v) && wire_ack_cc_mpr(v->ack_cc))
		p->window_pkts = pds_window(pds, (uint32_t)wire_ack_cc_mpr(v->ack_cc) * 128);
	bool says = is_cc(v) && pdc_tx_heeds_share(pds, p);
	struct weft_cc_ack ev = {acked.bytes,
				 p->inflight_bytes,
				 rtt,
				 p->brtt_ns,
				 ce,
				 says && wire_ack_cc_cc_flags(v->ack_cc) & WIRE_SHARE_FLAG_ROOM,
				 says ? wire_share_bps(wire_ack_cc_share(v->ack_cc)) : 0};
	p->cc.ops->on_ack(&p->cc, &ev, now);
	if (is_recorded(pds))
		record_ack(pds, p, &ev, now);
	after_ack(pds, p, &acked, now);
}

/* Inline wherever files are optimised together. */
inline __attribute__((always_inline)) void pds_rx_ack(struct pds *pds, const struct weft_pkt *pkt,
						      const struct wire_view *v, weft_ns now)
{
	struct pdc_tx *p = pdc_tx_of(&pds->ids, v);
	const struct ack_fields n = read_ack_fields(v);
	if (unlikely(!accept_ack(pds, p, v, n.cack, now)))
		return;
	if (!v->usual && n.flags & WIRE_F_ACK_P) {
		any_probe_answered(pds, p, pkt, v, now);
		return;
	}
	if (!v->usual && v->next_hdr == WIRE_NH_RSP_DATA && !data_response(pds, p, n.trigger, pkt, v))
		return;
	if (unlikely(is_error(v)) && !error_response(pds, p, n.trigger, v->rsp))
		return;
	take(pds, p, pkt, v, &n, now);
}
