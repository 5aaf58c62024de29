/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport engine: one per port, polled by one thread at a time, embedded in whatever application wants it. The
 * calls of one engine and of its endpoints are made by one thread at a time; only weft_submit and weft_cq_take may run
 * on another thread beside them. No call reads a clock: time is an argument, see weft/time.h. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/ep.h"
#include "weft/err.h"
#include "weft/mem.h"
#include "weft/mr.h"
#include "weft/recorder.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "weft/spi/port.h"
#include "weft/spi/rcc.h"
#include "weft/stats.h"
#include "weft/time.h"
#include "weft/trace.h"
#include "weft/tune.h"

WEFT_BEGIN_DECLS

struct weft_engine;

enum { WEFT_SECRET_BYTES = 32 };

/* What an engine is created with; copied but for what pointers lead to. */
struct weft_engine_conf {
	struct weft_ip ip;                        /* our address */
	const struct weft_cc_ops *cc;             /* a sender's congestion control */
	const struct weft_lb_ops *lb;             /* load balancer */
	const struct weft_lb_ops *lb_background;  /* for WEFT_OP_BACKGROUND, with its default parameters; NULL: lb */
	uint8_t background_ordered;               /* 1: their data has the DSCP of ordered traffic */
	const struct weft_rcc_ops *rcc;           /* receiver-driven congestion control beside `cc`; NULL: none */
	struct weft_engine_tune tune;             /* weft_param_defaults(weft_engine_tunes, &tune) first */
	const void *cc_tune, *lb_tune, *rcc_tune; /* the algorithms' parameter structs; copied; NULL: defaults */
	uint64_t seed;                            /* of all randomness: PSNs, entropies */
	const uint8_t *secret; /* WEFT_SECRET_BYTES that nobody can guess, instead of the seed: PSNs, PDCIDs and tokens
				* cannot be told from those seen, nor can addresses be found that collide; read once.
				* NULL: all numbers follow from `seed`, as experiments want it */
	uint8_t ids_by_seed;   /* 1: PDCIDs and job ids begin where the seed says, so that none fits what is left of an
				* engine that had our address before; 0: at 1 */
	struct weft_lb_digits digits;           /* the fabric's shape, all zero: unknown */
	uint8_t digits_read;                    /* 1: switches forward by the digits of an entropy */
	uint8_t oversubscribed;                 /* 1: the hosts of a leaf send more than its uplinks carry */
	const struct weft_lb_routes *lb_routes; /* with digits_read: the turns of unlike paths; the caller's, outlives
						 * the engine; NULL: all paths are alike */
	struct weft_mem mem;                    /* where all memory comes from; copied */
};

/* Creates an engine in `out`. `port` stays the caller's and must outlive the engine. -EINVAL with a message when a
 * number is impossible, -ENOMEM. */
int weft_engine_create(const struct weft_engine_conf *conf, struct weft_port *port, weft_ns now,
		       struct weft_engine **out, struct weft_err *err);

/* Releases everything at once; pending operations are dropped without completions, endpoints become invalid.
 * Call weft_engine_shutdown and poll first for a clean end. */
void weft_engine_destroy(struct weft_engine *e);

/* Begins a clean end: no new operations, connections are closed once their data is acknowledged. */
void weft_engine_shutdown(struct weft_engine *e, weft_ns now);

/* Ends every operation with `err` (an errno > 0), as when the device is gone: sends, receives, and those to come.
 * Messages that nobody has received are dropped. Nothing brings the engine back. Not from inside another call of it. */
void weft_engine_fail(struct weft_engine *e, int err);

/* True when nothing is in flight and no connection of ours is open. */
bool weft_engine_idle(const struct weft_engine *e);

/* Does all work that is due at `now` and returns the next time there is some: > now, or WEFT_NEVER, or `now` itself
 * when the port refused packets or a burst limit was reached and more is waiting. New packets and submissions are not
 * announced here: the shell polls when the port has packets or somebody submitted. */
weft_ns weft_engine_poll(struct weft_engine *e, weft_ns now);

/* The part of a poll that sends: takes up submissions and gives the port what may leave, but does not look at what has
 * arrived. For shells that poll soon, and are given one submission after the other. Returns what weft_engine_poll does.
 */
weft_ns weft_engine_xmit(struct weft_engine *e, weft_ns now);

/* The port tells another speed of its link, bits per second; 0: none any more. It bounds the rate of engines that look
 * for it (weft_engine_tune.probe_rate), and the pace at which the port is given packets follows it; one that was told
 * its rate keeps that. */
void weft_engine_link(struct weft_engine *e, uint64_t link_bps, weft_ns now);

/* A hint, never needed, for shells that serve many engines in turn: the engine will be polled soon, and find `pkt`
 * unless that is NULL. Stage 0 fetches into the caches what every poll touches, later stages (1, 2) what that leads to:
 * the connection, then its record of the packet. */
void weft_engine_prefetch(const struct weft_engine *e, const struct weft_pkt *pkt, unsigned stage);

/* The engine's live counters, not a copy: the engine's, valid until destroy. */
const struct weft_stats *weft_engine_stats(const struct weft_engine *e);

WEFT_END_DECLS

#endif
