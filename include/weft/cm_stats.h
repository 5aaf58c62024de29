/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of connections (FI_EP_MSG) of a device of the provider. One list makes the struct, the names and the help.
 */
#ifndef WEFT_CM_STATS_H
#define WEFT_CM_STATS_H

#include <stdint.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

/* Every connection request that arrives is counted in cm_requests, and in a row with cm_refused or cm_no_mem unless the
 * application is told of it. What was established (cm_connected) has ended in cm_shut_down or cm_broken, or is there
 * still. Names differ from those of WEFT_COUNTERS, WEFT_PORT_COUNTERS, WEFT_TSS_COUNTERS and WEFT_LOCAL_COUNTERS, so
 * that all fit one table. */
#define WEFT_CM_COUNTERS(X)                                                                                            \
	X(cm_requests, "connection requests that arrived")                                                             \
	X(cm_refused_nobody, "refused: nobody listens at their number")                                                \
	X(cm_refused_backlog, "refused: as many wait for the application as may")                                      \
	X(cm_refused_host, "refused: half of those that may wait are of the same host")                                \
	X(cm_no_mem, "connection requests dropped for lack of memory")                                                 \
	X(cm_rejected, "connection requests that the application rejected")                                            \
	X(cm_given_up, "connection requests that their sender withdrew before they were answered")                     \
	X(cm_called, "connection requests sent")                                                                       \
	X(cm_connected, "connections established, by either side")                                                     \
	X(cm_not_connected, "attempts of ours to connect, or to accept, that failed")                                  \
	X(cm_timed_out, "of these: the peer did not answer in time")                                                   \
	X(cm_shut_down, "connections that either side shut down or closed")                                            \
	X(cm_broken, "connections that ended because the peer was silent or had lost them")                            \
	X(cm_bad, "messages dropped: from another endpoint than that for connections, or not understood")              \
	X(cm_unknown, "messages about connections that are not there, and were answered so")                           \
	X(cm_answer_drop, "answers to strangers dropped: too many are under way")

/* Since the device was opened; they never fall. */
struct weft_cm_stats {
#define WEFT_COUNTER_FIELD(name, help) uint64_t name;
	WEFT_CM_COUNTERS(WEFT_COUNTER_FIELD)
#undef WEFT_COUNTER_FIELD
};

enum { WEFT_CM_COUNTER_COUNT = sizeof(struct weft_cm_stats) / sizeof(uint64_t) };

WEFT_END_DECLS

#endif
