/* SPDX-License-Identifier: BSD-3-Clause */
/* A load balancer with room for its state and parameters, for tests. */
#ifndef LB_BOX_H
#define LB_BOX_H

#include <assert.h>

#include "weft/spi/lb.h"

enum { LB_BOX_STATE_MAX = 16384, LB_BOX_TUNE_MAX = 256 };

struct lb_box {
	struct weft_lb lb;
	_Alignas(8) uint8_t state[LB_BOX_STATE_MAX]; /* directly behind `lb` */
	struct weft_lb_params params;
	_Alignas(8) uint8_t tune[LB_BOX_TUNE_MAX];
};
_Static_assert(offsetof(struct lb_box, state) == sizeof(struct weft_lb), "where weft_lb_state looks");

/* Default parameters; the state is filled with junk first, so that init must set all of it. */
static inline void lb_box_init(struct lb_box *box, const struct weft_lb_ops *ops, uint32_t evs_size, uint64_t seed,
			       weft_ns now)
{
	assert(ops->tune_size <= LB_BOX_TUNE_MAX);
	for (size_t i = 0; i < LB_BOX_STATE_MAX; i++)
		box->state[i] = 0xa5;
	weft_param_defaults(ops->tunes, box->tune);
	box->params = (struct weft_lb_params){
		.evs_size = evs_size, .bdp_pkts = 20, .brtt_ns = 10000, .tune = ops->tune_size ? box->tune : NULL};
	box->lb = (struct weft_lb){ops, &box->params};
	assert(weft_lb_state_bytes(ops, &box->params) <= LB_BOX_STATE_MAX);
	ops->init(&box->lb, seed, now);
}

/* Begins anew after the parameters were changed. */
static inline void lb_box_again(struct lb_box *box, uint64_t seed, weft_ns now)
{
	assert(weft_lb_state_bytes(box->lb.ops, &box->params) <= LB_BOX_STATE_MAX);
	box->lb.ops->init(&box->lb, seed, now);
}

static inline uint16_t lb_box_pick(struct lb_box *box, uint32_t psn, weft_ns now)
{
	return box->lb.ops->pick(&box->lb, psn, now);
}

static inline void lb_box_feed(struct lb_box *box, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	box->lb.ops->feedback(&box->lb, ev, fb, now);
}

/* A packet arrived, unmarked (WEFT_LB_OK) or marked (WEFT_LB_CE), and its round trip took `wait_ns` longer than the
 * idle one, while the rest of the last message took so long to leave: as the transport tells it. */
static inline void lb_box_tell(struct lb_box *box, uint16_t ev, enum weft_lb_fb fb, weft_ns wait_ns, weft_ns left_ns,
			       weft_ns now)
{
	if (box->lb.ops->answered)
		box->lb.ops->answered(&box->lb, ev, fb, wait_ns, left_ns, now);
	else
		box->lb.ops->feedback(&box->lb, ev, fb, now);
}

static inline void lb_box_answer_last(struct lb_box *box, uint16_t ev, weft_ns wait_ns, weft_ns left_ns, weft_ns now)
{
	lb_box_tell(box, ev, WEFT_LB_OK, wait_ns, left_ns, now);
}

/* The same with more to come. */
static inline void lb_box_answer(struct lb_box *box, uint16_t ev, weft_ns wait_ns, weft_ns now)
{
	lb_box_answer_last(box, ev, wait_ns, WEFT_NEVER, now);
}

static inline struct weft_lb_view lb_box_view(const struct lb_box *box)
{
	struct weft_lb_view view = {0};

	if (box->lb.ops->view)
		box->lb.ops->view(&box->lb, &view);
	return view;
}

#endif
