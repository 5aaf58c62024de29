/* SPDX-License-Identifier: BSD-3-Clause */
/* The target tells what arrived. */
#ifndef WEFT_ACK_TX_H
#define WEFT_ACK_TX_H

#include "pds.h"
#include "wire_check.h"

/* The trigger of `p` was set to a packet with new data: answers now, or later. */
void ack_note(struct pds *pds, struct pdc_rx *p, bool at_once, weft_ns now);
/* The same when every packet is answered at once (PDS_ACK_EACH), without responses, not closed. */
void ack_note_plain(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Something else wants an answer at once. */
void ack_now(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Until every received PSN has been reported. */
void ack_flush(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* Those that were put off, or found no packet earlier. */
void ack_send_due(struct pds *pds, weft_ns now);
void ack_probe(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *probe,
	       weft_ns now);
/* `our_id`: 0 when there is no connection. */
void nack_send(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code, weft_ns now);

#endif
