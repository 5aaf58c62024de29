/* SPDX-License-Identifier: BSD-3-Clause */
/* Load balancing contract: which entropy the next packet takes, and how earlier ones fared. */
#ifndef WEFT_LB_H
#define WEFT_LB_H

#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"
#include "weft/param.h"
#include "weft/time.h"

/* What became of a packet. LOSS: lost, congestion is the likely reason. TIMEOUT: lost, a failed path is the likely
 * reason. The transport tells them apart (REPS appendix A). */
enum weft_lb_fb { WEFT_LB_OK, WEFT_LB_CE, WEFT_LB_TRIM, WEFT_LB_LOSS, WEFT_LB_TIMEOUT, WEFT_LB_FB_KINDS };

/* Shared by all connections of an engine, owned by the engine. */
struct weft_lb_params {
	uint32_t evs_size; /* entropy values in use: EVs are 0..evs_size-1; 1..65536 */
	uint32_t bdp_pkts; /* full packets in one BDP, >= 1 */
	weft_ns brtt_ns;   /* idle round trip */
	const void *tune;  /* the algorithm's own parameters (its `tune_size` bytes) */
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

struct weft_lb_ops {
	const char *name;
	const char *help;
	const struct weft_param *tunes;
	size_t tune_size;
	size_t state_size;                                            /* multiple of 8 */
	void (*init)(struct weft_lb *lb, uint64_t seed, weft_ns now); /* ops and params are set already */
	uint16_t (*pick)(struct weft_lb *lb, uint32_t psn, weft_ns now);
	void (*feedback)(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now);
	void (*view)(const struct weft_lb *lb, struct weft_lb_view *view); /* optional */
};

static inline void *weft_lb_state(struct weft_lb *lb)
{
	return lb + 1;
}

extern const struct weft_lb_ops *const weft_lb_table[];
const struct weft_lb_ops *weft_lb_find(const char *name);
/* The same; -ENOENT with a message that lists the valid names, and *ops NULL. */
int weft_lb_choose(const char *name, const struct weft_lb_ops **ops, struct weft_err *err);

#endif
