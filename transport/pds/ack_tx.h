/* SPDX-License-Identifier: BSD-3-Clause */
/* The target tells what arrived. */
#ifndef WEFT_ACK_TX_H
#define WEFT_ACK_TX_H

#include "pds.h"
#include "wire_check.h"

/* The trigger of `p` was set to a packet with new data: sends an ACK now, or makes sure that one follows. */
void ack_data(struct pds *pds, struct pdc_rx *p, bool at_once, weft_ns now);
/* The same when every packet is answered at once (PDS_ACK_EACH), without responses, not closed. */
void ack_data_each(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Sends an ACK for something else that needs it at once. */
void ack_at_once(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Until every received PSN has been reported. */
void ack_send_all(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Those that were put off, or found no packet earlier. */
void ack_send_due(struct pds *pds, weft_ns now);
void ack_send_probe_answer(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *probe,
			   weft_ns now);
/* The same as nack_send, with what the code's payload means. */
void nack_send_payload(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code,
		       uint32_t payload, weft_ns now);

#endif
