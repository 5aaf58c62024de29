/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine sees: set-up, the steps of a poll, the end; and the table by which PDS reaches us. */
#include "ses.h"

#include <errno.h>

#include "completion.h"
#include "dgram.h"
#include "doorbell.h"
#include "msg_rx.h"
#include "rma.h"
#include "rndv.h"
#include "rudi.h"
#include "rx_turn.h"
#include "tx_done.h"

/* ---- events ---- */

/* Who waits for an answer of ours which will never come learns it when it asks whether we still know its connection. */
static void forget_asker(struct ses *ses, const struct tx_msg *m)
{
	if (ses->destroying || !m->rma || m->rma->role != RMA_ANSWER)
		return;
	struct pdc_rx *asker = m->rma->pdc->other;
	if (asker)
		pdc_rx_give_up(ses->pds, asker, ses->polled_ns);
}

static void on_failed(void *arg, struct pdc_tx *p, int err)
{
	struct ses *ses = arg;
	while (!list_empty(&p->runs)) {
		struct tx_msg *m = tx_msg_at(p->runs.next);
		forget_asker(ses, m);
		m->err = err;
		tx_done_complete(ses, p, m);
	}
}

static void on_accept(void *ses, struct pdc_rx *p)
{
	struct ses_rx *r = ses_rx_of(p);
	list_init(&r->msgs);
	list_init(&r->stuck_link);
	r->next_match_id = 1;
}

static void on_shut(void *ses, struct pdc_rx *p, int err)
{
	struct ses_rx *r = ses_rx_of(p);
	list_del(&r->stuck_link);
	list_for_each_safe (l, &r->msgs)
		rx_msg_fail(ses, list_entry(l, struct rx_msg, pdc_link), err);
	assert(!pdc_rx_has_msgs(p) && !r->recent);
	assert(list_empty(&r->msgs));
}

const struct pds_events ses_events = {
	.next_segment = tx_msg_header,
	.on_acked = tx_done_acked,
	.on_refused = tx_done_refused,
	.on_answer = answer_rx_in_ack,
	.on_progress = tx_done_progress,
	.on_restart = rma_tx_restarted,
	.on_failed = on_failed,
	.on_accept = on_accept,
	.on_data = msg_rx_data,
	.on_more_data = msg_rx_more_data,
	.on_hole_closed = rx_turns_hole_closed,
	.on_shut = on_shut,
};

/* ---- set-up and end ---- */

void ses_init(struct ses *ses, struct pds *pds)
{
	const struct weft_mem *mem = ses->mem = &pds->mem;
	ses->pds = pds;
	ses->stats = &pds->stats;
	list_init(&ses->eps);
	list_init(&ses->ready);
	list_init(&ses->stuck);
	list_init(&ses->fetches);
	peers_init(&ses->peers, pds);
	mrs_init(&ses->mrs, mem);
	u64map_init(&ses->by_port, mem);
	ses->free_port_from = EP_PORT_FIRST_FREE;
	u64map_init(&ses->rx_msgs, mem);
	pool_init(&ses->tx_rmas, mem, sizeof(struct tx_rma), 16);
	pool_init(&ses->rx_rmas, mem, sizeof(struct rx_rma), 16);
	pool_init(&ses->tx_msgs, mem, sizeof(struct tx_msg), 32);
	pool_init(&ses->rx_msg_pool, mem, sizeof(struct rx_msg), 32);
	pool_init(&ses->rx_reqs, mem, sizeof(struct rx_req), 32);
	pool_init(&ses->cqe_nodes, mem, sizeof(struct cqe_node), 64);
	dgram_init(ses);
	rudi_init(ses);
}

void ses_stop(struct ses *ses)
{
	ses->destroying = true;
}

void ses_close_all(struct ses *ses)
{
	list_for_each_safe (l, &ses->eps)
		ses_ep_close(list_entry(l, struct weft_ep, link));
}

void ses_fini(struct ses *ses)
{
	assert(list_empty(&ses->ready) && !ses->by_port.count);
	assert(list_empty(&ses->eps) && list_empty(&ses->stuck) && list_empty(&ses->dgrams));
	assert(!ses->unexpected_bytes && !ses->answers && !ses->asks.count && !ses->rx_msgs.count);
	assert(!ses->tx_msgs.used && !ses->tx_rmas.used && !ses->rx_msg_pool.used && !ses->rx_rmas.used);
	assert(!ses->rx_reqs.used && !ses->cqe_nodes.used && !ses->dgram_pool.used);
	peers_fini(&ses->peers);
	u64map_fini(&ses->by_port);
	u64map_fini(&ses->rx_msgs);
	weft_mem_free(ses->mem, ses->asks.msgs);
	pool_fini(&ses->tx_rmas);
	pool_fini(&ses->rx_rmas);
	mrs_fini(&ses->mrs);
	pool_fini(&ses->tx_msgs);
	pool_fini(&ses->rx_msg_pool);
	pool_fini(&ses->rx_reqs);
	pool_fini(&ses->cqe_nodes);
	dgram_fini(ses);
	rudi_fini(ses);
}

int ses_mr_add(struct ses *ses, const struct weft_mr_attr *attr, struct weft_mr **out)
{
	int ret = mr_add(&ses->mrs, attr, out);
	if (ret)
		return ret;
	(*out)->ses = ses;
	(*out)->broken_count = &ses->stats->rma_broken;
	return 0;
}

/* ---- the steps of a poll ---- */

void ses_poll_retry(struct ses *ses)
{
	if (ses->fetch_later)
		rndv_retry(ses);
	rx_turns_retry(ses);
}

void ses_poll_idempotent(struct ses *ses, weft_ns now)
{
	rudi_poll(ses, now);
}

/* Each endpoint that is ready has one turn; one that stays ready stands behind all others then. */
void ses_poll_submissions(struct ses *ses, weft_ns now)
{
	doorbells_collect(ses);
	ses->more_submissions = false;
	if (list_empty(&ses->ready))
		return;
	struct list *l, *last = ses->ready.prev;
	do {
		l = ses->ready.next;
		list_del(l);
		ep_submissions(ses, list_entry(l, struct weft_ep, ready_link), now);
	} while (l != last);
}

void ses_poll_sent(struct ses *ses)
{
	if (!list_empty(&ses->dgrams))
		dgram_flushed(ses);
}

void ses_prefetch_rx(const struct pdc_rx *p)
{
	const struct rx_msg *m = ses_rx_of(p)->recent;
	for (size_t i = 0; m && i < sizeof *m; i += 64)
		__builtin_prefetch((const char *)m + i, 1);
}
