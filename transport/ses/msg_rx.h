/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MSG_RX_H
#define WEFT_MSG_RX_H

#include "rx_msg.h"

/* Why a request can't be taken, whatever it asks for; WIRE_RC_NULL: it can. */
uint8_t msg_refusal_of_header(const struct ses *ses, const struct wire_req *r);
/* See pds_events. */
int msg_rx_data(void *ses, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload);
bool msg_rx_more_data(void *ses, struct pdc_rx *p, const struct wire_std *h, const uint8_t *payload, uint32_t len,
		      uint8_t flags);

#endif
