/* SPDX-License-Identifier: BSD-3-Clause */
/* The load balancers of this folder and the parameters a user may set. Selected by name through weft_lb_find. */
#ifndef LB_OPS_H
#define LB_OPS_H

#include "weft/lb.h"

/* Parameters of "reps". */
struct reps_tune {
	uint64_t freeze_ns; /* how long a failure keeps it from exploring */
	uint8_t evict;      /* a timed-out entropy leaves the cache */
};

extern const struct weft_lb_ops weft_lb_reps;
extern const struct weft_lb_ops weft_lb_spray;
extern const struct weft_lb_ops weft_lb_ecmp;

#endif
