/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for live paths after timeouts in a row (timeout_probes): packets without payload try many entropies at
 * once, where data with a small window tries one per timeout. Each further timeout has a round of probes. Between
 * timeouts there are more of them, the less often the longer the search takes, and in a search that soon follows
 * another as rarely as at its end; all connections together have as many of these as one alone may have. */
#ifndef WEFT_EV_PROBE_H
#define WEFT_EV_PROBE_H

#include "pds.h"

enum { EV_OPAQUE = 0x6000 }; /* in the opaque of these probes, and of no others */

/* Something timed out, at `now`. */
void ev_probe_timeout(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* The next round is due, see tx_search_deadline. */
void ev_probe_expire(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* A probe with EV_OPAQUE was answered: its entropy arrives, and so does the answer. What has timed out is sent again,
 * once for each timeout. */
void ev_probe_answered(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now);

#endif
