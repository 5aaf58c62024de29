/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a message we send. */
#ifndef WEFT_TX_DONE_H
#define WEFT_TX_DONE_H

#include "tx_msg.h"

/* See pds_events. */
void tx_done_acked(void *ses, struct pdc_tx *p, struct tx_run *run);
void tx_done_refused(void *ses, struct pdc_tx *p, struct tx_run *run, const struct wire_rsp *rsp);
void tx_done_progress(void *ses, struct pdc_tx *p);

/* The message has ended, with m->err. */
void tx_done_complete(struct ses *ses, struct pdc_tx *p, struct tx_msg *m);

#endif
