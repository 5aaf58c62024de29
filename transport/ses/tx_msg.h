/* SPDX-License-Identifier: BSD-3-Clause */
/* A message we send: from the operation to its runs and headers. */
#ifndef WEFT_TX_MSG_H
#define WEFT_TX_MSG_H

#include "endpoint.h"
#include "msg.h"

static inline struct tx_msg *tx_msg_of(const struct tx_run *run)
{
	return list_entry(run, struct tx_msg, run);
}

/* The next message of a connection's list, or NULL. */
static inline struct tx_msg *tx_msg_at(const struct list *l)
{
	return tx_msg_of(list_entry(l, struct tx_run, link));
}

/* The SES header of a packet: see pds_events.next_segment. */
uint8_t *tx_msg_header(struct pdc_tx *p, struct tx_run *run, const struct sent *s, uint8_t *at, uint8_t *next_hdr);

#endif
