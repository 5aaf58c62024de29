/* SPDX-License-Identifier: BSD-3-Clause */
/* In profiles of UET a peer gets what the standard says until it has said that it is a Weft. An initiator asks with a
 * PROBE whose opaque is OFFER_OPAQUE, which others answer as any PROBE; a Weft answers with ACK_CCX and OFFER_NAME in
 * its vendor state (doc/reference/protocol.md, Vendor space). From then on both use what only Wefts understand: over
 * this connection, because the next may be to another life of the host, which has heard nothing. */
#ifndef WEFT_OFFER_H
#define WEFT_OFFER_H

#include "pds.h"

enum { OFFER_OPAQUE = 0x4000 }; /* no other probe has this bit alone at the top */

/* Asks, a few times; sets when to ask again, or ends the chore. */
void offer_make(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* An answer to a PROBE with OFFER_OPAQUE. */
void offer_answered(struct pdc_tx *p, const struct wire_view *v);
/* The initiator asks: it is a Weft. */
void offer_heard(struct pds *pds, struct pdc_rx *p);
/* What an answer has in place of a state of NSCC. */
void offer_fill_answer(struct wire_ack_ccx *ack);

#endif
