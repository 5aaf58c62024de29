/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RX_DROP_H
#define WEFT_RX_DROP_H

#include "pds.h"

/* Ends the messages of `p` and frees it, whichever direction it is; nothing leads to it any more but its PDCID. */
void rx_drop(struct pds *pds, struct pdc_rx *p, weft_ns now);

#endif
