/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_queue.h"

struct tx_run *run_queue_next(const struct pdc_tx *p, const struct tx_run *run)
{
	assert(!list_empty(&p->runs) && !list_empty(&run->link));
	struct tx_run *next = run->link.next == &p->runs ? NULL : list_entry(run->link.next, struct tx_run, link);
	return next == p->responses ? NULL : next;
}

void run_queue_add(struct pdc_tx *p, struct tx_run *run)
{
	list_add_tail(!run->is_response && p->responses ? &p->responses->link : &p->runs, &run->link);
	if (run->is_response && !p->responses)
		p->responses = run;
	if (!p->cutting)
		p->cutting = run;
	else if (!p->waiting && p->cutting->is_response != run->is_response)
		p->waiting = run;
	assert(p->responses == NULL || p->responses->is_response);
	assert(p->cutting && p->cutting != p->waiting);
}

void run_queue_skip(struct pdc_tx *p, const struct tx_run *run)
{
	if (p->waiting == run)
		p->waiting = run_queue_next(p, run);
	if (p->cutting != run)
		return;
	p->cutting = run_queue_next(p, run);
	if (!p->cutting)
		run_queue_take_turns(p);
}

void run_queue_rewind(struct pdc_tx *p)
{
	assert(!sendq_len(&p->q));
	list_for_each (l, &p->runs) {
		struct tx_run *run = list_entry(l, struct tx_run, link);
		run->cut_bytes = run->unacked_pkts = 0;
		run->head_bytes = 0;
		run->cut = false;
	}
	p->cutting = list_empty(&p->runs) ? NULL : list_entry(p->runs.next, struct tx_run, link);
	p->waiting = p->cutting == p->responses ? NULL : p->responses;
}
