/* SPDX-License-Identifier: BSD-3-Clause */
/* Oblivious packet spraying: every packet takes an independent random entropy; feedback changes nothing. */
#include "lb_ops.h"
#include "rng.h"

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct rng *rng = weft_lb_state(lb);

	rng->state = seed;
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	return (uint16_t)rng_below(weft_lb_state(lb), lb->params->evs_size);
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

const struct weft_lb_ops weft_lb_spray = {
	.name = "ops",
	.help = "oblivious packet spraying: a random entropy for every packet",
	.state_size = sizeof(struct rng),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
