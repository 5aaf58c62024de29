/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RESIZE_H
#define WEFT_RESIZE_H

#include "pds.h"

/* Full packets of the connection have so much payload from now on. What is in flight and larger counts as lost, and
 * nobody learns it; what is lost and larger is withdrawn when its turn comes (withdraw.h). */
void resize(struct pds *pds, struct pdc_tx *p, uint16_t payload_bytes, weft_ns now);

#endif
