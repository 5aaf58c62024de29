/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TX_SCHED_H
#define WEFT_TX_SCHED_H

#include "pds.h"

/* Sends for all connections in turn, as long as window, credit, pace, packets and link allow. */
void tx_sched_run(struct pds *pds, weft_ns now);

#endif
