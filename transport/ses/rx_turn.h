/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns: messages are matched, and requests executed, in the order they were sent. */
#ifndef WEFT_RX_TURN_H
#define WEFT_RX_TURN_H

#include "rma.h"
#include "rx_msg.h"

/* The message's turn has come: the first receive that wants it, or a place among the unexpected ones. */
void rx_turn_match(struct ses *ses, struct rx_msg *m);
/* Ends the message if everything is here and its turn has come; an announced one is fetched then. */
void rx_turn_finish(struct ses *ses, struct rx_msg *m);
/* Throws the message away, as soon as it is complete. */
void rx_turn_discard(struct ses *ses, struct rx_msg *m);
/* Whether it is the turn of a message that waits: every earlier one of the connection has had its own. */
bool rx_turn_has_come(const struct pdc_rx *p, const struct rx_msg *m);
/* Matches the waiting messages whose turn has come now, and executes requests. Every packet before `psn` is here. */
void rx_turns(struct ses *ses, struct pdc_rx *p, uint32_t psn);
/* See pds_events. */
void rx_turns_hole_closed(void *ses, struct pdc_rx *p);
/* The same for connections with a request that there was no memory for. */
void rx_turns_retry(struct ses *ses);

static inline uint16_t rx_id_after(uint16_t id)
{
	return id == UINT16_MAX ? 1 : id + 1;
}

/* A request on memory that can still be carried out. */
static inline bool rx_msg_is_request(const struct rx_msg *m)
{
	return m->rma && !m->rma->announced && !m->rc;
}

#endif
