/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a connection: which of them the next packet is cut from. */
#ifndef WEFT_RUN_QUEUE_H
#define WEFT_RUN_QUEUE_H

#include "pdc.h"

/* The newest of the connection; it may become the one to be cut next. */
void run_queue_add(struct pdc_tx *p, struct tx_run *run);
/* Takes the run out of the turns, for no more is cut from it. */
void run_queue_skip(struct pdc_tx *p, const struct tx_run *run);
/* All runs start over. */
void run_queue_rewind(struct pdc_tx *p);
/* The next of the same kind, request or response; NULL: there is none. */
struct tx_run *run_queue_next(const struct pdc_tx *p, const struct tx_run *run);

/* A response has no place in the order of requests and may be long. Requests do not wait behind it, nor it behind them,
 * or two hosts that fetch from each other would do so one after the other: the request of the one would be stuck behind
 * its answer to the other. */
static inline void run_queue_take_turns(struct pdc_tx *p)
{
	struct tx_run *run = p->waiting;
	p->waiting = p->cutting;
	p->cutting = run;
}

#endif
