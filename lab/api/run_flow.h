/* SPDX-License-Identifier: BSD-3-Clause */
/* The fate of one flow of a run. */
#ifndef WEFT_RUN_FLOW_H
#define WEFT_RUN_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "reorder.h"
#include "weft/time.h"

/* Times are since the start of the run, in ps; WEFT_NEVER: has not happened. */
struct run_flow {
	uint64_t bytes;
	weft_ps start;               /* submitted at the sender */
	weft_ps acked;               /* last byte acknowledged there */
	weft_ps delivered;           /* last byte placed at the receiver */
	weft_ps ideal;               /* shortest possible FCT, alone in the fabric; 0: unknown */
	int32_t err;                 /* errno of the operation that failed, 0 */
	bool verified;               /* every byte arrived exactly once and was the right one */
	bool background;             /* of --background */
	struct reorder_counts order; /* of its packets' arrival; in the lab */
};

#endif
