/* SPDX-License-Identifier: BSD-3-Clause */
/* The load balancers of this folder and the parameters a user may set. Selected by name through weft_lb_find. */
#ifndef LB_OPS_H
#define LB_OPS_H

#include <stdbool.h>

#include "rng.h"
#include "weft/spi/lb.h"

/* Parameters of "reps" and "reps2". */
struct reps_tune {
	uint64_t freeze_ns;       /* how long a failure keeps it from exploring */
	uint32_t ring;            /* entropies remembered */
	uint8_t evict;            /* a timed-out entropy leaves the cache */
	uint8_t refreeze;         /* a failure ends exploring that lasts longer than a base RTT */
	uint32_t late_pct;        /* reps2: not cached is what waited longer than this share of the mean wait ... */
	uint32_t late_pkts;       /* ... and longer than so many full packets take, */
	uint32_t late_left_pct;   /* or, near a message's end, than this share of the time that is left; 0: no matter */
	uint32_t late_trim_brtts; /* ... and neither counts for so many base RTTs after a trimmed packet */
	uint32_t mark_wait_pct;   /* reps2: marks do not count up to this share of the mean wait */
	uint32_t move_pkts;       /* reps2: ... nor before so many packets after one that did */
	uint32_t move_sure_pct;   /* ... that waited no longer than this share of the mean wait */
	uint8_t move_to_best;     /* reps2: the best entropy takes the place of one given up */
};

/* Parameters of "plb". */
struct plb_tune {
	uint32_t mark_pct; /* share of marked packets above which a round is congested */
	uint32_t rounds;   /* congested rounds in a row before another path is taken */
};

/* Parameters of "flowlet". */
struct flowlet_tune {
	uint64_t gap_ns;  /* idle time that ends a flowlet; 0: gap_pct */
	uint32_t gap_pct; /* the same, of the base RTT */
};

/* Parameters of "presto". */
struct presto_tune {
	uint32_t flowcell_bytes; /* payload that keeps its path */
};

/* Parameters of "mptcp". */
struct mptcp_tune {
	uint32_t subflows; /* entropies in use at once */
};

/* Parameters of "mprdma". */
struct mprdma_lb_tune {
	uint32_t probe_permille; /* of the ACKs open a random path */
};

/* Parameters of "bitmap". */
struct bitmap_tune {
	uint32_t evs; /* entropies in use */
};

enum { PRIME_CLASSES = 1024 }; /* default of `classes` */

/* Parameters of "prime", "prime2" and "co-prime". */
struct prime_tune {
	uint32_t part[WEFT_LB_PARTS]; /* values of each part of an entropy; 0: the fabric's uplinks */
	uint32_t classes;             /* entropies in use where switches hash them */
	uint8_t recycle;              /* ... those that came back unmarked first */
	uint32_t ce_pct, nack_pct;    /* penalties, % of the packets of a BDP */
	uint64_t failed_ns;           /* a path that timed out rests this long after the last timeout */
	uint32_t rest_pct;            /* prime2: while more paths than this share rest, none is passed over, % */
	uint8_t in_turn;              /* prime2: where digits are read, the order of paths is the host's and stays */
};

/* What describes them; "prime2" has `rest_pct` and `in_turn` as well. */
extern const struct weft_param prime_tunes[], prime2_tunes[];

extern const struct weft_lb_ops weft_lb_reps;
extern const struct weft_lb_ops weft_lb_reps2;
extern const struct weft_lb_ops weft_lb_prime;
extern const struct weft_lb_ops weft_lb_prime2;
extern const struct weft_lb_ops weft_lb_co_prime;
extern const struct weft_lb_ops weft_lb_spray;
extern const struct weft_lb_ops weft_lb_ecmp;
extern const struct weft_lb_ops weft_lb_plb;
extern const struct weft_lb_ops weft_lb_flowlet;
extern const struct weft_lb_ops weft_lb_presto;
extern const struct weft_lb_ops weft_lb_mptcp;
extern const struct weft_lb_ops weft_lb_mprdma;
extern const struct weft_lb_ops weft_lb_bitmap;

/* A random entropy that is not `ev`; the only one when the set has no other. */
static inline uint16_t lb_other_ev(struct rng *rng, const struct weft_lb_params *params, uint16_t ev)
{
	if (params->evs_size == 1)
		return 0;
	uint32_t draw = rng_below(rng, params->evs_size - 1);
	return (uint16_t)(draw + (draw >= ev));
}

#endif
