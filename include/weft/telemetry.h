/* SPDX-License-Identifier: BSD-3-Clause */
/* What others may read of a process while it runs, through DPDK's telemetry socket: /weft/devices lists the devices,
 * /weft/stats,DEVICE gives the counters of one (weft/stats.h, weft/ethdev_stats.h, weft/tss_stats.h,
 * weft/cm_stats.h, weft/local_stats.h), and pages of /weft/conns, /weft/ops, /weft/neigh and /weft/ports tell more
 * (doc/reference/telemetry.md). */
#ifndef WEFT_TELEMETRY_H
#define WEFT_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/ethdev.h"
#include "weft/ethdev_stats.h"
#include "weft/stats.h"
#include "weft/view.h"

WEFT_BEGIN_DECLS

enum {
	WEFT_TELEMETRY_MORE_MAX = 64, /* weft_telemetry.more_count at most */
	WEFT_PORT_VALUES_MAX = 24,    /* weft_port_row.count at most */
};

/* One port, and what it counts. */
struct weft_port_row {
	char name[64];   /* distinct in its process */
	char device[64]; /* DPDK's name of the device behind it; empty: it is inside */
	bool up;         /* it has a link */
	uint64_t bps;    /* of the link now; 0: not known */
	unsigned count;  /* of values */
	struct weft_port_value {
		const char *name; /* letters, digits and '_'; constant. "drop_REASON": packets dropped for that */
		uint64_t value;   /* counts from the opening of the port, but `queue_bytes` */
	} values[WEFT_PORT_VALUES_MAX];
};

/* Copies rows of `arg`, at most `n`, and moves the cursor: see weft_engine_conns. Called on a thread of DPDK's, between
 * weft_telemetry_add and weft_telemetry_remove alone. */
typedef unsigned (*weft_conn_page_fn)(void *arg, uint32_t *cursor, struct weft_conn_row *rows, unsigned n);
typedef unsigned (*weft_op_page_fn)(void *arg, uint32_t *cursor, struct weft_op_row *rows, unsigned n);
typedef unsigned (*weft_neigh_page_fn)(void *arg, uint32_t *cursor, struct weft_neigh_row *rows, unsigned n);
typedef unsigned (*weft_port_page_fn)(void *arg, uint32_t *cursor, struct weft_port_row *rows, unsigned n);

/* One device; the caller's memory, unchanged from weft_telemetry_add to weft_telemetry_remove. */
struct weft_telemetry {
	LIST_ENTRY(weft_telemetry) link; /* ours */
	const char *name;                /* the caller's, distinct */
	/* Copies the counters of `arg`: its engine's and its port's. Called on a thread of DPDK's, between add and
	 * remove alone. NULL: there are none. */
	void (*read)(void *arg, struct weft_stats *stats, struct weft_ethdev_stats *port);
	void *arg; /* given to `read`; the caller's */
	/* Further counters: `more_count` descriptions, and what copies as many numbers in their order, as `read` does.
	 * 0: there are none. */
	unsigned more_count;
	const struct weft_counter_desc *more;
	void (*read_more)(void *arg, uint64_t *values);
	/* Pages; NULL: the device has nothing of the kind. */
	weft_conn_page_fn conns;
	weft_op_page_fn ops;
	weft_neigh_page_fn neighs;
	weft_port_page_fn ports;
};

/* The device can be read from now on, wherever EAL has telemetry. -ENOMEM, -EINVAL: DPDK takes no more commands. */
int weft_telemetry_add(struct weft_telemetry *device, struct weft_err *err);
/* Waits for a read under way: the caller holds no lock that `read` takes. Nothing reads the device any more. */
void weft_telemetry_remove(struct weft_telemetry *device);

WEFT_END_DECLS

#endif
