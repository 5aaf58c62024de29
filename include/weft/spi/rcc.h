/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver-driven congestion control contract: how much credit each sender is given, and when. The engine carries
 * demand and credit (doc/reference/protocol.md), keeps the senders that want some in a list and gives them turns at the
 * pace of the host's link; an algorithm decides whose demand counts for how much. It sees numbers, never packets,
 * connections, ports or other senders. A connection may run a sender's algorithm (cc.h) at the same time: then a packet
 * needs window and credit (SMaRTT sec. VI). Integer or fixed-point arithmetic only. All byte counts are wire bytes
 * (pkt.h).
 *
 * Two kinds of algorithms share the contract. Those that pull (EQDS) answer demand: next_credit says how much, the
 * host's pacer says when. Those that schedule (SprayPass, ExpressPass) send credits of a fixed amount to everybody who
 * has data, each sender's at a pace and on paths of the algorithm's choice; the fabric drops what its links could not
 * answer with data, and what comes back tells how much that was. They fill `schedule` and `on_stop` instead of
 * next_credit. */
#ifndef WEFT_RCC_H
#define WEFT_RCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/cc.h"
#include "weft/spi/param.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

enum {
	WEFT_RCC_STATE_MAX = 32,      /* bytes of private state inside each connection */
	WEFT_RCC_UNIT_BYTES = 256,    /* demand and credit are counted in this on the wire */
	WEFT_RCC_MAX_BYTES = 1 << 30, /* demand beyond what was granted, and unused credit, are never more */
};

/* Numbers of the whole host, asked for once; filled in by the algorithm. */
struct weft_rcc_limits {
	uint32_t first_bytes;  /* an idle sender may send this much before it has credit; 0: it must ask first */
	uint32_t credit_bytes; /* most a sender asks for ahead and keeps unused, full packet..WEFT_RCC_MAX_BYTES */
	uint64_t pace;         /* 2^-20 ns per byte of credit, over all senders; > 0 */
	/* Algorithms that schedule only; 0 otherwise. */
	uint32_t paths;         /* path numbers `schedule` draws from are 0..paths-1; 1..65535 */
	uint32_t queue_credits; /* credits that may wait in the host, beyond them some are dropped; > 0 */
	weft_ns linger_ns;      /* a sender without data keeps credits this long, then it sends a stop */
	bool strict;            /* refuse to go on in a fabric that does not limit credits */
};

/* A data packet of this sender arrived. */
struct weft_rcc_data {
	uint32_t bytes; /* of the packet as it was sent */
	bool trimmed;   /* its payload was removed: it has to be sent again, which needs credit */
	bool ce;        /* it was marked: the credit was, or the packet itself in a queue */
	/* Only for algorithms that schedule. */
	bool retx;       /* an earlier copy of it was lost */
	bool scheduled;  /* a credit called for it; otherwise the fields below mean nothing */
	uint16_t path;   /* of that credit, as `schedule` numbers them; UINT16_MAX: none of ours */
	uint32_t credit; /* the credit's number: they count up by one, modulo 2^24 */
	weft_ns rtt_ns;  /* sample: from the credit's departure to this packet; 0: none */
};

/* One credit that is about to leave. */
struct weft_rcc_credit {
	uint32_t path;   /* 0..limits.paths-1 */
	weft_ns wait_ns; /* from it to the next one of this sender */
};

/* One sender's credit at its receiver, embedded in the connection. */
struct weft_rcc {
	const struct weft_rcc_ops *ops;      /* the handlers to call */
	const struct weft_cc_params *params; /* shared by all connections; `tune` is this algorithm's */
	/* Credit still to be granted, 0..WEFT_RCC_MAX_BYTES. The engine reads it after every event; as long as it is
	 * not 0, the sender gets turns. */
	uint32_t wanted_bytes;
	void *more; /* more_bytes() of further state, zeroed before init; the connection's; or NULL */
	WEFT_ALIGNAS(8) uint8_t state[WEFT_RCC_STATE_MAX]; /* the algorithm's */
};

/* What an algorithm that schedules credits knows of one sender, for time series. */
struct weft_rcc_view {
	uint32_t rate_permille; /* of credits, of the highest without tolerated losses; can be above 1000 */
	uint32_t looks;         /* how often the speeds of paths were compared so far */
	uint16_t paths;         /* path numbers in use */
	uint16_t valid;         /* how many of them are not excluded, 0..paths */
	/* Speed of the slowest valid path over the fastest at the last comparison, 0..1000. */
	uint16_t slowest_permille;
	uint16_t least_permille; /* the least of these so far; 1000: no comparison yet */
};

/* One algorithm, constant. */
struct weft_rcc_ops {
	const char *name;               /* on the command line, without blanks, '+', ',' and '/' */
	const char *help;               /* one line for --help and doc/ */
	const char *sender;             /* name of the sender's algorithm (cc.h) when none is chosen beside this one */
	const char *sender_set;         /* a parameter of it that differs from its default then, key=value; or NULL */
	const struct weft_param *tunes; /* NULL-key-terminated description of `tune`, or NULL */
	size_t tune_size;               /* bytes of the struct behind params->tune */
	size_t state_size;              /* <= WEFT_RCC_STATE_MAX, asserted in the algorithm's file */
	/* Fills in what these parameters give; called once per engine. `limits` is the caller's. */
	void (*limits)(const struct weft_cc_params *params, struct weft_rcc_limits *limits);
	void (*init)(struct weft_rcc *rcc, weft_ns now); /* ops and params are set already, wanted_bytes is 0 */
	void (*view)(const struct weft_rcc *rcc, struct weft_rcc_view *view); /* optional; for time series */
	/* The sender said it lacks credit for `bytes` beyond all it was granted; > 0, up to WEFT_RCC_MAX_BYTES, a
	 * multiple of the unit. Late news may be lower than what is known; nobody takes demand back. */
	void (*on_demand)(struct weft_rcc *rcc, uint32_t bytes, weft_ns now);
	/* Optional. After every data packet of the sender; `ev` is the caller's, valid during the call. */
	void (*on_data)(struct weft_rcc *rcc, const struct weft_rcc_data *ev, weft_ns now);
	/* The sender's turn, while wanted_bytes > 0: bytes to grant now, a positive multiple of the unit. Algorithms
	 * that schedule have none. */
	uint32_t (*next_credit)(struct weft_rcc *rcc, weft_ns now);
	/* Algorithms that schedule, others have none of these. The next credit of a sender, while wanted_bytes > 0: one
	 * full packet. `draw` is uniform over all 64-bit numbers. */
	void (*schedule)(struct weft_rcc *rcc, uint64_t draw, struct weft_rcc_credit *credit, weft_ns now);
	void (*on_stop)(struct weft_rcc *rcc, weft_ns now); /* the sender has no data any more; wanted_bytes gets 0 */
	/* Bytes of state beside `state`, one allocation for the connection's life; optional. */
	size_t (*more_bytes)(const struct weft_cc_params *params);
};

/* All algorithms, NULL-terminated; drives the command line, documentation and contract tests. */
extern const struct weft_rcc_ops *const weft_rcc_table[];

/* By name, or NULL. */
const struct weft_rcc_ops *weft_rcc_find(const char *name);

/* What one name stands for. */
struct weft_cc_choice {
	const struct weft_cc_ops *cc;   /* never NULL */
	const struct weft_rcc_ops *rcc; /* NULL: no credit */
};

/* Where a name is looked up: NULL-terminated tables, as weft_cc_table and weft_rcc_table are. */
struct weft_cc_tables {
	const struct weft_cc_ops *const *cc;
	const struct weft_rcc_ops *const *rcc;
	const char *also; /* a name that the caller takes itself, for the list of valid ones; NULL: none */
};

/* `name` is a sender's algorithm, a receiver's (with its own choice for the sender), or RECEIVER+SENDER. -ENOENT with a
 * message that lists the valid names; both pointers NULL. */
int weft_cc_select_from(const struct weft_cc_tables *tables, const char *name, struct weft_cc_choice *choice,
			struct weft_err *err);
/* The same among the library's algorithms. */
int weft_cc_select(const char *name, struct weft_cc_choice *choice, struct weft_err *err);

/* Defaults of the sender's parameters under this name into `cc_tune` (choice->cc->tune_size bytes). */
void weft_cc_select_defaults(const char *name, const struct weft_cc_choice *choice, void *cc_tune);

WEFT_END_DECLS

#endif
