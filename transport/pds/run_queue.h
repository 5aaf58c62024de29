/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a connection: which of them the next packet is cut from. */
#ifndef WEFT_RUN_QUEUE_H
#define WEFT_RUN_QUEUE_H

#include "pdc.h"

/* The newest of the connection: the last, or with `ahead` the first that has not begun. It may become the one to be cut
 * next. */
void run_queue_add(struct pdc_tx *p, struct tx_run *run);
/* Takes the run out of the turns, for no more is cut from it. */
void run_queue_skip(struct pdc_tx *p, const struct tx_run *run);
/* All runs start over. */
void run_queue_rewind(struct pdc_tx *p);
/* The next; NULL: there is none. */
struct tx_run *run_queue_next(const struct pdc_tx *p, const struct tx_run *run);

#endif
