/* SPDX-License-Identifier: BSD-3-Clause */
/* Path choice of MP-RDMA (Lu et al., NSDI 2018, sec. 3.2): the ACK clock. The first window goes out on random paths;
 * later an ACK lets a packet go out on the path it speaks of, and a path with marks loses half a packet for each. A
 * small share of the ACKs opens a random path instead. Nothing is remembered but the newest ACK. */
#include "lb_ops.h"
#include "rng.h"

enum mprdma_flags {
	KNOWN = 1,    /* `ev` is an acknowledged path */
	HALF_CUT = 2, /* one mark has cost half a packet, the next one costs the other half */
	PROBE = 4,    /* the ACK opens a new path */
};

struct mprdma {
	struct rng rng;
	uint32_t first; /* packets of the first window still to be sent */
	uint16_t ev;    /* path of the newest ACK */
	uint16_t flags; /* enum mprdma_flags */
};

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct mprdma *s = weft_lb_state(lb);

	*s = (struct mprdma){.rng = {seed}, .first = lb->params->bdp_pkts};
}

/* A packet that no ACK clocked out belongs to a window that grew: it takes the newest ACK's path, too. */
static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct mprdma *s = weft_lb_state(lb);
	bool random = s->first || !(s->flags & KNOWN) || s->flags & PROBE;

	s->first -= s->first != 0;
	s->flags &= (uint16_t)~PROBE;
	return random ? (uint16_t)rng_below(&s->rng, lb->params->evs_size) : s->ev;
}

static void clocked(struct weft_lb *lb, uint16_t ev)
{
	const struct mprdma_lb_tune *t = lb->params->tune;
	struct mprdma *s = weft_lb_state(lb);

	s->ev = ev;
	s->flags |= KNOWN;
	if (rng_below(&s->rng, 1000) < t->probe_permille)
		s->flags |= PROBE;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct mprdma *s = weft_lb_state(lb);

	if (ev >= lb->params->evs_size)
		return;
	if (fb == WEFT_LB_CE) {
		s->flags ^= HALF_CUT;
		if (!(s->flags & HALF_CUT))
			return;
	}
	if (fb <= WEFT_LB_CE)
		clocked(lb, ev);
	else if (ev == s->ev)
		s->flags &= (uint16_t)~KNOWN;
}

static const struct weft_param tunes[] = {
	{"mprdma_probe_permille", "ACKs that open a random path instead of reusing theirs, per thousand", 10, 0, 1000,
	 offsetof(struct mprdma_lb_tune, probe_permille), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_mprdma = {
	.name = "mprdma",
	.help = "MP-RDMA's ACK clock: a packet takes the path of the ACK that released it",
	.tunes = tunes,
	.tune_size = sizeof(struct mprdma_lb_tune),
	.state_size = sizeof(struct mprdma),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
