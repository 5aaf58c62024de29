/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a process that others may read while it runs, through DPDK's telemetry socket: /weft/devices lists the
 * devices, /weft/stats,DEVICE gives the counters of one (weft/stats.h, weft/ethdev_stats.h, weft/tss_stats.h). */
#ifndef WEFT_TELEMETRY_H
#define WEFT_TELEMETRY_H

#include <sys/queue.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/ethdev_stats.h"
#include "weft/stats.h"

WEFT_BEGIN_DECLS

enum { WEFT_TELEMETRY_MORE_MAX = 64 }; /* weft_telemetry.more_count at most */

/* One device; the caller's memory, unchanged from weft_telemetry_add to weft_telemetry_remove. */
struct weft_telemetry {
	LIST_ENTRY(weft_telemetry) link; /* ours */
	const char *name;                /* the caller's, distinct */
	/* Copies the counters of `arg`: its engine's and its port's. Called on a thread of DPDK's, between add and
	 * remove alone. */
	void (*read)(void *arg, struct weft_stats *stats, struct weft_ethdev_stats *port);
	void *arg; /* given to `read`; the caller's */
	/* Further counters: `more_count` descriptions, and what copies as many numbers in their order, as `read` does.
	 * 0: there are none. */
	unsigned more_count;
	const struct weft_counter_desc *more;
	void (*read_more)(void *arg, uint64_t *values);
};

/* The device can be read from now on, wherever EAL has telemetry. -ENOMEM, -EINVAL: DPDK takes no more commands. */
int weft_telemetry_add(struct weft_telemetry *device, struct weft_err *err);
/* Waits for a read under way: the caller holds no lock that `read` takes. Nothing reads the device any more. */
void weft_telemetry_remove(struct weft_telemetry *device);

WEFT_END_DECLS

#endif
