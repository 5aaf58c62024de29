/* SPDX-License-Identifier: BSD-3-Clause */
/* Transmission: a fair scheduler over connections, packet building, and the batch handed to the port. */
#include <assert.h>
#include <string.h>

#include "engine_out.h"
#include "wire_hot.h"

enum { ALLOC_RETRY_NS = 1000 };

enum tx_result { TX_SENT, TX_BLOCKED, TX_SHORT };

static bool has_pkt(struct weft_engine *e)
{
	if (unlikely(!e->spare_count))
		e->spare_count = e->port->ops->alloc(e->port, e->spare, ENGINE_BURST);
	if (likely(e->spare_count && e->out_count < ENGINE_OUT))
		return true;
	e->stats.alloc_fail++;
	e->short_of_pkts = true;
	return false;
}

struct weft_pkt *engine_pkt(struct weft_engine *e)
{
	return has_pkt(e) ? e->spare[--e->spare_count] : NULL;
}

void engine_send(struct weft_engine *e, struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	size_t head = wire_encode(w, pkt->head);
	assert(head > 0);
	engine_out_to(e, pkt, &w->net.dst, w->net.entropy, w->net.dscp, w->net.ecn);
	engine_out(e, pkt, head, now);
}

void engine_send_control(struct weft_engine *e, struct weft_pkt *pkt, weft_ns now)
{
	pkt->payload = NULL;
	pkt->payload_len = 0;
	engine_send(e, pkt, &e->ack_scratch, now);
}

void pdc_tx_ready(struct weft_engine *e, struct pdc_tx *p)
{
	if (p->ready || (!p->q.lost.count && !p->cutting))
		return;
	p->ready = true;
	list_add_tail(&e->ready, &p->ready_link);
}

/* The window, in bytes; one packet may always go. */
static bool cwnd_allows(const struct pdc_tx *p, uint32_t bytes)
{
	return p->inflight_bytes + bytes <= p->cc.cwnd_bytes || !p->inflight_bytes;
}

/* acks_per_window: every n-th packet asks, n the largest power of two that gives so many ACKs. Small windows live on
 * news of every packet, large ones can do with fewer. */
static bool wants_sample(const struct weft_engine *e, const struct pdc_tx *p, uint32_t psn)
{
	uint32_t step = p->cc.cwnd_bytes >> e->ask_shift;
	return e->ask_shift && (step < 2 || !(psn & (UINT32_MAX >> (__builtin_clz(step) + 1))));
}

/* AR: nothing may follow soon that would make a coalescing target answer. A full window is no reason while it holds
 * enough packets for that: asking then would cut later ACKs into ever smaller pieces. */
static bool wants_answer(const struct weft_engine *e, const struct pdc_tx *p, uint32_t psn, const struct sent *s)
{
	uint32_t cwnd_bytes = p->cc.cwnd_bytes;
	return s->tries || !p->cutting || wants_sample(e, p, psn) ||
	       (cwnd_bytes < p->inflight_bytes + e->full_wire_bytes && cwnd_bytes < e->ask_below_bytes);
}

/* But SYN. */
static uint8_t request_flags(const struct weft_engine *e, const struct pdc_tx *p, uint32_t psn, const struct sent *s)
{
	return (uint8_t)((s->tries ? WIRE_F_RETX : 0) | (wants_answer(e, p, psn, s) ? WIRE_F_AR : 0));
}

/* The target may forget the responses of everything before `front`. */
static int16_t clear_offset(const struct pdc_tx *p, uint32_t psn)
{
	return (int16_t)(p->q.front - 1 - psn);
}

static void build_pds(struct weft_engine *e, const struct pdc_tx *p, uint32_t psn, const struct sent *s,
		      struct wire_pds *pds)
{
	pds->flags = (uint8_t)(request_flags(e, p, psn, s) | (p->state == PDC_TX_SYN ? WIRE_F_SYN : 0));
	pds->psn = psn;
	pds->spdcid = p->pdc.id;
	pds->dpdcid = p->remote_id;
	pds->psn_offset = p->state == PDC_TX_SYN ? (uint16_t)(psn - p->start_psn) : 0;
	pds->offset = clear_offset(p, psn);
}

static void build_control(struct wire_pds *pds, uint8_t ctl)
{
	pds->type = WIRE_PDS_CP;
	pds->next_hdr = WIRE_NH_NONE;
	pds->ctl = ctl;
	pds->flags |= WIRE_F_AR;
	pds->offset = 0;
}

/* A full packet, neither the first nor the last of its message, between two that know each other over IPv4: it differs
 * from its neighbours in few fields. */
static inline bool is_middle(const struct weft_engine *e, const struct sent *s)
{
	return s->offset && s->payload_len == e->tune.payload_bytes && s->offset + s->payload_len != s->msg->bytes;
}

/* Whether such a packet's headers may be copied for others: later ones of its message are sent on the same connection,
 * or head_bytes is cleared. */
static bool is_template(const struct weft_engine *e, const struct pdc_tx *p, const struct sent *s)
{
	return s->msg && is_middle(e, s) && p->state == PDC_TX_OPEN && e->has_hot &&
	       e->request_type == WIRE_PDS_RUD_REQ;
}

static inline __attribute__((always_inline)) void build_middle(struct weft_engine *e, struct pdc_tx *p, uint32_t psn,
							       const struct sent *s, struct weft_pkt *pkt,
							       uint32_t head_bytes, weft_ns now)
{
	const struct tx_msg *m = s->msg;
	uint8_t *head = pkt->head; /* what is stored there might be anything to the compiler */
	uint16_t payload_len = s->payload_len;
	const struct wire_data_patch patch = {.flags = request_flags(e, p, psn, s),
					      .clear_offset = clear_offset(p, psn),
					      .psn = psn,
					      .entropy = s->ev,
					      .message_offset = s->offset};
	memcpy(head, m->head, head_bytes);
	if (head_bytes == HOT_DATA_BYTES)
		wire_patch_data(head, &patch);
	else
		wire_patch_read_data(head, &patch);
	pkt->payload = likely(m->buf != NULL) ? m->buf + patch.message_offset : NULL;
	pkt->payload_len = payload_len;
	engine_out_to(e, pkt, &p->ip, patch.entropy, e->data_dscp[p->background], WEFT_ECN_ECT0);
	engine_out_hot(e, pkt, head_bytes, 0, now);
}

static void __attribute__((noinline)) build_answer(struct weft_engine *e, struct pdc_tx *p, uint32_t psn,
						   const struct sent *s, struct weft_pkt *pkt, weft_ns now)
{
	build_middle(e, p, psn, s, pkt, HOT_ANSWER_BYTES, now);
}

static void __attribute__((noinline))
build_any(struct weft_engine *e, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt *w = &e->data_scratch;
	w->net.dst = p->ip;
	w->net.entropy = s->ev;
	w->pds.type = e->request_type;
	w->pds.next_hdr = WIRE_NH_STD;
	build_pds(e, p, psn, s, &w->pds);
	w->payload_bytes = s->payload_len;
	pkt->payload = NULL;
	pkt->payload_len = s->payload_len;
	w->net.dscp = e->data_dscp[p->background];
	w->net.ecn = WEFT_ECN_ECT0;
	if (e->rcc)
		credit_tx_fill(e, p, s, w, now);
	if (s->msg) {
		if (s->msg->rma)
			rma_tx_ses(s->msg, s, w);
		else
			msg_tx_ses(s->msg, s, &w->ses);
		pkt->payload = s->msg->buf ? s->msg->buf + s->offset : NULL;
	} else {
		build_control(&w->pds, sent_is_close(s) ? WIRE_CTL_CLOSE_CMD : WIRE_CTL_NOOP);
		w->net.dscp = WIRE_DSCP_CONTROL;
		w->net.ecn = WEFT_ECN_NOT;
	}
	engine_send(e, pkt, w, now);
	if (is_template(e, p, s) && (pkt->head_len == HOT_DATA_BYTES || pkt->head_len == HOT_ANSWER_BYTES)) {
		s->msg->head_bytes = (uint8_t)pkt->head_len;
		memcpy(s->msg->head, pkt->head, pkt->head_len);
	}
}

/* The packet of a record: the same bytes for the first and for every later transmission, but flags and entropy. */
static inline void build(struct weft_engine *e, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt,
			 weft_ns now)
{
	if (unlikely(!s->msg || !s->msg->head_bytes || !is_middle(e, s)))
		build_any(e, p, psn, s, pkt, now);
	else if (likely(s->msg->head_bytes == HOT_DATA_BYTES))
		build_middle(e, p, psn, s, pkt, HOT_DATA_BYTES, now);
	else
		build_answer(e, p, psn, s, pkt, now);
}

/* When the link will start on a packet handed over now. */
static weft_ns departure(const struct weft_engine *e, weft_ns now)
{
	return e->link_free_ns > now ? e->link_free_ns : now;
}

static void __attribute__((noinline)) arm_rto(struct weft_engine *e, struct pdc_tx *p, const struct sent *s)
{
	weft_ns rto_at = s->sent_at + loss_rto(e, p, s);
	if (rto_at < p->pdc.timer.at)
		wheel_set(&e->wheel, &p->pdc.timer, rto_at);
}

/* A packet that left late, because the link was busy or the poll came late, does not delay the next by as much: up to
 * one gap is caught up, or the pace would be missed by every such delay. */
static void __attribute__((noinline)) pace_conn(struct pdc_tx *p, uint32_t bytes, weft_ns now)
{
	weft_ns gap_ns = ((uint64_t)bytes * p->cc.pace + (1u << (PACE_SHIFT - 1))) >> PACE_SHIFT;
	weft_ns from_ns = p->pace_at_ns + gap_ns >= now ? p->pace_at_ns : now;
	p->pace_at_ns = from_ns + gap_ns;
}

static inline __attribute__((always_inline)) void transmit(struct weft_engine *e, struct pdc_tx *p, uint32_t psn,
							   struct sent *s, weft_ns now)
{
	struct weft_pkt *pkt = e->spare[--e->spare_count];
	const struct weft_cc_sent ev = {s->wire_bytes, p->inflight_bytes + s->wire_bytes};
	p->inflight_bytes = ev.inflight_bytes;
	if (unlikely(s->sent_at + e->rto_ns < p->pdc.timer.at)) /* no timeout is shorter */
		arm_rto(e, p, s);
	build(e, p, psn, s, pkt, now);
	if (e->cc->on_sent)
		e->cc->on_sent(&p->cc, &ev, now);
	if (p->cc.pace)
		pace_conn(p, ev.bytes, now);
	if (unlikely(e->trace.sent != NULL))
		e->trace.sent(e->trace.arg, &p->ip, psn, s->ev, s->tries != 0, now);
}

static bool __attribute__((noinline))
credit_allows(struct weft_engine *e, struct pdc_tx *p, uint32_t bytes, weft_ns now)
{
	if (credit_tx_allows(p, bytes))
		return true;
	credit_tx_blocked(e, p, now);
	return false;
}

static enum tx_result __attribute__((noinline)) send_lost(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	uint32_t psn = sendq_psn(&p->q, p->q.lost.head);
	struct sent *s = sendq_at(&p->q, psn);
	if (!cwnd_allows(p, s->wire_bytes) || (e->rcc && s->msg && !credit_allows(e, p, s->wire_bytes, now)))
		return TX_BLOCKED;
	s->ev = p->lb.ops->pick(&p->lb, psn, now);
	sendq_resend(&p->q, psn, departure(e, now));
	transmit(e, p, psn, s, now);
	if (s->msg)
		e->stats.tx_retx++;
	else
		e->stats.tx_ctrl++;
	return TX_SENT;
}

/* PSNs: what the target's window takes, and 12 bits of offset while it does not know us (UE 1.0 sec. 3.5). */
static bool psn_allows(const struct pdc_tx *p)
{
	return psn_diff(p->q.next, p->cack_psn) <= (int32_t)p->window_pkts &&
	       (likely(p->state != PDC_TX_SYN) || p->q.next - p->start_psn <= 4095);
}

/* A fenced message waits for all before it. Answers don't: what it waits for may need them. */
static bool __attribute__((noinline)) fence_allows(struct pdc_tx *p, const struct tx_msg *m)
{
	if (m->cut_bytes || m->unacked_pkts || p->msgs.next == &m->link)
		return true;
	if (!p->waiting)
		return false;
	msg_tx_take_turns(p);
	return true;
}

static enum tx_result send_new(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (unlikely(p->cutting->fenced) && !fence_allows(p, p->cutting))
		return TX_BLOCKED;
	struct tx_msg *m = p->cutting; /* fence_allows may let another one pass */
	uint16_t payload = msg_tx_room(e, m);
	uint32_t wire_bytes = e->overhead_bytes + payload;
	if (unlikely(!psn_allows(p) || !cwnd_allows(p, wire_bytes) ||
		     (e->rcc && !credit_allows(e, p, wire_bytes, now))))
		return TX_BLOCKED;
	if (unlikely(!sendq_reserve(&p->q, &e->sendq_mem))) {
		e->stats.alloc_fail++;
		return TX_SHORT;
	}
	if (unlikely(!sendq_len(&p->q)))
		p->last_heard_ns = now;
	uint32_t psn = p->q.next;
	uint16_t ev = p->lb.ops->pick(&p->lb, psn, now); /* before the record is at hand */
	struct sent *s = sendq_push(&p->q, departure(e, now));
	msg_tx_cut(p, m, s, payload);
	s->wire_bytes = (uint16_t)wire_bytes;
	s->ev = ev;
	transmit(e, p, psn, s, now);
	e->stats.tx_data++;
	return TX_SENT;
}

static enum tx_result send_one(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (unlikely(p->hold_until_ns > now || p->pace_at_ns > now))
		return TX_BLOCKED;
	if (unlikely(!has_pkt(e)))
		return TX_SHORT;
	if (unlikely(p->q.lost.count))
		return send_lost(e, p, now);
	/* Data behind a CLOSE_CMD could arrive before it; it waits for a new connection (pdc_tx_closed). */
	return likely(p->cutting && p->state != PDC_TX_CLOSING) ? send_new(e, p, now) : TX_BLOCKED;
}

static bool link_allows(const struct weft_engine *e, weft_ns now)
{
	return !e->link_pace || e->link_free_ns <= now + e->link_ahead_ns;
}

void engine_tx(struct weft_engine *e, weft_ns now)
{
	while (!list_empty(&e->ready) && e->out_count < ENGINE_OUT_DATA && link_allows(e, now)) {
		struct pdc_tx *p = list_entry(e->ready.next, struct pdc_tx, ready_link);
		enum tx_result r = send_one(e, p, now);
		bool alone = p->ready_link.next == &e->ready;
		if (r == TX_BLOCKED || !alone)
			list_del(&p->ready_link);
		if (r == TX_BLOCKED) {
			p->ready = false;
			pdc_tx_arm(e, p, now);
		} else if (!alone) {
			list_add_tail(&e->ready, &p->ready_link);
		}
		if (r == TX_SHORT) {
			e->short_of_pkts = true;
			return;
		}
	}
}

void engine_flush(struct weft_engine *e)
{
	if (!e->out_count)
		return;
	uint32_t taken = e->port->ops->tx(e->port, e->out, (uint16_t)e->out_count);
	if (taken < e->out_count)
		e->stats.tx_full++;
	for (uint32_t i = taken; i < e->out_count; i++)
		e->out[i - taken] = e->out[i];
	e->out_count -= taken;
	e->out_refused = e->out_count;
}

void engine_forget(struct weft_engine *e, const uint8_t *buf, uint32_t bytes)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < e->out_count; i++) {
		if (e->out[i]->payload >= buf && e->out[i]->payload < buf + bytes)
			e->port->ops->free(e->port, &e->out[i], 1);
		else
			e->out[kept++] = e->out[i];
	}
	e->out_count = kept;
	if (e->out_refused > kept)
		e->out_refused = kept;
}

weft_ns engine_tx_next(const struct weft_engine *e, weft_ns now)
{
	if (e->out_count)
		return now;
	if (e->short_of_pkts || e->short_of_mem)
		return now + ALLOC_RETRY_NS;
	if (list_empty(&e->ready))
		return WEFT_NEVER;
	if (link_allows(e, now))
		return now;
	return e->link_free_ns - e->link_ahead_ns;
}
