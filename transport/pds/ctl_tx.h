/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CTL_TX_H
#define WEFT_CTL_TX_H

#include "pds.h"

/* Sends a control packet without PSN to the target. Lost when there is no packet to put it in. */
void ctl_send(struct pds *pds, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now);

/* The same for a PROBE with this entropy. */
void ctl_send_by(struct pds *pds, struct pdc_tx *p, uint16_t opaque, uint16_t ev, weft_ns now);

/* The same for a probe as long as a data packet with so much payload, to a target that is known. */
void ctl_send_padded(struct pds *pds, struct pdc_tx *p, uint16_t opaque, uint16_t payload_bytes, weft_ns now);

/* A PROBE for the base RTT, or to see whether the target is there; any earlier one is forgotten. */
void ctl_send_probe(struct pds *pds, struct pdc_tx *p, weft_ns now);

#endif
