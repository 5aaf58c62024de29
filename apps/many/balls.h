/* SPDX-License-Identifier: BSD-3-Clause */
/* Balls into bins as models of a switch's output ports (REPS section 5.1, appendices B and D.1): packets are balls,
 * ports are bins, entropies are colors. */
#ifndef WEFT_BALLS_H
#define WEFT_BALLS_H

#include <stdint.h>

#include "weft/err.h"

/* The batched process: in every round each bin that is not empty loses its oldest ball, then up to `bins` balls come.
 */
struct balls_conf {
	uint32_t bins;     /* output ports, >= 1 */
	uint32_t rounds;   /* >= 1 */
	uint32_t load_pct; /* balls that come, of one per bin and round; each comes or not by a draw; 1..100 */
	uint32_t recycle;  /* every n-th removed ball tells its color how the bin was; 0: bins are always drawn (OPS) */
	uint32_t threshold; /* balls in a bin beyond which a color forgets it (tau) */
	uint32_t colors;    /* per bin (b), >= 1; they take turns */
	uint64_t seed;
};

struct balls_result {
	uint32_t max;     /* most balls in a bin at any time */
	uint32_t last;    /* fullest bin after the last round */
	uint32_t settled; /* first round after which no bin was above the threshold any more; `rounds`: never */
	double mean_max;  /* fullest bin, mean of the rounds */
};

/* After a round: balls per bin. */
typedef void (*balls_observe)(void *arg, uint32_t round, const uint32_t *counts, uint32_t bins);

/* Runs the process; `observe` may be NULL. -EINVAL or -ENOMEM with a message. */
int balls_run(const struct balls_conf *conf, balls_observe observe, void *arg, struct balls_result *result,
	      struct weft_err *err);

/* Load imbalance (appendix B): `flows` times `entropies` balls thrown at once; how far the fullest of `bins` is above
 * the mean, as a share of the mean. NaN with a message when there is no memory. */
double balls_imbalance(uint32_t bins, uint32_t flows, uint32_t entropies, uint64_t seed, struct weft_err *err);

#endif
