/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads: who sends how much to whom, and when. Connection matrices in the .cm format (with triggers), or patterns
 * by name. */
#ifndef WEFT_WORKLOAD_H
#define WEFT_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"
#include "weft/time.h"

struct weft_flow {
	uint32_t src, dst;         /* hosts */
	uint32_t id;               /* from the file, unique when not 0 */
	uint64_t bytes;            /* > 0 */
	weft_ns start_ns;          /* WEFT_NEVER: started by a trigger */
	int32_t start_trigger;     /* index into triggers, or -1 */
	int32_t send_done_trigger; /* fired when the sender has every acknowledgement; or -1 */
	int32_t recv_done_trigger; /* fired when the receiver has every byte; or -1 */
};

enum weft_trigger_kind { WEFT_TRIGGER_ONESHOT, WEFT_TRIGGER_MULTISHOT, WEFT_TRIGGER_BARRIER };

struct weft_trigger {
	uint32_t id;
	uint8_t kind;      /* enum weft_trigger_kind */
	uint32_t count;    /* BARRIER: activations needed */
	uint32_t fired;    /* activations so far (run time) */
	uint32_t *targets; /* flow indices in file order */
	uint32_t target_count;
};

struct weft_workload {
	uint32_t nodes;
	struct weft_flow *flows;
	uint32_t flow_count;
	struct weft_trigger *triggers;
	uint32_t trigger_count;
};

/* Parses .cm text; messages as name:line: reason. -EINVAL, -ENOMEM. `start` is in integer microseconds. */
int weft_workload_parse(const char *text, size_t len, const char *name, struct weft_workload *w, struct weft_err *err);

/* "permutation:N:SIZE", "incast:SENDERS:SIZE" (to host 0), "alltoall:N:SIZE[:K]" (K flows of a node at a time, the next
 * starts when one completes). SIZE with suffix KiB, MiB, GiB, kB, MB, GB, B or none. -ENOENT: unknown pattern (lists
 * the valid ones), -EINVAL. */
int weft_workload_pattern(const char *spec, uint64_t seed, struct weft_workload *w, struct weft_err *err);

void weft_workload_free(struct weft_workload *w);

/* Fires trigger `t`: writes the indices of the flows to start now to `out` (room for all targets), returns how many. */
uint32_t weft_trigger_fire(struct weft_trigger *t, uint32_t *out);

#endif
