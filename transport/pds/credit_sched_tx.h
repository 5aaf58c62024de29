/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions of credit_tx.h do for algorithms that schedule. */
#ifndef WEFT_CREDIT_SCHED_TX_H
#define WEFT_CREDIT_SCHED_TX_H

#include "pds.h"

bool sched_tx_open(struct pds *pds, struct pdc_tx *p);
void sched_tx_close(struct pds *pds, struct pdc_tx *p);
void sched_tx_start(struct pdc_tx *p);
bool sched_tx_draw(struct pdc_tx *p, uint32_t bytes);
/* The packet of a record is sent: its credit decides about path and mark. */
void sched_tx_fill(struct pds *pds, struct pdc_tx *p, struct sent *s, struct wire_net *net, struct wire_request_cc *r,
		   weft_ns now);
void sched_tx_blocked(struct pds *pds, struct pdc_tx *p, weft_ns now);
void sched_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now);
void sched_tx_credit(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now);

#endif
