/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine sees: set-up, the steps of a poll, the end. */
#include "pds.h"

#include <string.h>

#include "ack_tx.h"
#include "credit_rx.h"
#include "credit_sched_state.h"
#include "path_search.h"
#include "pdc_rx.h"
#include "pdc_tx.h"
#include "tx_sched.h"

enum {
	ALLOC_RETRY_NS = 1000,
	PAUSE_SHARE = 4, /* polled later than due by this share of the peer timeout: the process was stopped */
};

void pds_init(struct pds *pds, const struct pds_events *events, void *ses, weft_ns now)
{
	assert(pds->out.port && pds->conf.cc && pds->conf.lb);
	pds->events = events;
	pds->ses = ses;
	wheel_init(&pds->timers.wheel, now);
	list_init(&pds->ready);
	list_init(&pds->ack_due);
	list_init(&pds->txs);
	list_init(&pds->rxs);
	list_init(&pds->credit.wanting);
	pds->credit.due_ns = WEFT_NEVER;
	u64map_init(&pds->syns, &pds->mem);
	u64map_init(&pds->remotes, &pds->mem);
	pdc_ids_init(&pds->ids, &pds->mem);
	sendq_mem_init(&pds->sendq_mem, &pds->mem);
	pds->out.stats = &pds->stats;
}

/* An ACK to nobody yet; what differs is patched in (wire_fill_ack). */
static void init_ack_head(struct pds *pds)
{
	const struct weft_ip nobody = weft_ip_v4(0);
	const struct out_to to = {&nobody, 0, WIRE_ENCAP_UDP};
	const struct wire_net net = out_net(&pds->out, to, WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	struct wire_ack_cc *ack = (struct wire_ack_cc *)(pds->ack_head + WIRE_IP4_UDP_BYTES);
	uint8_t *ses = wire_build_pds((uint8_t *)ack, WIRE_PDS_ACK_CC, WIRE_NH_RSP, 0);
	uint8_t *end = wire_build_ses(ses, WIRE_NH_RSP, WIRE_RSP_DEFAULT, WIRE_RC_OK);
	assert(end == pds->ack_head + sizeof pds->ack_head);
	wire_ack_cc_set_mpr(ack, (uint8_t)(pds->win.window_pkts / 128));
	wire_build_net(pds->ack_head, &net, (uint32_t)(end - (uint8_t *)ack));

	uint8_t *short_ack = pds->short_ack_head + WIRE_IP4_UDP_BYTES;
	end = wire_build_pds(short_ack, WIRE_PDS_ACK, WIRE_NH_NONE, 0);
	assert(end == pds->short_ack_head + sizeof pds->short_ack_head);
	wire_build_net(pds->short_ack_head, &net, (uint32_t)(end - short_ack));
}

static void init_out(struct pds *pds)
{
	pds->out.ip = pds->conf.ip;
	pds->out.is_v4 = pds->conf.is_v4;
	pds->out.src = weft_ip_low32(&pds->conf.ip);
}

int pds_start(struct pds *pds, weft_ns now)
{
	assert(pds->conf.rto_ns && pds->conf.overhead_bytes < pds->conf.full_wire_bytes);
	rxwin_mem_init(&pds->win, &pds->mem, pds->conf.tune.window_pkts);
	init_out(pds);
	if (pds->conf.is_v4)
		init_ack_head(pds);
	return sched_init(pds, now);
}

static void free_remotes(struct pds *pds)
{
	for (uint32_t i = 0; pds->remotes.slots && i <= pds->remotes.mask; i++) {
		struct remote *r = pds->remotes.slots[i].value;
		if (r)
			path_stop(pds, r);
		weft_mem_free(&pds->mem, r);
	}
	u64map_fini(&pds->remotes);
}

void pds_fini(struct pds *pds)
{
	assert(list_empty(&pds->txs) && list_empty(&pds->rxs));
	assert(!pds->ids.count && !pds->syns.count);
	assert(!pds->win.pool.used && !pds->sendq_mem.small.used);
	out_fini(&pds->out);
	free_remotes(pds);
	assert(!pds->timers.wheel.count);
	u64map_fini(&pds->syns);
	rxwin_mem_fini(&pds->win);
	sendq_mem_fini(&pds->sendq_mem);
	sched_fini(pds);
	pdc_ids_fini(&pds->ids);
}

/* We did not listen for so long: that is no silence of anybody's. */
static void silence_forgive(struct pds *pds, weft_ns deaf_ns)
{
	list_for_each (l, &pds->txs)
		list_entry(l, struct pdc_tx, link)->last_heard_ns += deaf_ns;
	list_for_each (l, &pds->rxs)
		list_entry(l, struct pdc_rx, link)->last_heard_ns += deaf_ns;
}

/* What was put off once is not put off again, or nothing would ever count as lost with somebody who always polls late.
 */
void pds_note_lateness(struct pds *pds, weft_ns due_ns, weft_ns now)
{
	if (likely(now <= due_ns || now - due_ns <= pds->conf.rto_ns / 4))
		return;
	if (!pds->timers.put_off)
		pds->timers.grace_ns = now + pds->conf.rto_ns / 2;
	if (now - due_ns > pds->conf.tune.peer_timeout_ns / PAUSE_SHARE)
		silence_forgive(pds, now - due_ns);
}

void pds_poll_timers(struct pds *pds, weft_ns now)
{
	struct wheel_node *n;
	while ((n = wheel_expire(&pds->timers.wheel, now))) {
		struct pdc *pdc = list_entry(n, struct pdc, timer);
		if (!pdc->id) {
			path_expire(pds, list_entry(pdc, struct remote, path.timer), now);
			continue;
		}
		assert(pdc->is_return || pdc_by_id(&pds->ids, pdc->id) == pdc);
		if (pdc->is_rx)
			pdc_rx_expire(pds, list_entry(pdc, struct pdc_rx, pdc), now);
		else
			pdc_tx_expire(pds, list_entry(pdc, struct pdc_tx, pdc), now);
	}
}

void pds_poll_acks(struct pds *pds, weft_ns now)
{
	ack_send_due(pds, now);
	if (pds->credit.due_ns <= now)
		credit_rx_due(pds, now);
}

/* A port that is busy takes packets all the time. One that takes none for long is stuck, as when the switch behind it
 * has no processor, and its packets are not lost. */
static __attribute__((noinline)) void note_stall(struct pds *pds, bool took, weft_ns now)
{
	struct pds_timers *t = &pds->timers;
	if (took)
		t->stall_ns = 0;
	else if (!t->stall_ns)
		t->stall_ns = now;
	else if (now - t->stall_ns > pds->conf.rto_ns / 4)
		t->full_ns = now + pds->conf.rto_ns;
}

void pds_poll_tx(struct pds *pds, weft_ns now)
{
	tx_sched_run(pds, now);
	uint32_t waiting = pds->out.count;
	out_flush(&pds->out);
	if (unlikely(pds->out.refused || pds->timers.stall_ns))
		note_stall(pds, pds->out.count < waiting || !waiting, now);
}

static weft_ns next_tx(const struct pds *pds, bool short_of_mem, weft_ns now)
{
	if (pds->out.count)
		return now;
	if (pds->out.short_of_pkts || short_of_mem)
		return now + ALLOC_RETRY_NS;
	if (list_empty(&pds->ready))
		return WEFT_NEVER;
	if (out_link_allows(&pds->out, now))
		return now;
	return pds->out.link_free_ns - pds->out.link_backlog_ns;
}

weft_ns pds_next(const struct pds *pds, bool short_of_mem, weft_ns now)
{
	weft_ns at = wheel_next(&pds->timers.wheel), tx_at = next_tx(pds, short_of_mem, now);
	if (tx_at < at)
		at = tx_at;
	return pds->credit.due_ns < at ? pds->credit.due_ns : at;
}

void pds_shutdown(struct pds *pds, weft_ns now)
{
	pds->shutting_down = true;
	list_for_each_safe (l, &pds->txs)
		pdc_tx_shutdown(pds, list_entry(l, struct pdc_tx, link), now);
}

void pds_fail(struct pds *pds, int err, weft_ns now)
{
	assert(err > 0);
	while (!list_empty(&pds->txs)) /* one may take others with it */
		pdc_tx_fail(pds, list_entry(pds->txs.next, struct pdc_tx, link), err);
	list_for_each (l, &pds->rxs)
		pdc_rx_shut(pds, list_entry(l, struct pdc_rx, link), err, now);
}

/* A return direction that has nothing to send stays as long as its initiator wants. */
static bool is_sending(const struct pds *pds)
{
	list_for_each (l, &pds->txs) {
		const struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		if (!p->pdc.is_return || !pdc_tx_is_idle(p))
			return true;
	}
	return false;
}

bool pds_is_quiet(const struct pds *pds)
{
	return !is_sending(pds) && !pds->out.count && list_empty(&pds->ack_due);
}
