/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for live paths after timeouts in a row (timeout_probes): packets without payload try many entropies at
 * once, where data with a small window tries one per timeout. */
#ifndef WEFT_EV_PROBE_H
#define WEFT_EV_PROBE_H

#include "pds.h"

enum { EV_OPAQUE = 0x6000 }; /* in the opaque of these probes, and of no others */

/* Something that had timed out before timed out again. */
void ev_probe_start(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* A probe with EV_OPAQUE was answered: its entropy arrives, and so does the answer. */
void ev_probe_answered(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now);

#endif
