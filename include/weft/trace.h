/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking into an engine while it runs: views of its connections, and an observer of feedback. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "weft/spi/rcc.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

struct weft_engine;

/* One connection we send on. */
struct weft_conn_view {
	const struct weft_ip *ip; /* of the peer; the engine's, valid during the call */
	uint32_t cwnd_bytes;      /* congestion window, wire bytes */
	uint64_t inflight_bytes;  /* sent and neither acknowledged nor declared lost, wire bytes */
	weft_ns brtt_ns;          /* base RTT */
	weft_ns srtt_ns;          /* smoothed RTT; 0: no sample yet */
	int32_t ev;               /* entropy of the newest transmission in flight; -1: nothing is in flight */
	uint32_t payload_bytes;   /* of a full packet: what the path carries, as far as is known */
	bool background;          /* the connection of WEFT_OP_BACKGROUND; there may be another to the same peer */
	bool apart;               /* a connection of WEFT_OP_APART; likewise */
	struct weft_cc_view cc;   /* as the algorithm tells it; all zero when it has no view */
	struct weft_lb_view lb;   /* likewise, of the load balancer */
};

/* Calls `fn` for each connection we send on, in order of opening. */
void weft_engine_view(const struct weft_engine *e, void (*fn)(void *arg, const struct weft_conn_view *view), void *arg);

/* The same for each connection a peer sends on, while a receiver-driven algorithm (rcc.h) with a view runs: the peer,
 * and what the algorithm knows. */
void weft_engine_credit_view(const struct weft_engine *e,
			     void (*fn)(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *view),
			     void *arg);

/* An observer for tests. Its function may not call the engine. What became of packets, weft/recorder.h tells. */
struct weft_trace_ops {
	/* The load balancer was told what became of a packet with this entropy. NULL: not wanted. */
	void (*feedback)(void *arg, const struct weft_ip *peer, uint16_t ev, enum weft_lb_fb fb, weft_ns now);
	void *arg; /* given to it */
};

/* From now on `trace` (copied) observes; NULL: nobody. */
void weft_engine_trace(struct weft_engine *e, const struct weft_trace_ops *trace);

WEFT_END_DECLS

#endif
