/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of receiver-driven congestion control. */
#ifndef WEFT_CREDIT_TX_H
#define WEFT_CREDIT_TX_H

#include "pds.h"

bool credit_tx_open(struct pds *pds, struct pdc_tx *p); /* false: no memory */
void credit_tx_close(struct pds *pds, struct pdc_tx *p);
void credit_tx_start(const struct pds *pds, struct pdc_tx *p); /* numbering starts */
void credit_tx_idle(const struct pds *pds, struct pdc_tx *p);  /* all acknowledged: the first window is new */
void credit_tx_queued(const struct pds *pds, struct pdc_tx *p, const struct tx_run *run);
void credit_tx_dropped(const struct pds *pds, struct pdc_tx *p,
		       const struct tx_run *run);                /* what is not cut of it never will be */
void credit_tx_recount(const struct pds *pds, struct pdc_tx *p); /* packets have another size */
/* Makes credit usable until it is enough for a packet of so many bytes. False: there is not enough. */
bool credit_tx_draw(struct pdc_tx *p, uint32_t bytes);
/* The record is sent, for which credit was drawn: what the packet says about credit. */
void credit_tx_fill(struct pds *pds, struct pdc_tx *p, struct sent *s, struct wire_net *net, struct wire_request_cc *r,
		    weft_ns now);
void credit_tx_blocked(struct pds *pds, struct pdc_tx *p, weft_ns now); /* only credit is missing: asks for it */
void credit_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now);  /* ask_at_ns has come */
void credit_tx_lost(const struct pds *pds, struct pdc_tx *p, const struct sent *s, enum weft_cc_loss_kind kind);
void credit_tx_granted(struct pds *pds, const struct wire_view *v, weft_ns now); /* a CREDIT arrived */

#endif
