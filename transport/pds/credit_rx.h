/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of receiver-driven congestion control. */
#ifndef WEFT_CREDIT_RX_H
#define WEFT_CREDIT_RX_H

#include "pds.h"

/* Bytes of memory that follow struct pdc_rx. */
size_t credit_rx_more_bytes(const struct pds *pds);
void credit_rx_start(struct pds *pds, struct pdc_rx *p, weft_ns now);
void credit_rx_stop(struct pds *pds, struct pdc_rx *p, weft_ns now); /* no more turns; harmless without an algorithm */
void credit_rx_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now);
void credit_rx_request(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now);
void credit_rx_due(struct pds *pds, weft_ns now); /* gives the turns that have come */

#endif
