/* SPDX-License-Identifier: BSD-3-Clause */
/* Discovery of path MTUs: rounds of padded probes, for larger packets or because large packets get lost. */
#ifndef WEFT_PATH_SEARCH_H
#define WEFT_PATH_SEARCH_H

#include "pds.h"

enum { PATH_OPAQUE = 0x8000 }; /* in the opaque of probes for path MTUs, and of no others */

/* Before the first use. */
void path_init(struct remote *r);
void path_stop(struct pds *pds, struct remote *r);

/* The target is known now: the connection gets the size that its path is known for, and larger ones are looked for. */
void path_opened(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* A packet of the connection with so much payload was lost more than once: are only large ones? */
void path_suspect(struct pds *pds, struct pdc_tx *p, uint32_t payload_bytes, weft_ns now);
/* A probe with PATH_OPAQUE was answered. */
void path_answered(struct pds *pds, struct pdc_tx *p, uint16_t opaque, weft_ns now);
void path_expire(struct pds *pds, struct remote *r, weft_ns now); /* the timer has */

#endif
