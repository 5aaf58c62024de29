/* SPDX-License-Identifier: BSD-3-Clause */
/* Which endpoints the engine has to look at: those to which somebody submitted since the last look (ses.rung, a stack
 * that any thread may push to and the engine empties at once), and those with something left over (ses.ready). A poll
 * visits no others, so endpoints without work cost it nothing. */
#ifndef WEFT_DOORBELL_H
#define WEFT_DOORBELL_H

#include "endpoint.h"

/* After an operation is in the endpoint's ring. By its producer, beside everything the engine does. */
void doorbell_ring(struct weft_ep *ep);

/* Endpoints that were rung for join ses.ready, in that order. By the thread that polls. */
void doorbells_collect(struct ses *ses);

#endif
