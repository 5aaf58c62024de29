/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads: who sends how much to whom, and when. Connection matrices in the .cm format (with triggers), or patterns
 * by name (doc/guide/workloads.md). A workload is a description: runs only read it, so several can share one. */
#ifndef WEFT_WORKLOAD_H
#define WEFT_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo.h"
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
	bool background;           /* background traffic of others, balanced apart from the rest */
};

enum weft_trigger_kind { WEFT_TRIGGER_ONESHOT, WEFT_TRIGGER_MULTISHOT, WEFT_TRIGGER_BARRIER };

struct weft_trigger {
	uint32_t id;
	uint8_t kind;      /* enum weft_trigger_kind */
	uint32_t count;    /* BARRIER: activations needed */
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

/* What a pattern depends on. */
struct weft_workload_site {
	const struct weft_topo *topo; /* NULL: patterns that depend on it are refused */
	uint64_t seed;                /* of all random choices in it */
	const char *cdf;              /* text of the file weft_workload_cdf_file names, or NULL */
	size_t cdf_bytes;             /* length of that text */
};

struct weft_workload_kind {
	const char *usage, *help;
};

/* All patterns; the last entry has a NULL usage. */
extern const struct weft_workload_kind weft_workload_kinds[];

/* True when the word before the first colon is a pattern's name. */
bool weft_workload_is_pattern(const char *spec);

/* True when the pattern draws flow sizes from a file; `path` gets the file's name, cut off when it does not fit. */
bool weft_workload_cdf_file(const char *spec, char *path, size_t size);

/* Makes the flows of "NAME:NUMBERS", see weft_workload_kinds. A SIZE may have the suffix KiB, MiB, GiB, kB, MB, GB or
 * B. -ENOENT: unknown pattern or distribution (lists the valid ones), -EINVAL, -ENOMEM. */
int weft_workload_pattern(const char *spec, const struct weft_workload_site *site, struct weft_workload *w,
			  struct weft_err *err);

/* Marks a share of the flows as background, drawn by the seed; `share` in 1 / 10^9. The number of marked flows is the
 * share of all, rounded to the nearest. */
void weft_workload_mark_background(struct weft_workload *w, uint64_t share, uint64_t seed);

/* Adds the flows of `more`, all as background, and empties it. -EINVAL when there are too many, -ENOMEM. */
int weft_workload_add_background(struct weft_workload *w, struct weft_workload *more, struct weft_err *err);

void weft_workload_free(struct weft_workload *w);

/* Activates trigger `t`, which had `*fired` activations in this run: writes the indices of the flows to start now to
 * `out` (room for all targets), returns how many. The run keeps the count, from 0 on; the workload does not change. */
uint32_t weft_trigger_fire(const struct weft_trigger *t, uint32_t *fired, uint32_t *out);

#endif
