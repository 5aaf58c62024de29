/* SPDX-License-Identifier: BSD-3-Clause */
/* Flowlet switching at the sender (LetFlow: Vanini et al., NSDI 2017): a random path for each burst. A gap longer than
 * paths differ keeps packets in order, whatever path the next burst takes. */
#include "lb_ops.h"
#include "rng.h"

struct flowlet {
	struct rng rng;
	weft_ns last_ns; /* when the newest packet left */
	uint64_t ev;     /* of this flowlet */
};

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct flowlet *s = weft_lb_state(lb);

	*s = (struct flowlet){.rng = {seed}, .last_ns = now};
	s->ev = rng_below(&s->rng, lb->params->evs_size);
}

static weft_ns gap(const struct weft_lb *lb)
{
	const struct flowlet_tune *t = lb->params->tune;

	return t->gap_ns ? t->gap_ns : lb->params->brtt_ns * t->gap_pct / 100;
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct flowlet *s = weft_lb_state(lb);

	if (now - s->last_ns >= gap(lb))
		s->ev = rng_below(&s->rng, lb->params->evs_size);
	s->last_ns = now;
	return (uint16_t)s->ev;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

static const struct weft_param tunes[] = {
	{"flowlet_gap_ns", "idle time that ends a flowlet, ns; 0: flowlet_gap_pct", 0, 0, 1000000000000,
	 offsetof(struct flowlet_tune, gap_ns), WEFT_PARAM_U64},
	{"flowlet_gap_pct", "idle time that ends a flowlet, % of the base RTT", 50, 1, 10000,
	 offsetof(struct flowlet_tune, gap_pct), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_flowlet = {
	.name = "flowlet",
	.help = "flowlet switching: a random path for every burst",
	.tunes = tunes,
	.tune_size = sizeof(struct flowlet_tune),
	.state_size = sizeof(struct flowlet),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
