/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets: accept, find, shut. */
#ifndef WEFT_PDC_RX_H
#define WEFT_PDC_RX_H

#include "pds.h"
#include "wire_check.h"
#include "wire_echo.h"

/* The connection a packet belongs to. With `may_accept` a SYN opens one, and what finds none is refused. NULL: none. */
struct pdc_rx *pdc_rx_find(struct pds *pds, const struct wire_view *v, bool may_accept, weft_ns now);
/* Nothing new is taken, messages that are not complete end with `err`; late copies are still answered for a while. */
void pdc_rx_shut(struct pds *pds, struct pdc_rx *p, int err, weft_ns now);
void pdc_rx_expire(struct pds *pds, struct pdc_rx *p, weft_ns now); /* the timer has; may free p */

static inline bool pdc_rx_is_from(const struct pdc_rx *p, const struct wire_view *v)
{
	return p->remote_id == wire_hdr_spdcid(v->hdr) && wire_view_is_from(v, &p->ip);
}

/* Open, and its packets are the usual ones: over UDP port 4793, without trailer. */
static inline bool pdc_rx_is_plain(const struct pdc_rx *p)
{
	return !(p->closed | p->pdc.encap);
}

/* The packet with this PSN has arrived and is where it belongs: see rxwin_mark. */
static inline void pdc_rx_mark(struct pds *pds, struct pdc_rx *p, uint32_t psn)
{
	if (unlikely(rxwin_mark(&p->win, &pds->win, psn)))
		pds->events->on_hole_closed(pds->ses, p);
}

/* What is asked of a packet with a PSN more than once. */
struct arrival {
	weft_ns at_ns;
	uint32_t psn;
	uint16_t ev;
	struct wire_echo echo; /* all 0: a control packet */
	uint8_t flags;         /* enum wire_flags */
	bool ce;
};

/* The message id is at the same place in all forms that are taken. */
static inline struct wire_echo read_echo(const struct wire_view *v)
{
	if (v->next_hdr == WIRE_NH_STD)
		return wire_echo_of(v->std);
	return (struct wire_echo){.head = v->ses_bytes ? wire_head(v->rsp) : 0};
}

static inline struct arrival read_arrival(const struct weft_pkt *pkt, const struct wire_view *v)
{
	return (struct arrival){pkt->arrived_ns, wire_hdr_psn(v->hdr),   wire_view_entropy(v),
				read_echo(v),    wire_hdr_flags(v->hdr), wire_view_ecn(v) == WEFT_ECN_CE};
}

/* The next ACK answers this packet. */
static inline void pdc_rx_trigger(struct pdc_rx *p, const struct arrival *a)
{
	p->trigger_at_ns = a->at_ns;
	p->trigger_psn = a->psn;
	p->trigger_ev = a->ev;
	p->trigger_echo = a->echo;
	p->trigger_flags = (uint8_t)((a->flags & WIRE_F_RETX) | (a->ce ? WIRE_F_ACK_M : 0));
}

#endif
