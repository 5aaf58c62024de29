/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions of credit_rx.h do for algorithms that schedule. */
#ifndef WEFT_CREDIT_SCHED_RX_H
#define WEFT_CREDIT_SCHED_RX_H

#include "pds.h"

size_t sched_rx_bytes(const struct credit *c);
void sched_rx_start(struct pds *pds, struct pdc_rx *p);
void sched_rx_stop(struct pds *pds, struct pdc_rx *p, weft_ns now);
void sched_rx_request(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now);
void sched_rx_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint32_t bytes, weft_ns now);
void sched_rx_due(struct pds *pds, weft_ns now);

#endif
