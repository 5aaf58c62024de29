/* SPDX-License-Identifier: BSD-3-Clause */
/* Initiators: open (0-RTT), restart, close, give up; their one timer. And targets, as far as they send: the return
 * direction of a connection lives as long as its forward direction, which alone opens, restarts and closes. */
#include "pdc_tx.h"

#include <errno.h>

#include "credit_tx.h"
#include "ctl_tx.h"
#include "ev_probe.h"
#include "loss.h"
#include "ready.h"
#include "record.h"
#include "rto.h"
#include "run_queue.h"
#include "rx_drop.h"
#include "tx_timer.h"
#include "way.h"

enum { SYN_TRIES_MAX = 5, START_PSN_GAP = 1 << 16 };

/* PSNs that a target takes before it has said how many: of other endpoints some take no more. */
static uint32_t first_window(const struct pds *pds)
{
	enum { LEAST_PKTS = 128 };
	return pds_window(pds, pds->conf.tune.profile == WEFT_PROFILE_WEFT ? pds->win.window_pkts : LEAST_PKTS);
}

/* A trailer nobody has asked for may be too much for the port. */
static uint32_t first_payload(const struct pds *pds, uint8_t encap)
{
	uint32_t most = pds->out.port->max_ip_bytes - pds_ip_bytes(pds, encap);
	return pds->conf.sure_bytes < most ? pds->conf.sure_bytes : most;
}

static void number_from(struct pds *pds, struct pdc_tx *p, uint32_t start_psn)
{
	assert(!p->q.ring && !p->inflight_bytes);
	p->start_psn = start_psn;
	p->state = PDC_TX_SYN;
	p->remote_id = 0;
	p->user = 0;
	p->window_pkts = first_window(pds);
	p->pdc.encap = p->pdc.is_return ? p->other->pdc.encap : p->remote->encap;
	p->pdc.payload_bytes = (uint16_t)first_payload(pds, p->pdc.encap);
	p->chores |= pds->conf.tune.pmtu_discovery ? CHORE_PATH : 0;
	p->chores |= pds->conf.tune.profile != WEFT_PROFILE_WEFT && !p->pdc.is_return ? CHORE_OFFER : 0;
	p->cack_psn = p->start_psn - 1;
	p->last_ack_psn = p->start_psn - 1;
	p->rto_backoff = 0;
	p->clear_wanted = p->probes_refused = p->speaks_weft = false;
	p->close_wanted = p->apart;
	p->heard = false;
	credit_tx_start(pds, p);
	sendq_init(&p->q, p->start_psn);
}

static void start_numbering(struct pds *pds, struct pdc_tx *p)
{
	number_from(pds, p, p->start_psn + START_PSN_GAP + (uint32_t)(pds_unguessable(pds) >> 33));
}

static void init_algorithms(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	p->cc.ops = pds->conf.cc;
	p->cc.params = &pds->conf.cc_params;
	if (pds->conf.tune.probe_rate != RATE_TOLD)
		rate_open(&pds->rate, &p->cc, now);
	else
		pds->conf.cc->init(&p->cc, now);
	p->lb.ops->init(&p->lb, rng_next(&pds->rng), now);
	if (p->lb.ops->towards)
		p->lb.ops->towards(&p->lb, weft_ip_low32(&p->ip));
}

/* Without PDCID, PSNs and algorithms so far. */
static struct pdc_tx *new_tx(struct pds *pds, struct remote *remote, bool background, weft_ns now)
{
	const struct weft_lb lb = {background ? pds->conf.background_lb : pds->conf.lb,
				   background ? &pds->conf.background_lb_params : &pds->conf.lb_params};
	struct pdc_tx *p = weft_mem_alloc(&pds->mem, pdc_tx_bytes(lb.ops, lb.params));
	if (!p)
		return NULL;
	if (!credit_tx_open(pds, p)) {
		weft_mem_free(&pds->mem, p);
		return NULL;
	}
	wheel_node_init(&p->pdc.timer);
	list_init(&p->ready_link);
	list_init(&p->runs);
	list_add_tail(&pds->txs, &p->link);
	p->next_conn = remote->conns;
	remote->conns = p;
	p->remote = remote;
	p->ip = remote->ip;
	p->background = background;
	p->lb = lb;
	p->brtt_ns = pds->conf.cc_params.brtt_ns;
	p->max_rtt_ns[0] = (uint32_t)(pds->conf.first_rto_ns / 2); /* until two periods of samples have passed */
	rto_brtt_window_start(p, now);
	p->probe_sent_ns = WEFT_NEVER;
	p->chores |= pds->conf.tune.brtt_ns ? 0 : CHORE_BRTT;
	p->last_heard_ns = now;
	return p;
}

static void set_busy(struct pds *pds, struct pdc_tx *p, bool busy)
{
	pds->busy_conns += (uint32_t)busy - p->busy;
	p->busy = busy;
}

static void delete_tx(struct pds *pds, struct pdc_tx *p)
{
	set_busy(pds, p, false);
	struct pdc_tx **at = &p->remote->conns;
	while (*at != p)
		at = &(*at)->next_conn;
	*at = p->next_conn;
	list_del(&p->link);
	credit_tx_close(pds, p);
	weft_mem_free(&pds->mem, p);
}

static struct pdc_tx *open_tx(struct pds *pds, struct remote *remote, bool background, bool apart, weft_ns now)
{
	struct pdc_tx *p = new_tx(pds, remote, background, now);
	if (!p)
		return NULL;
	if (!pdc_id_take(&pds->ids, &p->pdc)) {
		delete_tx(pds, p);
		return NULL;
	}
	p->apart = apart;
	start_numbering(pds, p);
	init_algorithms(pds, p, now);
	pds->stats.pdc_opened++;
	record_opened(pds, &p->pdc, &p->ip, false, now);
	return p;
}

struct pdc_tx *pdc_tx_get(struct pds *pds, struct remote *remote, bool background, weft_ns now)
{
	if (!remote->tx[background])
		remote->tx[background] = open_tx(pds, remote, background, false, now);
	return remote->tx[background];
}

struct pdc_tx *pdc_tx_apart(struct pds *pds, struct remote *remote, bool background, weft_ns now)
{
	return open_tx(pds, remote, background, true, now);
}

/* The initiator knows both PDCIDs, so the first packet needs no SYN; PSNs begin where those of the forward direction
 * did (UE 1.0 sec. 3.5). */
static void open_return(struct pds *pds, struct pdc_tx *p, struct pdc_rx *rx, weft_ns now)
{
	p->pdc.id = rx->pdc.id;
	p->pdc.is_return = true;
	p->other = rx;
	rx->other = p;
	number_from(pds, p, rx->start_psn);
	p->state = PDC_TX_OPEN;
	p->remote_id = rx->remote_id;
	init_algorithms(pds, p, now);
}

struct pdc_tx *pdc_tx_return(struct pds *pds, struct pdc_rx *rx, weft_ns now)
{
	assert(!rx->pdc.is_return);
	if (rx->other)
		return rx->other;
	struct remote *remote = rx->closed ? NULL : pds_remote(pds, &rx->ip);
	struct pdc_tx *p = remote ? new_tx(pds, remote, false, now) : NULL;
	if (p)
		open_return(pds, p, rx, now);
	return p;
}

/* Of a connection of ours: nothing is kept of what its target sent. */
static void drop_return(struct pds *pds, struct pdc_tx *p)
{
	struct pdc_rx *rx = p->other;
	p->other = NULL;
	if (rx)
		rx_drop(pds, rx, rx->last_heard_ns);
}

void pdc_tx_free(struct pds *pds, struct pdc_tx *p)
{
	assert(list_empty(&p->runs) && !p->awaiting && !p->held);
	sendq_release(&p->q, &pds->sendq_mem);
	wheel_cancel(&pds->timers.wheel, &p->pdc.timer);
	list_del(&p->ready_link);
	if (!p->pdc.is_return) {
		if (!p->apart) {
			assert(p->remote->tx[p->background] == p);
			p->remote->tx[p->background] = NULL;
		}
		drop_return(pds, p);
		pdc_id_put(&pds->ids, &p->pdc);
	}
	delete_tx(pds, p);
}

/* What it has to send ends with an error. Frees p, which is counted and recorded. */
static void give_up(struct pds *pds, struct pdc_tx *p, int err)
{
	p->cutting = NULL;
	if (p->pdc.is_return && p->other)
		p->other->other = NULL; /* and ours stays: SES may want to tell who asked */
	pds->events->on_failed(pds->ses, p, err);
	assert(list_empty(&p->runs));
	pdc_tx_free(pds, p);
}

void pdc_tx_fail(struct pds *pds, struct pdc_tx *p, int err)
{
	/* a return direction ends with its connection, which is counted */
	pds->stats.pdc_failed += !p->pdc.is_return || p->other;
	record_closed(pds, p, err);
	give_up(pds, p, err);
}

/* What the initiator closed after has arrived there, whether we were told or not. */
static void finish_cut(struct pds *pds, struct pdc_tx *p)
{
	list_for_each_safe (l, &p->runs) {
		struct tx_run *run = list_entry(l, struct tx_run, link);
		run->unacked_pkts = 0;
		if (run->cut)
			pds->events->on_acked(pds->ses, p, run);
	}
}

void pdc_tx_end_return(struct pds *pds, struct pdc_tx *p, int err)
{
	assert(p->pdc.is_return && !p->other);
	p->cutting = NULL;
	if (!err)
		finish_cut(pds, p);
	if (list_empty(&p->runs))
		pdc_tx_free(pds, p);
	else
		pdc_tx_fail(pds, p, err ? err : ECONNRESET);
}

/* Every message starts over. */
static void start_over(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	run_queue_rewind(p);
	list_for_each (l, &p->runs)
		credit_tx_queued(pds, p, list_entry(l, struct tx_run, link));
	ready_add(pds, p);
	tx_timer_arm(pds, p, now);
}

bool pdc_tx_renumber(struct pds *pds, struct pdc_tx *p, uint32_t start_psn, weft_ns now)
{
	if (p->pdc.is_return || p->state != PDC_TX_SYN || p->heard || p->syn_tries++ >= SYN_TRIES_MAX)
		return false;
	sendq_release(&p->q, &pds->sendq_mem);
	p->inflight_bytes = 0;
	number_from(pds, p, start_psn);
	start_over(pds, p, now);
	return true;
}

/* A new PDCID and new PSNs; every message starts over. Only right while the target has delivered none of them. */
bool pdc_tx_restart(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->pdc.is_return || p->syn_tries++ >= SYN_TRIES_MAX || !pds->events->on_restart(pds->ses, p))
		return false;
	drop_return(pds, p);
	pdc_id_put(&pds->ids, &p->pdc);
	if (!pdc_id_take(&pds->ids, &p->pdc))
		return false;
	sendq_release(&p->q, &pds->sendq_mem);
	p->inflight_bytes = 0;
	start_numbering(pds, p);
	record_opened(pds, &p->pdc, &p->ip, false, now);
	start_over(pds, p, now);
	return true;
}

/* Queues a control packet with a PSN. False: no memory. */
static bool queue_control(struct pds *pds, struct pdc_tx *p, enum sent_control kind, weft_ns now)
{
	assert(p->state == PDC_TX_OPEN);
	if (!sendq_reserve(&p->q, &pds->sendq_mem)) {
		pds->stats.alloc_fail++;
		return false;
	}
	uint32_t psn = p->q.nxt;
	struct sent *s = sendq_add(&p->q, now);
	p->last_heard_ns = now;
	s->run = NULL;
	s->offset = kind;
	s->payload_len = 0;
	s->wire_bytes = WEFT_WIRE_MIN_BYTES;
	/* It leaves through the scheduler like a retransmission: one way for packets to get out. */
	s->sent_at = WEFT_NEVER;
	sendq_lose(&p->q, psn, CAUSE_GAP);
	ready_add(pds, p);
	return true;
}

static void close_start(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->state != PDC_TX_OPEN || p->pdc.is_return)
		return;
	if (queue_control(pds, p, SENT_CLOSE, now))
		p->state = PDC_TX_CLOSING;
	else
		p->idle_since_ns = now; /* tx_close_deadline() brings us back */
}

void pdc_tx_idle(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	assert(pdc_tx_is_idle(p) && !p->inflight_bytes && !p->cutting);
	sendq_release(&p->q, &pds->sendq_mem);
	set_busy(pds, p, false);
	p->idle_since_ns = now;
	p->rto_backoff = 0;
	p->heard = false;
	credit_tx_idle(pds, p);
	if (pds->shutting_down || p->close_wanted)
		close_start(pds, p, now);
	tx_timer_arm(pds, p, now);
}

void pdc_tx_shutdown(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (!pdc_tx_is_idle(p) || p->pdc.is_return)
		return; /* pdc_tx_idle closes it later, or its initiator */
	if (p->state == PDC_TX_SYN) {
		pdc_tx_free(pds, p);
		return;
	}
	close_start(pds, p, now);
	tx_timer_arm(pds, p, now);
}

void pdc_tx_close_asked(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	assert(!p->pdc.is_return && p->state != PDC_TX_SYN);
	p->close_wanted = true;
	pdc_tx_shutdown(pds, p, now);
}

void pdc_tx_settle(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	ready_add(pds, p); /* a fence may have fallen */
	if (pdc_tx_is_idle(p))
		pdc_tx_idle(pds, p, now);
}

/* Frees p, unless messages were given to it meanwhile, of which nothing was sent: these start over on a new connection.
 */
static void close_ended(struct pds *pds, struct pdc_tx *p, int err, weft_ns now)
{
	assert(p->state == PDC_TX_CLOSING);
	pds->stats.pdc_closed += !err;
	pds->stats.pdc_failed += err != 0;
	record_closed(pds, p, err);
	p->last_heard_ns = now; /* as of a new one */
	p->rto_backoff = 0;
	if (!list_empty(&p->runs) && pdc_tx_restart(pds, p, now)) {
		pds->stats.pdc_opened++;
		return;
	}
	give_up(pds, p, err ? err : ENOMEM);
}

void pdc_tx_closed(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	close_ended(pds, p, 0, now);
}

/* Its target answers nothing for so long. */
static void silence_end(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->state == PDC_TX_CLOSING)
		close_ended(pds, p, ETIMEDOUT, now);
	else
		pdc_tx_fail(pds, p, ETIMEDOUT);
}

static void ask_window(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	p->window_asked_ns = now;
	ctl_send(pds, p, WIRE_CTL_CLEAR_CMD, 0, p->q.una - 1, now);
	ctl_send(pds, p, WIRE_CTL_ACK_REQ, 0, 0, now);
}

/* The timer may be earlier than anything due (deadlines only move later without touching it); then it is set again. */
void pdc_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (now < pds->timers.grace_ns) {
		pds->stats.late_polls += p->q.inflight.count != 0;
		pds->timers.put_off |= p->q.inflight.count != 0 || now >= tx_silence_deadline(pds, p);
	} else {
		pds->timers.put_off = false;
		int err = way_check(pds, p, now);
		if (now >= pds->timers.full_ns)
			loss_by_timeout(pds, p, now);
		if (p->rto_backoff && p->backoff_at_ns == now)
			ev_probe_timeout(pds, p, now);
		if (err) {
			pdc_tx_fail(pds, p, err);
			return;
		}
		if (now >= tx_silence_deadline(pds, p)) {
			silence_end(pds, p, now);
			return;
		}
	}
	if (now >= p->credit.ask_at_ns)
		credit_tx_expire(pds, p, now);
	if (now >= tx_probe_deadline(pds, p))
		p->probe_sent_ns = WEFT_NEVER; /* lost: the next ACK asks again */
	if (p->probe_sent_ns == WEFT_NEVER && tx_is_out(p))
		ctl_send_probe(pds, p, now);
	if (now >= tx_search_deadline(pds, p))
		ev_probe_expire(pds, p, now);
	if (now >= tx_close_deadline(pds, p))
		close_start(pds, p, now);
	if (now >= tx_ask_alive_deadline(pds, p) && !queue_control(pds, p, SENT_NOOP, now))
		p->last_heard_ns = now; /* later */
	if (now >= tx_ask_window_deadline(pds, p))
		ask_window(pds, p, now);
	ready_add(pds, p);
	tx_timer_arm(pds, p, now);
}

/* ---- runs ---- */

/* Its target may be back by now, and a message waits for its answer: not for the next timeout of the CLOSE_CMD. */
static void close_again(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->rto_backoff && p->q.inflight.count && list_empty(&p->runs))
		loss_mark(pds, p, sendq_psn(&p->q, p->q.inflight.head), WEFT_CC_LOSS_TIMEOUT, now);
}

void pdc_tx_queue(struct pds *pds, struct pdc_tx *p, struct tx_run *run, weft_ns now)
{
	assert(!run->cut && !run->cut_bytes && !run->unacked_pkts);
	if (unlikely(p->state == PDC_TX_CLOSING))
		close_again(pds, p, now);
	if (pdc_tx_is_idle(p)) {
		p->last_heard_ns = now;
		tx_timer_arm_at(pds, p, now + pds->conf.tune.peer_timeout_ns);
	}
	set_busy(pds, p, true);
	run_queue_add(p, run);
	if (pds->credit.rcc)
		credit_tx_queued(pds, p, run);
	ready_add(pds, p);
}

void pdc_tx_queue_again(struct pds *pds, struct pdc_tx *p, struct tx_run *run, uint32_t doublings, weft_ns now)
{
	assert(run->cut && !run->unacked_pkts && p->cutting != run);
	list_del(&run->link);
	run->cut_bytes = 0;
	run->head_bytes = 0;
	run->cut = false;
	p->hold_until_ns = now + (pds->conf.rto_ns << doublings);
	pdc_tx_queue(pds, p, run, now);
	tx_timer_arm(pds, p, now);
}

void pdc_tx_abandon(struct pds *pds, struct pdc_tx *p, struct tx_run *run)
{
	assert(!list_empty(&run->link));
	if (pds->credit.rcc)
		credit_tx_dropped(pds, p, run);
	run->cut = true;
	run_queue_skip(p, run);
}

void pdc_tx_remove(struct pdc_tx *p, struct tx_run *run)
{
	assert(p->cutting != run);
	list_del(&run->link);
}
