/* SPDX-License-Identifier: BSD-3-Clause */
/* Load balancing contract: which entropy the next packet takes, and how earlier ones fared. */
#ifndef WEFT_LB_H
#define WEFT_LB_H

#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

/* What became of a packet. OK: it arrived unmarked and its ACK came back. COVERED: it arrived unmarked, as the ACK of
 * another packet says, so that nobody knows whether an ACK with its entropy comes back. LOSS: lost, congestion is the
 * likely reason. TIMEOUT: lost, a failed path is the likely reason. The transport tells them apart (REPS appendix A).
 */
enum weft_lb_fb {
	WEFT_LB_OK,
	WEFT_LB_COVERED,
	WEFT_LB_CE,
	WEFT_LB_TRIM,
	WEFT_LB_LOSS,
	WEFT_LB_TIMEOUT,
	WEFT_LB_FB_KINDS
};

/* Parts of an entropy that names ports instead of being hashed (PRIME sec. III-D): one per tier of switches with
 * uplinks, part 0 for the leaves. */
enum { WEFT_LB_PARTS = 3 };

/* How the parts share the 16 bits of an entropy: part i lies `shift[i]` bits from the lowest and is `bits[i]` wide, the
 * leaves' part lowest. A switch of tier i sends a packet that goes up through its uplink weft_lb_digit(.., i) modulo
 * its uplinks. All zero: nobody knows the fabric's shape. */
struct weft_lb_digits {
	uint16_t values[WEFT_LB_PARTS]; /* uplinks of a switch of that tier; 0 or 1: the part says nothing, 0 bits */
	uint8_t shift[WEFT_LB_PARTS];
	uint8_t bits[WEFT_LB_PARTS];
};

/* Load balancers that count through paths (`counts_paths`) remember each of them: so many bits of an entropy at most,
 * from the lowest. What parts need beyond them is cut off, and nothing takes those uplinks. */
enum { WEFT_LB_COUNTED_BITS = 12 };

/* Packs parts with that many values, as few bits each as possible; a part that does not fit is cut to the values the
 * bits left over can tell apart. */
static inline void weft_lb_digits_init(struct weft_lb_digits *d, const uint32_t values[WEFT_LB_PARTS])
{
	uint32_t shift = 0;

	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++) {
		uint32_t bits = 0, n = values[i];
		while (bits < 16 - shift && (n > UINT32_C(1) << bits))
			bits++;
		n = n < UINT32_C(1) << bits ? n : UINT32_C(1) << bits;
		d->values[i] = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
		d->shift[i] = (uint8_t)shift;
		d->bits[i] = (uint8_t)bits;
		shift += bits;
	}
}

/* Part i of an entropy; 0 for a part that says nothing. */
static inline uint32_t weft_lb_digit(const struct weft_lb_digits *d, uint16_t ev, uint32_t i)
{
	return (uint32_t)ev >> d->shift[i] & ((UINT32_C(1) << d->bits[i]) - 1);
}

/* Whose turn it is among the paths to one destination, where they are not all alike: a path of twice the capacity has
 * twice the turns, one that routing avoids has none. */
struct weft_lb_turns {
	uint32_t count;              /* >= 1 */
	__extension__ uint16_t ev[]; /* the entropies that name the paths, in order; then from the beginning */
};

/* What routing tells hosts of unlike paths, as Presto's controller does. Owned by whoever runs the engine, and outlives
 * it. */
struct weft_lb_routes {
	void *arg;
	/* Turns towards `dst`, an address as in struct weft_pkt, which may be any; NULL: all paths are alike, or nobody
	 * knows better. The answer holds until routing changes: do not keep it. */
	const struct weft_lb_turns *(*turns)(void *arg, uint32_t dst);
};

/* Shared by all connections of an engine, owned by the engine. */
struct weft_lb_params {
	uint32_t evs_size;                   /* entropy values in use: EVs are 0..evs_size-1; 1..65536 */
	uint32_t bdp_pkts;                   /* full packets in one BDP, >= 1 */
	weft_ns brtt_ns;                     /* idle round trip */
	const void *tune;                    /* the algorithm's own parameters (its `tune_size` bytes) */
	struct weft_lb_digits digits;        /* the fabric's shape, if it is known */
	uint8_t digits_read;                 /* 1: switches forward by digits; 0: they hash the entropy */
	uint32_t payload_bytes;              /* of a full packet; 0: unknown */
	const struct weft_lb_routes *routes; /* where digits are read; NULL: nobody tells */
	uint32_t host;          /* weft_ip_low32 of the own address: hosts of a leaf are numbered in a row, as a rule */
	uint8_t oversubscribed; /* 1: the hosts of a leaf send more than its uplinks carry */
};

/* Head of a load balancer; `ops->state_size` bytes of private state follow it directly (weft_lb_state). */
struct weft_lb {
	const struct weft_lb_ops *ops;
	const struct weft_lb_params *params;
};

/* For traces and tables. */
struct weft_lb_view {
	uint32_t cached_evs; /* good entropies remembered */
	uint8_t frozen;      /* avoids exploring after a failure */
	uint32_t freezes;    /* times frozen so far */
};

/* One load balancer, constant. */
struct weft_lb_ops {
	const char *name;               /* on the command line, distinct, without blanks and ',' */
	const char *help;               /* one line for --help and doc/ */
	const struct weft_param *tunes; /* NULL-key-terminated description of `tune`, or NULL */
	size_t tune_size;               /* bytes of the struct behind params->tune; 0: none */
	size_t state_size;              /* with default parameters; multiple of 8 */
	uint8_t counts_paths; /* its entropies go through the paths one by one: pointless where nothing looks at them */
	/* The same when it depends on the parameters; optional. */
	size_t (*state_bytes)(const struct weft_lb_params *params);
	void (*init)(struct weft_lb *lb, uint64_t seed, weft_ns now); /* ops and params are set already */
	/* Optional: who all packets are for, as params->routes is asked; once after `init`. */
	void (*towards)(struct weft_lb *lb, uint32_t dst);
	/* The entropy of the packet with this number, 0..params->evs_size-1; called once per packet sent,
	 * retransmissions and control packets included. */
	uint16_t (*pick)(struct weft_lb *lb, uint32_t psn, weft_ns now);
	/* What became of a packet with entropy `ev`. It may have been read from the network: any 16 bits, picked or
	 * not. */
	void (*feedback)(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now);
	/* Optional, instead of `feedback` with WEFT_LB_OK or WEFT_LB_CE where the packet's round trip was measured: it
	 * took `wait_ns` longer than the connection's idle one. What is left of the last message leaves in `left_ns`,
	 * if the window stays as it is: from then on late packets delay the end. WEFT_NEVER: the window does not hold
	 * it, other messages follow, or all was sent. */
	void (*answered)(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns wait_ns, weft_ns left_ns,
			 weft_ns now);
	void (*view)(const struct weft_lb *lb, struct weft_lb_view *view); /* optional */
};

static inline void *weft_lb_state(struct weft_lb *lb)
{
	return lb + 1;
}

/* Bytes of private state with these parameters. */
static inline size_t weft_lb_state_bytes(const struct weft_lb_ops *ops, const struct weft_lb_params *params)
{
	return ops->state_bytes ? ops->state_bytes(params) : ops->state_size;
}

/* All load balancers, NULL-terminated; drives the command line, documentation and contract tests. */
extern const struct weft_lb_ops *const weft_lb_table[];

/* By name, or NULL. */
const struct weft_lb_ops *weft_lb_find(const char *name);
/* By name from a table as weft_lb_table is; -ENOENT with a message that lists the valid names, and *ops NULL. `also`: a
 * name that the caller takes itself, which the list begins with; NULL: none. */
int weft_lb_choose_from(const struct weft_lb_ops *const *table, const char *also, const char *name,
			const struct weft_lb_ops **ops, struct weft_err *err);
/* The same from weft_lb_table. */
int weft_lb_choose(const char *name, const struct weft_lb_ops **ops, struct weft_err *err);

/* What a fabric and a transport offer to choose paths by. */
struct weft_lb_offer {
	uint8_t switches_choose; /* per packet, without looking at entropies */
	uint8_t digits;          /* switches forward by the digits of an entropy; otherwise they hash it */
	uint8_t ecn;             /* they mark */
	uint8_t trimming;        /* they trim */
	uint8_t all_acked;       /* feedback for every packet a coalesced ACK covers */
	uint32_t ack_every;      /* packets per ACK */
};

/* The load balancer that suits it, and why, in a constant string. */
const struct weft_lb_ops *weft_lb_auto(const struct weft_lb_offer *offer, const char **reason);

WEFT_END_DECLS

#endif
