/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion control contract: how much may be in flight. An algorithm sees numbers, never packets, connections,
 * ports or load balancers. Integer or fixed-point arithmetic only. All byte counts are wire bytes (pkt.h). */
#ifndef WEFT_CC_H
#define WEFT_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

enum { WEFT_CC_STATE_MAX = 64 }; /* bytes of private state inside each connection */

/* Why bytes were lost. */
enum weft_cc_loss_kind { WEFT_CC_LOSS_TRIM, WEFT_CC_LOSS_GAP, WEFT_CC_LOSS_TIMEOUT, WEFT_CC_LOSS_KINDS };

/* What an algorithm is set up with; shared by all connections of an engine, owned by the engine. */
struct weft_cc_params {
	uint64_t link_bps;  /* the host's link, bits per second, > 0 */
	weft_ns brtt_ns;    /* idle round trip of a full packet on the longest path, > 0 */
	uint32_t mtu_bytes; /* wire bytes of a full data packet */
	bool trimming;      /* the fabric trims instead of dropping */
	const void *tune;   /* the algorithm's own parameters (its `tune_size` bytes), never NULL when it has any */
	uint32_t ack_bytes; /* what the ACKs of a data packet take on the way back, on average; 0: not known */
	/* Connections of this host that have something to send or in flight, now: the engine counts. It outlives all
	 * connections. NULL: nobody counts. */
	const uint32_t *busy_conns;
};

/* A data packet was handed to the port. */
struct weft_cc_sent {
	uint32_t bytes;          /* of this packet */
	uint64_t inflight_bytes; /* including this packet */
};

/* An ACK arrived. */
struct weft_cc_ack {
	uint32_t bytes;          /* newly acknowledged by this ACK; may be 0 */
	uint64_t inflight_bytes; /* after removing `bytes` */
	weft_ns rtt_ns;          /* sample without the receiver's service time; 0: no valid sample */
	weft_ns brtt_ns;         /* the connection's current base RTT, > 0; may fall over time */
	bool ce;                 /* the packet that triggered the ACK was marked */
	/* What the receiver says: its link has room, and connections like this one would fill it with `share_bps` each;
	 * or it has none, and this is an equal part of it. */
	bool has_room;
	uint64_t share_bps; /* 0: it says nothing */
};

/* A packet was declared lost, or its payload was trimmed. */
struct weft_cc_loss {
	enum weft_cc_loss_kind kind;
	uint32_t bytes;          /* of the lost packet */
	uint64_t inflight_bytes; /* after removing it */
	uint64_t share_bps;      /* trimmed for lack of room in the receiver's link: an equal part of that; else 0 */
};

/* For traces and tables; fields an algorithm does not have stay 0. */
struct weft_cc_view {
	weft_ns avg_rtt_ns;      /* moving average of RTT samples */
	weft_ns target_rtt_ns;   /* RTT it aims at */
	uint32_t quick_adapts;   /* times the window was set to what got through, modulo 256 */
	uint32_t fast_increases; /* times the window began to grow fast, modulo 256 */
	uint32_t decreases;      /* multiplicative decreases, modulo 256 */
};

/* One connection's congestion control, embedded in it. */
struct weft_cc {
	const struct weft_cc_ops *ops;       /* the handlers to call */
	const struct weft_cc_params *params; /* the engine's */
	uint32_t cwnd_bytes;                 /* read by the engine after every event; always >= params->mtu_bytes */
	uint32_t pace;                       /* 2^-20 ns per byte between packets, up to 4 us per byte; 0: unpaced */
	WEFT_ALIGNAS(8) uint8_t state[WEFT_CC_STATE_MAX]; /* the algorithm's */
};

/* One algorithm, constant. */
struct weft_cc_ops {
	const char *name;               /* on the command line, without blanks, '+', ',' and '/' */
	const char *help;               /* one line for --help and doc/ */
	const struct weft_param *tunes; /* NULL-key-terminated description of `tune`, or NULL */
	size_t tune_size;               /* bytes of the struct behind params->tune */
	size_t state_size;              /* <= WEFT_CC_STATE_MAX, asserted in the algorithm's file */
	/* ops and params are set already. An algorithm with variants chooses its handlers here, once, by its
	 * parameters: it may set cc->ops to another table, with the same name and parameters. */
	void (*init)(struct weft_cc *cc, weft_ns now);
	void (*on_sent)(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now); /* optional */
	/* After every ACK; sets cwnd_bytes and pace. `ev` is the caller's, valid during the call. */
	void (*on_ack)(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now);
	/* After every packet declared lost, and every trimmed one; otherwise as on_ack. */
	void (*on_loss)(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now);
	void (*view)(const struct weft_cc *cc, struct weft_cc_view *view); /* optional */
};

/* All algorithms, NULL-terminated; drives the command line, documentation and contract tests. */
extern const struct weft_cc_ops *const weft_cc_table[];

/* By name, or NULL. */
const struct weft_cc_ops *weft_cc_find(const char *name);
/* By name from a table as weft_cc_table is; -ENOENT with a message that lists the valid names, and *ops NULL. `also`: a
 * name that the caller takes itself, which the list begins with; NULL: none. */
int weft_cc_choose_from(const struct weft_cc_ops *const *table, const char *also, const char *name,
			const struct weft_cc_ops **ops, struct weft_err *err);
/* The same from weft_cc_table. */
int weft_cc_choose(const char *name, const struct weft_cc_ops **ops, struct weft_err *err);

/* What "auto" stands for: the sender-based algorithm that is best in most of what was measured (doc/guide/tuning.md).
 */
const struct weft_cc_ops *weft_cc_auto(void);

WEFT_END_DECLS

#endif
