/* SPDX-License-Identifier: BSD-3-Clause */
/* What the port knows of the way to a silent target: whether it is worth repeating packets. */
#ifndef WEFT_WAY_H
#define WEFT_WAY_H

#include "pds.h"

/* A timeout has expired, if one has: it is put off while packets still wait for a neighbour, else the port is told of
 * its doubts. 0, or the errno value with which the connection has to fail. */
int way_check(struct pds *pds, struct pdc_tx *p, weft_ns now);

#endif
