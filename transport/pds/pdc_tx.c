/* SPDX-License-Identifier: BSD-3-Clause */
/* Initiators: open (0-RTT), restart, close, give up; their one timer. */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

enum { ALIVE_ASKS = 4, SYN_TRIES_MAX = 5, START_PSN_GAP = 1 << 16 };

static void start_numbering(struct weft_engine *e, struct pdc_tx *p)
{
	p->start_psn += START_PSN_GAP + (uint32_t)(rng_next(&e->rng) >> 33);
	p->state = PDC_TX_SYN;
	p->remote_id = 0;
	p->next_message_id = 1;
	p->window_pkts = e->tune.window_pkts;
	p->cack_psn = p->start_psn - 1;
	p->last_ack_psn = p->start_psn - 1;
	p->rto_backoff = 0;
	p->clear_wanted = false;
	p->heard = false;
	credit_tx_start(e, p);
	sendq_init(&p->q, p->start_psn);
}

static void init_algorithms(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	p->cc.ops = e->cc;
	p->cc.params = &e->cc_params;
	e->cc->init(&p->cc, now);
	p->lb.ops->init(&p->lb, rng_next(&e->rng), now);
	if (p->lb.ops->towards)
		p->lb.ops->towards(&p->lb, weft_ip_low32(&p->ip));
}

static struct pdc_tx *pdc_tx_open(struct weft_engine *e, struct remote *remote, bool background, weft_ns now)
{
	const struct weft_lb lb = {background ? e->background_lb : e->lb,
				   background ? &e->background_lb_params : &e->lb_params};
	struct pdc_tx *p = weft_mem_alloc(&e->mem, pdc_tx_bytes(lb.ops, lb.params));
	if (!p)
		return NULL;
	if (!sched_tx_open(e, p) || !pdc_id_take(e, &p->pdc)) {
		sched_tx_close(e, p);
		weft_mem_free(&e->mem, p);
		return NULL;
	}
	wheel_node_init(&p->pdc.timer);
	list_init(&p->ready_link);
	list_init(&p->msgs);
	list_add_tail(&e->txs, &p->link);
	p->remote = remote;
	p->ip = remote->ip;
	p->background = background;
	p->lb = lb;
	remote->tx[background] = p;
	p->brtt_ns = e->cc_params.brtt_ns;
	p->probe_sent_ns = WEFT_NEVER;
	p->probed = e->tune.brtt_ns != 0;
	p->last_heard_ns = now;
	start_numbering(e, p);
	init_algorithms(e, p, now);
	e->stats.pdc_opened++;
	return p;
}

struct pdc_tx *pdc_tx_get(struct weft_engine *e, struct remote *remote, bool background, weft_ns now)
{
	return remote->tx[background] ? remote->tx[background] : pdc_tx_open(e, remote, background, now);
}

void pdc_tx_free(struct weft_engine *e, struct pdc_tx *p)
{
	p->remote->tx[p->background] = NULL;
	sendq_release(&p->q, &e->sendq_mem);
	wheel_cancel(&e->wheel, &p->pdc.timer);
	list_del(&p->ready_link);
	list_del(&p->link);
	pdc_id_put(e, &p->pdc);
	sched_tx_close(e, p);
	weft_mem_free(&e->mem, p);
}

/* Who waits for an answer of ours which will never come learns it when it asks whether we still know its connection. */
static void forget_asker(struct weft_engine *e, const struct tx_msg *m)
{
	if (e->destroying || !m->rma || m->rma->role != RMA_ANSWER)
		return;
	struct pdc_rx *asker = pdc_rx_by_id(e, m->rma->asked_on);
	if (asker && weft_ip_eq(&asker->ip, &m->rma->pdc->ip))
		pdc_rx_give_up(e, asker, e->now_ns);
}

void pdc_tx_fail(struct weft_engine *e, struct pdc_tx *p, int err)
{
	e->stats.pdc_failed++;
	p->cutting = p->waiting = NULL;
	while (!list_empty(&p->msgs)) {
		struct tx_msg *m = list_entry(p->msgs.next, struct tx_msg, link);
		forget_asker(e, m);
		msg_tx_drop(e, m, err);
	}
	pdc_tx_free(e, p);
}

/* A new PDCID and new PSNs; every message starts over. Only right while the target has delivered none of them. */
bool pdc_tx_restart(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (p->syn_tries++ >= SYN_TRIES_MAX)
		return false;
	pdc_id_put(e, &p->pdc);
	if (!pdc_id_take(e, &p->pdc))
		return false;
	sendq_release(&p->q, &e->sendq_mem);
	p->inflight_bytes = 0;
	start_numbering(e, p);
	list_for_each (l, &p->msgs) {
		struct tx_msg *m = list_entry(l, struct tx_msg, link);
		m->cut_bytes = m->unacked_pkts = 0;
		m->head_bytes = 0;
		m->cut = false;
		credit_tx_queued(e, p, m);
	}
	p->cutting = list_empty(&p->msgs) ? NULL : list_entry(p->msgs.next, struct tx_msg, link);
	p->waiting = p->cutting == p->answers ? NULL : p->answers;
	pdc_tx_ready(e, p);
	pdc_tx_arm(e, p, now);
	return true;
}

void pdc_tx_cp(struct weft_engine *e, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now)
{
	struct weft_pkt *pkt = engine_pkt(e);
	if (!pkt)
		return;
	struct wire_pkt *w = &e->ack_scratch;
	w->net.dst = p->ip;
	w->net.entropy = p->lb.ops->pick(&p->lb, p->q.next, now);
	w->pds = (struct wire_pds){.type = WIRE_PDS_CP,
				   .ctl = ctl,
				   .flags = ctl == WIRE_CTL_PROBE ? WIRE_F_AR : 0,
				   .opaque = opaque,
				   .spdcid = p->pdc.id,
				   .dpdcid = p->remote_id,
				   .payload = payload};
	if (p->state == PDC_TX_SYN) { /* a request for credit opens the connection */
		w->pds.flags |= WIRE_F_SYN;
		w->pds.psn = p->start_psn;
	} else if (ctl == WIRE_CTL_CREDIT_REQ && e->sched) {
		w->pds.psn = p->q.next; /* so that a refusal tells what it refuses, see nack_rx */
	}
	engine_send_control(e, pkt, now);
	e->stats.tx_ctrl++;
}

/* Queues a control packet with a PSN. False: no memory. */
static bool control_push(struct weft_engine *e, struct pdc_tx *p, enum sent_control kind, weft_ns now)
{
	if (!sendq_reserve(&p->q, &e->sendq_mem)) {
		e->stats.alloc_fail++;
		return false;
	}
	uint32_t psn = p->q.next;
	struct sent *s = sendq_push(&p->q, now);
	p->last_heard_ns = now;
	s->msg = NULL;
	s->offset = kind;
	s->payload_len = 0;
	s->wire_bytes = WEFT_WIRE_MIN_BYTES;
	/* It leaves through the scheduler like a retransmission: one way for packets to get out. */
	s->sent_at = WEFT_NEVER;
	sendq_lose(&p->q, psn);
	pdc_tx_ready(e, p);
	return true;
}

static void close_start(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (p->state != PDC_TX_OPEN)
		return;
	if (control_push(e, p, SENT_CLOSE, now))
		p->state = PDC_TX_CLOSING;
	else
		p->idle_since_ns = now; /* close_deadline() brings us back */
}

void pdc_tx_idle(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	sendq_release(&p->q, &e->sendq_mem);
	p->idle_since_ns = now;
	p->rto_backoff = 0;
	p->heard = false;
	credit_tx_idle(e, p);
	if (e->shutting_down)
		close_start(e, p, now);
	pdc_tx_arm(e, p, now);
}

void pdc_tx_shutdown(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (sendq_len(&p->q) || !list_empty(&p->msgs))
		return; /* pdc_tx_idle closes it later */
	if (p->state == PDC_TX_SYN) {
		pdc_tx_free(e, p);
		return;
	}
	close_start(e, p, now);
	pdc_tx_arm(e, p, now);
}

void pdc_tx_settle(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	pdc_tx_ready(e, p); /* a fence may have fallen */
	if (!sendq_len(&p->q) && list_empty(&p->msgs))
		pdc_tx_idle(e, p, now);
}

void pdc_tx_closed(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	e->stats.pdc_closed++;
	if (!list_empty(&p->msgs) && pdc_tx_restart(e, p, now))
		return;
	if (list_empty(&p->msgs))
		pdc_tx_free(e, p);
	else
		pdc_tx_fail(e, p, ENOMEM);
}

static bool is_idle(const struct pdc_tx *p)
{
	return !sendq_len(&p->q) && list_empty(&p->msgs);
}

static weft_ns earliest(weft_ns a, weft_ns b)
{
	return a < b ? a : b;
}

static weft_ns close_deadline(const struct weft_engine *e, const struct pdc_tx *p)
{
	if (p->state != PDC_TX_OPEN || !is_idle(p))
		return WEFT_NEVER;
	if (e->shutting_down)
		return p->idle_since_ns + e->rto_ns;
	return e->tune.idle_close_ns ? p->idle_since_ns + e->tune.idle_close_ns : WEFT_NEVER;
}

/* Nothing is on its way, but an answer is due: is the target still there? */
static weft_ns ask_alive_deadline(const struct weft_engine *e, const struct pdc_tx *p)
{
	if (!p->awaiting || sendq_len(&p->q) || p->state != PDC_TX_OPEN)
		return WEFT_NEVER;
	return p->last_heard_ns + e->tune.peer_timeout_ns / ALIVE_ASKS;
}

/* Data that was never sent, for want of credit or because the port takes nothing, does not wait for ever either. */
static weft_ns silence_deadline(const struct weft_engine *e, const struct pdc_tx *p)
{
	return sendq_len(&p->q) || p->cutting ? p->last_heard_ns + e->tune.peer_timeout_ns : WEFT_NEVER;
}

void pdc_tx_wanted(struct weft_engine *e, struct pdc_tx *p)
{
	if (!is_idle(p))
		return;
	p->last_heard_ns = e->now_ns;
	weft_ns at = e->now_ns + e->tune.peer_timeout_ns;
	if (at < p->pdc.timer.at)
		wheel_set(&e->wheel, &p->pdc.timer, at);
}

static weft_ns deadline(const struct weft_engine *e, const struct pdc_tx *p, weft_ns now)
{
	weft_ns at = loss_deadline(e, p);
	if (p->hold_until_ns > now)
		at = earliest(at, p->hold_until_ns);
	if (p->pace_at_ns > now && (p->cutting || p->q.lost.count))
		at = earliest(at, p->pace_at_ns);
	at = earliest(at, p->credit.ask_at_ns);
	if (p->probe_sent_ns != WEFT_NEVER)
		at = earliest(at, p->probe_sent_ns + e->rto_ns);
	weft_ns silent_at = silence_deadline(e, p);
	at = earliest(at, silent_at > e->grace_ns ? silent_at : e->grace_ns);
	at = earliest(at, ask_alive_deadline(e, p));
	return earliest(at, close_deadline(e, p));
}

void pdc_tx_arm(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	weft_ns at = deadline(e, p, now);
	if (at < p->pdc.timer.at)
		wheel_set(&e->wheel, &p->pdc.timer, at);
}

/* The timer may be earlier than anything due (deadlines only move later without touching it); then it is set again. */
void pdc_tx_timer(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (now < e->grace_ns) {
		e->stats.late_polls += p->q.inflight.count != 0;
		e->put_off |= p->q.inflight.count != 0 || now >= silence_deadline(e, p);
	} else {
		e->put_off = false;
		loss_by_timeout(e, p, now);
		if (now >= silence_deadline(e, p)) {
			pdc_tx_fail(e, p, ETIMEDOUT);
			return;
		}
	}
	if (now >= p->credit.ask_at_ns)
		credit_tx_timer(e, p, now);
	if (p->probe_sent_ns != WEFT_NEVER && now >= p->probe_sent_ns + e->rto_ns)
		p->probe_sent_ns = WEFT_NEVER; /* lost: the next ACK asks again */
	if (now >= close_deadline(e, p))
		close_start(e, p, now);
	if (now >= ask_alive_deadline(e, p) && !control_push(e, p, SENT_NOOP, now))
		p->last_heard_ns = now; /* later */
	pdc_tx_ready(e, p);
	pdc_tx_arm(e, p, now);
}
