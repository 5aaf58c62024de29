/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_queue.h"

struct tx_run *run_queue_next(const struct pdc_tx *p, const struct tx_run *run)
{
	assert(!list_empty(&p->runs) && !list_empty(&run->link));
	return run->link.next == &p->runs ? NULL : list_entry(run->link.next, struct tx_run, link);
}

/* Runs never interleave, and those that go ahead keep their order. NULL: at the end. */
static struct tx_run *place(const struct pdc_tx *p, const struct tx_run *run)
{
	struct tx_run *at = run->ahead ? p->cutting : NULL;
	while (at && (at->ahead || at->cut_bytes || at->unacked_pkts))
		at = run_queue_next(p, at);
	return at;
}

void run_queue_add(struct pdc_tx *p, struct tx_run *run)
{
	struct tx_run *later = place(p, run);
	list_add_tail(later ? &later->link : &p->runs, &run->link);
	if (p->cutting == later)
		p->cutting = run;
	assert(p->cutting);
}

void run_queue_skip(struct pdc_tx *p, const struct tx_run *run)
{
	if (p->cutting == run)
		p->cutting = run_queue_next(p, run);
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
}
