/* SPDX-License-Identifier: BSD-3-Clause */
/* Transmission: a fair scheduler over connections, and packet building. */
#include "tx_sched.h"

#include <errno.h>
#include <string.h>

#include "credit_tx.h"
#include "ready.h"
#include "record.h"
#include "rto.h"
#include "run_queue.h"
#include "tx_timer.h"
#include "wire_build.h"
#include "withdraw.h"

enum tx_result { TX_SENT, TX_BLOCKED, TX_SHORT };

/* The window, in bytes; one packet may always go. */
static bool cwnd_allows(const struct pdc_tx *p, uint32_t bytes)
{
	return p->inflight_bytes + bytes <= p->cc.cwnd_bytes || !p->inflight_bytes;
}

/* acks_per_window: every n-th packet asks, n the largest power of two that gives so many ACKs. Small windows live on
 * news of every packet, large ones can do with fewer. */
static bool wants_sample(const struct pds *pds, const struct pdc_tx *p, uint32_t psn)
{
	uint32_t step = p->cc.cwnd_bytes >> pds->conf.ask_shift;
	return pds->conf.ask_shift && (step < 2 || !(psn & (UINT32_MAX >> (__builtin_clz(step) + 1))));
}

/* AR: nothing may follow soon that would make a coalescing target answer. A full window is no reason while it holds
 * enough packets for that: asking then would cut later ACKs into ever smaller pieces. */
static bool wants_answer(const struct pds *pds, const struct pdc_tx *p, uint32_t psn, const struct sent *s)
{
	uint32_t cwnd_bytes = p->cc.cwnd_bytes;
	return s->tries || !p->cutting || wants_sample(pds, p, psn) ||
	       (cwnd_bytes < p->inflight_bytes + pds->conf.full_wire_bytes && cwnd_bytes < pds->conf.ask_below_bytes);
}

/* But SYN. */
static uint8_t request_flags(const struct pds *pds, const struct pdc_tx *p, uint32_t psn, const struct sent *s)
{
	return (uint8_t)((s->tries ? WIRE_F_RETX : 0) | (wants_answer(pds, p, psn, s) ? WIRE_F_AR : 0));
}

/* The target may forget the responses of everything before `una`. */
static int16_t clear_offset(const struct pdc_tx *p, uint32_t psn)
{
	return (int16_t)(p->q.una - 1 - psn);
}

/* What says where a request, or a control packet with a PSN, belongs. */
static void build_ids(const struct pdc_tx *p, uint32_t psn, struct wire_hdr *h)
{
	wire_hdr_set_psn(h, psn);
	wire_hdr_set_spdcid(h, p->pdc.id);
	if (p->state == PDC_TX_SYN)
		wire_hdr_set_psn_offset(h, (uint16_t)(psn - p->start_psn));
	else
		wire_hdr_set_dpdcid(h, p->remote_id);
}

/* A full packet, neither the first nor the last of its message, between two that know each other over IPv4: it differs
 * from its neighbours in few fields. */
static inline bool is_middle(const struct pdc_tx *p, const struct sent *s)
{
	return s->offset && s->payload_len == p->pdc.payload_bytes && s->offset + s->payload_len != s->run->bytes;
}

/* Whether such a packet's headers may be copied for others: later ones of its message are sent on the same connection,
 * or head_bytes is cleared. */
static bool is_template(const struct pds *pds, const struct pdc_tx *p, const struct sent *s)
{
	return s->run && !s->run->special && is_middle(p, s) && p->state == PDC_TX_OPEN && pds->conf.has_templates &&
	       !p->pdc.encap && pds->conf.request_type == WIRE_PDS_RUD_REQ;
}

static inline __attribute__((always_inline)) void build_middle(struct pds *pds, struct pdc_tx *p, uint32_t psn,
							       const struct sent *s, struct weft_pkt *pkt,
							       uint32_t head_bytes, weft_ns now)
{
	const struct tx_run *run = s->run;
	uint8_t *head = pkt->head; /* what is stored there might be anything to the compiler */
	uint16_t payload_len = s->payload_len;
	const struct wire_data_patch patch = {.flags = request_flags(pds, p, psn, s),
					      .clear_offset = clear_offset(p, psn),
					      .psn = psn,
					      .entropy = s->ev,
					      .message_offset = s->offset};
	memcpy(head, run->head, head_bytes);
	if (head_bytes == WIRE_DATA_BYTES)
		wire_patch_data(head, &patch);
	else
		wire_patch_read_data(head, &patch);
	pkt->payload = likely(run->buf != NULL) ? run->buf + patch.message_offset : NULL;
	pkt->payload_len = payload_len;
	out_address(&pds->out, pkt, &p->ip, patch.entropy, pds->conf.data_dscp[p->background], WEFT_ECN_ECT0);
	out_add(&pds->out, pkt, head_bytes, 0, 0, now);
}

static void __attribute__((noinline))
build_answer(struct pds *pds, struct pdc_tx *p, uint32_t psn, const struct sent *s, struct weft_pkt *pkt, weft_ns now)
{
	build_middle(pds, p, psn, s, pkt, WIRE_READ_DATA_BYTES, now);
}

/* CLOSE_CMD or NOOP, which take a PSN. */
static void build_control(struct pds *pds, struct pdc_tx *p, uint32_t psn, const struct sent *s, struct weft_pkt *pkt,
			  uint8_t flags, weft_ns now)
{
	uint8_t *h = out_pds(&pds->out, pkt, p->pdc.encap), ctl = sent_is_close(s) ? WIRE_CTL_CLOSE_CMD : WIRE_CTL_NOOP;
	const uint8_t *end = wire_build_pds(h, WIRE_PDS_CP, ctl, flags | WIRE_F_AR);
	build_ids(p, psn, (struct wire_hdr *)h);
	out_send_control(&pds->out, pkt, pdc_tx_way(p, s->ev), end, now);
}

static void build_data(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt,
		       uint8_t flags, weft_ns now)
{
	struct wire_net net =
		out_net(&pds->out, pdc_tx_way(p, s->ev), pds->conf.data_dscp[p->background], WEFT_ECN_ECT0);
	struct wire_request_cc *r = (struct wire_request_cc *)out_pds(&pds->out, pkt, p->pdc.encap);
	uint8_t next_hdr, *ses = wire_build_pds((uint8_t *)r, pds->conf.request_type, WIRE_NH_NONE, flags);
	build_ids(p, psn, &r->hdr);
	wire_hdr_set_clear_offset(&r->hdr, clear_offset(p, psn));
	if (pds->credit.rcc)
		credit_tx_fill(pds, p, s, &net, r, now);
	const uint8_t *end = pds->events->next_segment(p, s->run, s, ses, &next_hdr);
	wire_hdr_set_next_hdr(&r->hdr, next_hdr);
	pkt->payload = s->run->buf ? s->run->buf + s->offset : NULL;
	pkt->payload_len = s->payload_len;
	out_send(&pds->out, pkt, &net, end, now);
}

static void __attribute__((noinline))
build_any(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt, weft_ns now)
{
	uint8_t flags = request_flags(pds, p, psn, s) | (p->state == PDC_TX_SYN ? WIRE_F_SYN : 0);
	if (!s->run) {
		build_control(pds, p, psn, s, pkt, flags, now);
		return;
	}
	build_data(pds, p, psn, s, pkt, flags, now);
	if (is_template(pds, p, s) && (pkt->head_len == WIRE_DATA_BYTES || pkt->head_len == WIRE_READ_DATA_BYTES)) {
		s->run->head_bytes = (uint8_t)pkt->head_len;
		memcpy(s->run->head, pkt->head, pkt->head_len);
	}
}

/* The packet of a record: the same bytes for the first and for every later transmission, but flags and entropy. */
static inline void build(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt,
			 weft_ns now)
{
	if (unlikely(!s->run || !s->run->head_bytes || !is_middle(p, s)))
		build_any(pds, p, psn, s, pkt, now);
	else if (likely(s->run->head_bytes == WIRE_DATA_BYTES))
		build_middle(pds, p, psn, s, pkt, WIRE_DATA_BYTES, now);
	else
		build_answer(pds, p, psn, s, pkt, now);
}

static void __attribute__((noinline)) arm_rto(struct pds *pds, struct pdc_tx *p, const struct sent *s)
{
	weft_ns rto_at = s->sent_at + rto_of(&pds->conf, p, s);
	if (rto_at < p->pdc.timer.at)
		wheel_set(&pds->timers.wheel, &p->pdc.timer, rto_at);
}

/* A packet that left late, because the link was busy or the poll came late, does not delay the next by as much: up to
 * one gap is caught up, or the pace would be missed by every such delay. */
static void __attribute__((noinline)) pace_conn(struct pdc_tx *p, uint32_t bytes, weft_ns now)
{
	weft_ns gap_ns = ((uint64_t)bytes * p->cc.pace + (1u << (PACE_SHIFT - 1))) >> PACE_SHIFT;
	weft_ns from_ns = p->pace_at_ns + gap_ns >= now ? p->pace_at_ns : now;
	p->pace_at_ns = from_ns + gap_ns;
}

/* In place of a packet that is too large for the path: any request that its target refuses, and that is short. */
static void build_withdrawal(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt,
			     weft_ns now)
{
	struct wire_net net = out_net(&pds->out, pdc_tx_way(p, s->ev), WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	struct wire_request_cc *r = (struct wire_request_cc *)out_pds(&pds->out, pkt, p->pdc.encap);
	uint8_t *ses = wire_build_pds((uint8_t *)r, pds->conf.request_type, WIRE_NH_STD, WIRE_F_RETX | WIRE_F_AR);
	const uint8_t *end =
		wire_build_ses(ses, WIRE_NH_STD, WIRE_OP_WITHDRAW, WIRE_SES_REL | WIRE_SES_SOM | WIRE_SES_EOM);
	build_ids(p, psn, &r->hdr);
	wire_hdr_set_clear_offset(&r->hdr, clear_offset(p, psn));
	if (pds->credit.rcc)
		credit_tx_fill(pds, p, s, &net, r, now);
	wire_std_set_message_id((struct wire_std *)ses, 1); /* of no message in particular, but not 0 */
	wire_req_set_job_id(&((struct wire_std *)ses)->req, pds->conf.tune.job_id);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	out_send(&pds->out, pkt, &net, end, now);
}

typedef void (*build_fn)(struct pds *pds, struct pdc_tx *p, uint32_t psn, struct sent *s, struct weft_pkt *pkt,
			 weft_ns now);

/* `build` and `again` are constants to the compiler. */
static inline __attribute__((always_inline)) void transmit(struct pds *pds, struct pdc_tx *p, uint32_t psn,
							   struct sent *s, build_fn build, bool again, weft_ns now)
{
	struct weft_pkt *pkt = out_take(&pds->out);
	const struct weft_cc_sent ev = {s->wire_bytes, p->inflight_bytes + s->wire_bytes};
	p->inflight_bytes = ev.inflight_bytes;
	if (unlikely(s->sent_at + pds->conf.rto_ns < p->pdc.timer.at)) /* no timeout is shorter */
		arm_rto(pds, p, s);
	build(pds, p, psn, s, pkt, now);
	if (is_recorded(pds))
		record_sent(pds, p, psn, s, again, now);
	if (p->cc.ops->on_sent)
		p->cc.ops->on_sent(&p->cc, &ev, now);
	if (p->cc.pace)
		pace_conn(p, ev.bytes, now);
}

/* Credit for a packet of so many bytes, or asks for some. */
static bool __attribute__((noinline)) draw_credit(struct pds *pds, struct pdc_tx *p, uint32_t bytes, weft_ns now)
{
	if (credit_tx_draw(p, bytes))
		return true;
	credit_tx_blocked(pds, p, now);
	return false;
}

/* Targets keep few refusals, and none of those that wait behind one may be cleared before it. */
static bool may_withdraw(const struct pdc_tx *p)
{
	return p->q.inflight.count < RXWIN_GTD_MAX - 1;
}

/* What was numbered in place of something withdrawn may be beyond the window; then so is all behind it. */
static bool may_send_again(const struct pdc_tx *p, uint32_t psn, const struct sent *s)
{
	if (sent_is_withdrawn(s) && !may_withdraw(p))
		return false;
	return s->sent_at != WEFT_NEVER || psn_diff(psn, p->cack_psn) <= (int32_t)p->window_pkts;
}

static bool is_too_large(const struct pdc_tx *p, const struct sent *s)
{
	return s->run && s->payload_len > p->pdc.payload_bytes;
}

/* Refusals are cleared in the order of PSNs: nothing is withdrawn before the oldest packet, or there would be no place
 * for its refusal. */
static uint32_t next_lost(const struct pdc_tx *p)
{
	uint32_t psn = sendq_psn(&p->q, p->q.lost.head);
	bool oldest_first = is_too_large(p, sendq_at(&p->q, psn)) && sent_is_lost(sendq_at(&p->q, p->q.una));
	return oldest_first ? p->q.una : psn;
}

/* Packets that are sent again are counted by why when they are, so that the counters add up. */
static uint64_t *cause_counter(struct weft_stats *stats, const struct sent *s)
{
	switch (sent_cause(s)) {
	case CAUSE_TRIM:
		return &stats->tx_retx_trim;
	case CAUSE_GAP:
		return &stats->tx_retx_gap;
	case CAUSE_RTO:
		return &stats->tx_retx_rto;
	case CAUSE_PATH:
		return &stats->tx_retx_path;
	case CAUSE_REWIND:
		return &stats->tx_retx_rewind;
	default:
		return &stats->tx_retx_nack;
	}
}

static enum tx_result __attribute__((noinline)) send_lost(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	uint32_t psn = next_lost(p);
	struct sent *s = sendq_at(&p->q, psn);
	if (is_too_large(p, s) && !sent_is_withdrawn(s))
		withdraw(pds, s);
	if (!may_send_again(p, psn, s) || !cwnd_allows(p, s->wire_bytes) ||
	    (pds->credit.rcc && s->run && !draw_credit(pds, p, s->wire_bytes, now)))
		return TX_BLOCKED;
	uint64_t *cause = cause_counter(&pds->stats, s);
	s->ev = p->lb.ops->pick(&p->lb, psn, now);
	sendq_resend(&p->q, psn, out_departure(&pds->out, now));
	if (sent_is_withdrawn(s)) {
		transmit(pds, p, psn, s, build_withdrawal, true, now);
		pds->stats.tx_withdrawn++;
	} else {
		transmit(pds, p, psn, s, build, true, now);
		pds->stats.tx_retx += s->run != NULL;
		*cause += s->run != NULL;
		p->remote->retx_pkts += s->run != NULL;
		pds->stats.tx_ctrl += s->run == NULL;
	}
	return TX_SENT;
}

/* PSNs: what the target's window takes, and 12 bits of offset while it does not know us (UE 1.0 sec. 3.5). */
static bool psn_allows(const struct pdc_tx *p)
{
	return psn_diff(p->q.nxt, p->cack_psn) <= (int32_t)p->window_pkts &&
	       (likely(p->state != PDC_TX_SYN) || p->q.nxt - p->start_psn <= 4095);
}

/* A fenced run waits for all before it, but not for those that went ahead of it: they are no operations. */
static bool fence_allows(const struct pdc_tx *p, const struct tx_run *run)
{
	const struct tx_run *first = list_entry(p->runs.next, struct tx_run, link);
	while (first != run && first->ahead)
		first = run_queue_next(p, first);
	return run->cut_bytes || run->unacked_pkts || first == run;
}

/* Runs never interleave with each other on a connection. `bytes`: of the run, `payload` of them in the packet. */
static inline void cut(struct pdc_tx *p, struct tx_run *run, struct sent *s, uint32_t bytes, uint16_t payload)
{
	s->run = run;
	s->offset = run->cut_bytes;
	s->payload_len = payload;
	run->cut_bytes += bytes;
	run->unacked_pkts++;
	assert(!run->cut && run->cut_bytes <= run->bytes);
	if (unlikely(run->cut_bytes >= run->bytes)) {
		run->cut = true;
		p->cutting = run_queue_next(p, run);
	}
}

static inline __attribute__((always_inline)) enum tx_result
send_piece(struct pds *pds, struct pdc_tx *p, struct tx_run *run, uint32_t bytes, uint16_t payload, weft_ns now)
{
	uint32_t wire_bytes = pds->conf.overhead_bytes + payload;
	if (unlikely(!psn_allows(p) || !cwnd_allows(p, wire_bytes) ||
		     (pds->credit.rcc && !draw_credit(pds, p, wire_bytes, now))))
		return TX_BLOCKED;
	if (unlikely(!sendq_reserve(&p->q, &pds->sendq_mem))) {
		pds->stats.alloc_fail++;
		return TX_SHORT;
	}
	if (unlikely(!sendq_len(&p->q)))
		p->last_heard_ns = now;
	uint32_t psn = p->q.nxt;
	uint16_t ev = p->lb.ops->pick(&p->lb, psn, now); /* before the record is at hand */
	struct sent *s = sendq_add(&p->q, out_departure(&pds->out, now));
	cut(p, run, s, bytes, payload);
	s->wire_bytes = (uint16_t)wire_bytes;
	s->ev = ev;
	transmit(pds, p, psn, s, build, false, now);
	pds->stats.tx_data++;
	return TX_SENT;
}

static inline uint16_t next_payload(const struct pdc_tx *p, const struct tx_run *run)
{
	uint32_t left = run->bytes - run->cut_bytes;
	return (uint16_t)(left < p->pdc.payload_bytes ? left : p->pdc.payload_bytes);
}

static enum tx_result __attribute__((noinline)) send_special(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct tx_run *run = p->cutting;
	uint32_t left = run->bytes - run->cut_bytes;
	uint16_t payload = run->ask_bytes ? 0 : next_payload(p, run);
	if (run->fenced && !fence_allows(p, run))
		return TX_BLOCKED;
	return send_piece(pds, p, run,
			  !run->ask_bytes         ? payload
			  : left < run->ask_bytes ? left
						  : run->ask_bytes,
			  payload, now);
}

static enum tx_result send_new(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct tx_run *run = p->cutting;
	if (unlikely(run->special))
		return send_special(pds, p, now);
	uint16_t payload = next_payload(p, run);
	return send_piece(pds, p, run, payload, payload, now);
}

/* Of packets that were given to the port. */
static uint8_t sent_waits(const struct pds *pds, const struct pdc_tx *p)
{
	const struct weft_port *port = pds->out.port;
	struct weft_ip next_hop;
	int rc = port->ops->reach ? port->ops->reach(port, &p->ip, &next_hop) : 0;
	if (rc == -ENETUNREACH)
		return WEFT_WAIT_ROUTE;
	return rc ? WEFT_WAIT_ADDRESS : WEFT_WAIT_ACK;
}

/* Of the run that is cut next. Silence says more than a window that it has filled. */
static uint8_t next_waits(const struct pds *pds, const struct pdc_tx *p, const struct tx_run *run, weft_ns now)
{
	uint32_t wire_bytes = pds->conf.overhead_bytes + (run->ask_bytes ? 0 : next_payload(p, run));
	if (p->rto_backoff)
		return sent_waits(pds, p);
	if (p->state == PDC_TX_CLOSING)
		return WEFT_WAIT_CLOSE;
	if (p->hold_until_ns > now)
		return WEFT_WAIT_RESOURCES;
	if (run->fenced && !fence_allows(p, run))
		return WEFT_WAIT_FENCE;
	if (!cwnd_allows(p, wire_bytes))
		return WEFT_WAIT_CWND;
	if (!psn_allows(p))
		return WEFT_WAIT_WINDOW;
	if (p->pace_at_ns > now)
		return WEFT_WAIT_PACE;
	return pds->credit.rcc && !p->ready ? WEFT_WAIT_CREDIT : WEFT_WAIT_PORT;
}

uint8_t pds_run_waits(const struct pds *pds, const struct pdc_tx *p, const struct tx_run *run, weft_ns now)
{
	if (p->cutting == run)
		return next_waits(pds, p, run, now);
	return run->cut || run->cut_bytes || run->unacked_pkts ? sent_waits(pds, p) : WEFT_WAIT_TURN;
}

static enum tx_result send_one(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (unlikely(p->hold_until_ns > now || p->pace_at_ns > now))
		return TX_BLOCKED;
	if (unlikely(!out_reserve(&pds->out)))
		return TX_SHORT;
	if (unlikely(p->q.lost.count))
		return send_lost(pds, p, now);
	/* Data behind a CLOSE_CMD could arrive before it; it waits for a new connection (pdc_tx.c). */
	return likely(p->cutting && p->state != PDC_TX_CLOSING) ? send_new(pds, p, now) : TX_BLOCKED;
}

void tx_sched_run(struct pds *pds, weft_ns now)
{
	while (!list_empty(&pds->ready) && pds_has_room(pds) && out_link_allows(&pds->out, now)) {
		struct pdc_tx *p = list_entry(pds->ready.next, struct pdc_tx, ready_link);
		assert(p->ready);
		enum tx_result r = send_one(pds, p, now);
		bool alone = p->ready_link.next == &pds->ready;
		if (r == TX_BLOCKED || !alone)
			list_del(&p->ready_link);
		if (r == TX_BLOCKED) {
			p->ready = false;
			tx_timer_arm(pds, p, now);
		} else if (!alone) {
			list_add_tail(&pds->ready, &p->ready_link);
		}
		if (r == TX_SHORT) {
			pds->out.short_of_pkts = true;
			return;
		}
	}
}
