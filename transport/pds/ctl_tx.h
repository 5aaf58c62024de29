/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CTL_TX_H
#define WEFT_CTL_TX_H

#include "pds.h"

/* Sends a control packet without PSN to the target. Lost when there is no packet to put it in. */
void ctl_send(struct pds *pds, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now);

#endif
