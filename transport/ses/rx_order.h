/* SPDX-License-Identifier: BSD-3-Clause */
/* What orders the messages of a connection to us. Our own initiators count message ids up from 1 with the PSNs of first
 * packets, so a message's turn is known although packets of earlier ones are missing. Other initiators may take any
 * ids but 0, unique among messages under way (UE 1.0 sec. 3.4): once that is seen, messages are ordered by the PSNs of
 * their first packets, and a message's turn comes when every packet before that has arrived.
 *
 * In ses_rx.msgs those whose turn has come stand first; behind them those that wait, in the order of their PSNs. */
#ifndef WEFT_RX_ORDER_H
#define WEFT_RX_ORDER_H

#include "rx_msg.h"

static inline bool rx_order_is_by_psn(const struct ses_rx *r)
{
	return !r->next_match_id;
}

/* The message waits for its turn; `v` is the packet that opened it. */
void rx_order_wait(struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v);
/* A further packet of a message that waits. */
void rx_order_more(struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v);
/* The turn of this message has come, or passed: it waits no more. */
void rx_order_turned(struct ses_rx *r, struct rx_msg *m);
/* The first message that waits, or NULL. */
struct rx_msg *rx_order_first(const struct ses_rx *r);

/* The rest of a message, of which this PSN is part, is refused: its id is no new message's. */
void rx_order_refused(struct ses_rx *r, uint32_t psn);
/* The packet says that our own initiator sends here. */
void rx_order_is_ours(struct ses_rx *r);

/* The packet belongs to a message that is not known, and whose id is not the next. Whether it is one of a message that
 * was refused, or never began; else it opens one. May learn that PSNs order. */
bool rx_order_is_stale(struct pdc_rx *p, const struct wire_view *v);
/* Every packet before `psn` is here. Orders by PSN from now on if a message that began before that waits for one that
 * does not come. */
void rx_order_find_gap(const struct ses *ses, struct pdc_rx *p, uint32_t psn);

#endif
