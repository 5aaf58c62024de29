/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of local channels (weft/local.h). One list makes the struct, the names and the help. */
#ifndef WEFT_LOCAL_STATS_H
#define WEFT_LOCAL_STATS_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/stats.h"

WEFT_BEGIN_DECLS

/* Names differ from those of WEFT_COUNTERS, WEFT_PORT_COUNTERS and WEFT_TSS_COUNTERS, so that all fit one table. */
#define WEFT_LOCAL_COUNTERS(X)                                                                                         \
	X(local_tx_pkts, "packets sent to processes of this host over a channel of the two")                           \
	X(local_rx_pkts, "packets received from such channels")                                                        \
	X(local_full,                                                                                                  \
	  "packets sent through weft host although there is a channel: it stayed full, or they did not fit")           \
	X(local_late, "packets that waited for room in a full channel")                                                \
	X(local_dropped, "dropped: packets that waited when their channel ended, and weft host took none")             \
	X(local_marked, "packets marked because their channel was more than half full")                                \
	X(local_refused, "dropped: what channels brought was no packet from the peer to us; and channels closed for "  \
			 "indexes that make no sense")                                                                 \
	X(local_channels, "channels opened")                                                                           \
	X(local_wakes, "times a peer that slept was woken")

/* Since the port was opened; they never fall. */
struct weft_local_stats {
#define WEFT_COUNTER_FIELD(name, help) uint64_t name;
	WEFT_LOCAL_COUNTERS(WEFT_COUNTER_FIELD)
#undef WEFT_COUNTER_FIELD
};

enum { WEFT_LOCAL_COUNTER_COUNT = sizeof(struct weft_local_stats) / sizeof(uint64_t) };

/* In struct order; WEFT_LOCAL_COUNTER_COUNT entries, whose offsets are those in struct weft_local_stats. */
extern const struct weft_counter_desc weft_local_counter_descs[];

/* The counter that weft_local_counter_descs[i] describes; `i` is below WEFT_LOCAL_COUNTER_COUNT. */
uint64_t weft_local_stats_value(const struct weft_local_stats *stats, int i);

WEFT_END_DECLS

#endif
