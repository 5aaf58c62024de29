/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets: accept, find, shut. */
#ifndef WEFT_PDC_RX_H
#define WEFT_PDC_RX_H

#include "pds.h"

/* The connection a packet belongs to. With `may_accept` a SYN opens one, and what finds none is refused. NULL: none. */
struct pdc_rx *pdc_rx_find(struct pds *pds, const struct wire_pkt *w, bool may_accept, weft_ns now);
/* Nothing new is taken; late copies are still answered for a while. */
void pdc_rx_shut(struct pds *pds, struct pdc_rx *p, weft_ns now);
void pdc_rx_expire(struct pds *pds, struct pdc_rx *p, weft_ns now); /* the timer has; may free p */

/* The next ACK answers this packet. */
static inline void pdc_rx_trigger(struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	p->trigger_at_ns = pkt->arrived_ns;
	p->trigger_psn = w->pds.psn;
	p->trigger_ev = w->net.entropy;
	p->trigger_message_id = w->has_ses ? w->ses.message_id : 0;
	p->trigger_flags = (uint8_t)((w->pds.flags & WIRE_F_RETX) | (w->net.ecn == WEFT_ECN_CE ? WIRE_F_ACK_M : 0));
}

#endif
