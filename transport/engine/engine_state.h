/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine: packet delivery, semantics, and when they want to be polled. */
#ifndef WEFT_ENGINE_STATE_H
#define WEFT_ENGINE_STATE_H

#include "pds.h"
#include "ses.h"

enum { ENGINE_BURST = 32 }; /* packets per receive burst */

struct weft_engine {
	struct pds pds; /* first, because every packet touches it */
	struct ses ses;
	struct wire_rules rules; /* what received packets are checked against */
	weft_ns due_ns;          /* what the last poll returned */
};

/* One received burst: each packet to the step it belongs to. */
void engine_rx(struct weft_engine *e, struct weft_pkt **pkts, uint16_t n, weft_ns now);

#endif
