/* SPDX-License-Identifier: BSD-3-Clause */
/* A few fixed paths at once, as MPTCP's subflows or several queue pairs give a message (REPS sec. 4.1: eight). Packets
 * take turns, so every subflow carries the same share; a retransmission goes to whichever subflow is next. */
#include "lb_ops.h"
#include "rng.h"

enum { SUBFLOWS_MAX = 8 };

struct mptcp {
	struct rng rng;
	uint16_t ev[SUBFLOWS_MAX];
	uint64_t next; /* subflow of the next packet */
};

static uint32_t subflows(const struct weft_lb *lb)
{
	const struct mptcp_tune *t = lb->params->tune;

	return t->subflows;
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct mptcp *s = weft_lb_state(lb);

	*s = (struct mptcp){.rng = {seed}};
	for (uint32_t i = 0; i < SUBFLOWS_MAX; i++)
		s->ev[i] = (uint16_t)rng_below(&s->rng, lb->params->evs_size);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct mptcp *s = weft_lb_state(lb);
	uint16_t ev = s->ev[s->next];

	s->next = s->next + 1 < subflows(lb) ? s->next + 1 : 0;
	return ev;
}

/* A subflow whose path has failed is opened anew, elsewhere. */
static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct mptcp *s = weft_lb_state(lb);

	if (fb != WEFT_LB_TIMEOUT)
		return;
	for (uint32_t i = 0; i < subflows(lb); i++) {
		if (s->ev[i] == ev)
			s->ev[i] = lb_other_ev(&s->rng, lb->params, ev);
	}
}

static const struct weft_param tunes[] = {
	{"mptcp_subflows", "entropies in use at once", SUBFLOWS_MAX, 1, SUBFLOWS_MAX,
	 offsetof(struct mptcp_tune, subflows), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_mptcp = {
	.name = "mptcp",
	.help = "eight subflows in round robin",
	.tunes = tunes,
	.tune_size = sizeof(struct mptcp_tune),
	.state_size = sizeof(struct mptcp),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
