/* SPDX-License-Identifier: BSD-3-Clause */
/* The one timer of an initiator, at its earliest deadline. */
#ifndef WEFT_TX_TIMER_H
#define WEFT_TX_TIMER_H

#include "pds.h"

void tx_timer_arm(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* No later than `at`. */
void tx_timer_arm_at(struct pds *pds, struct pdc_tx *p, weft_ns at);

/* Single deadlines; WEFT_NEVER: there is none. */
weft_ns tx_close_deadline(const struct pds *pds, const struct pdc_tx *p);
weft_ns tx_ask_alive_deadline(const struct pds *pds, const struct pdc_tx *p);
weft_ns tx_ask_window_deadline(const struct pds *pds, const struct pdc_tx *p);
weft_ns tx_silence_deadline(const struct pds *pds, const struct pdc_tx *p);

enum { SEARCH_BACKOFFS = 2 }; /* one timeout may be of packets that were all on one dead path */
/* Whether so many timeouts in a row have begun a search for live paths, see ev_probe.h. */
bool tx_searches(const struct pds *pds, const struct pdc_tx *p);
/* When its next round is due. */
weft_ns tx_search_deadline(const struct pds *pds, const struct pdc_tx *p);

/* Whether several timeouts in a row say that nobody answers. */
bool tx_is_out(const struct pdc_tx *p);
/* When a probe without an answer is given up, or sent again. */
weft_ns tx_probe_deadline(const struct pds *pds, const struct pdc_tx *p);

#endif
