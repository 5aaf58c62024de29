/* SPDX-License-Identifier: BSD-3-Clause */
/* PLB (Qureshi et al., SIGCOMM 2022): one path at a time, and another after enough congested round trips in a row, as
 * FlowBender (Kabbani et al., CoNEXT 2014) does. */
#include "lb_ops.h"
#include "rng.h"

struct plb {
	struct rng rng;
	weft_ns round_ns;   /* when the round began */
	uint32_t acked;     /* packets of the present path answered in this round ... */
	uint32_t marked;    /* ... and with a sign of congestion */
	uint16_t ev;        /* of every packet */
	uint16_t congested; /* congested rounds in a row */
	uint32_t unused;
};

static const struct plb_tune *tune(const struct weft_lb *lb)
{
	return lb->params->tune;
}

static void begin_round(struct plb *s, weft_ns now)
{
	s->round_ns = now;
	s->acked = s->marked = 0;
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct plb *s = weft_lb_state(lb);

	*s = (struct plb){.rng = {seed}};
	s->ev = (uint16_t)rng_below(&s->rng, lb->params->evs_size);
	begin_round(s, now);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	const struct plb *s = weft_lb_state(lb);

	return s->ev;
}

static void repath(struct weft_lb *lb, weft_ns now)
{
	struct plb *s = weft_lb_state(lb);

	s->ev = lb_other_ev(&s->rng, lb->params, s->ev);
	s->congested = 0;
	begin_round(s, now);
}

static void judge_round(struct weft_lb *lb, weft_ns now)
{
	struct plb *s = weft_lb_state(lb);
	bool congested = (uint64_t)s->marked * 100 > (uint64_t)s->acked * tune(lb)->mark_pct;

	s->congested = congested ? s->congested + 1 : 0;
	begin_round(s, now);
	if (s->congested >= tune(lb)->rounds)
		repath(lb, now);
}

/* What earlier paths did is no reason to leave this one. */
static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct plb *s = weft_lb_state(lb);

	if (ev != s->ev)
		return;
	if (fb == WEFT_LB_TIMEOUT) {
		repath(lb, now);
		return;
	}
	s->acked++;
	s->marked += fb >= WEFT_LB_CE;
	if (now - s->round_ns >= lb->params->brtt_ns)
		judge_round(lb, now);
}

static const struct weft_param tunes[] = {
	{"plb_mark_pct", "a round is congested with more than this share of marked packets, %", 5, 0, 99,
	 offsetof(struct plb_tune, mark_pct), WEFT_PARAM_U32},
	{"plb_rounds", "congested rounds (base RTTs) in a row that change the path", 1, 1, 1000,
	 offsetof(struct plb_tune, rounds), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_plb = {
	.name = "plb",
	.help = "PLB with FlowBender's settings: one path, replaced after congested round trips",
	.tunes = tunes,
	.tune_size = sizeof(struct plb_tune),
	.state_size = sizeof(struct plb),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
