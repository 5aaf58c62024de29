/* SPDX-License-Identifier: BSD-3-Clause */
/* What counts as lost, and what follows from that. */
#ifndef WEFT_LOSS_H
#define WEFT_LOSS_H

#include "pds.h"

/* The packet in flight is lost: congestion control and load balancing learn it, and it will be sent again. */
void loss_mark(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now);
/* The same, and what the target said of its link (weft_cc_loss.share_bps). */
void loss_mark_share(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, uint64_t share_bps,
		     weft_ns now);
/* In flight -> lost, and nobody learns it; with go_back_n all behind it, too. */
void loss_resend(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum sent_cause cause);
/* After an ACK: what was overtaken for too long. */
void loss_by_gap(struct pds *pds, struct pdc_tx *p, weft_ns now);
void loss_by_timeout(struct pds *pds, struct pdc_tx *p, weft_ns now);

#endif
