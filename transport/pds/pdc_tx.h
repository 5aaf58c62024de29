/* SPDX-License-Identifier: BSD-3-Clause */
/* Initiators: open (0-RTT), restart, close, give up; their timer. */
#ifndef WEFT_PDC_TX_H
#define WEFT_PDC_TX_H

#include "pds.h"

void pdc_tx_free(struct pds *pds, struct pdc_tx *p);
void pdc_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now); /* the timer has; may free p */
/* Everything is acknowledged: drops memory, maybe closes. */
void pdc_tx_idle(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* CLOSE_CMD was acknowledged; may free p. */
void pdc_tx_closed(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* False: tried too often, or no memory. */
bool pdc_tx_restart(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* The target asks for another Start_PSN; every message starts over with it, under the same PDCID. False: not while the
 * target knows the connection, or tried too often. */
bool pdc_tx_renumber(struct pds *pds, struct pdc_tx *p, uint32_t start_psn, weft_ns now);
/* The forward direction has ended: all that is left fails with `err`, or, if that is 0, what was sent counts as having
 * arrived. Frees p. */
void pdc_tx_end_return(struct pds *pds, struct pdc_tx *p, int err);
/* Its target wants it closed: at once when it is idle, else when it is. */
void pdc_tx_close_asked(struct pds *pds, struct pdc_tx *p, weft_ns now);
void pdc_tx_shutdown(struct pds *pds, struct pdc_tx *p, weft_ns now);

#endif
