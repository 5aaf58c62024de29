/* SPDX-License-Identifier: BSD-3-Clause */
/* One path per connection, as plain ECMP gives a flow: the seed chooses the entropy once and for all. */
#include "lb_ops.h"
#include "rng.h"

struct ecmp {
	uint64_t ev; /* of every packet; 64 bits because state sizes are multiples of 8 */
};

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct ecmp *s = weft_lb_state(lb);
	struct rng rng = {seed};

	s->ev = rng_below(&rng, lb->params->evs_size);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	const struct ecmp *s = weft_lb_state(lb);

	return (uint16_t)s->ev;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

const struct weft_lb_ops weft_lb_ecmp = {
	.name = "ecmp",
	.help = "one entropy per connection: the path ECMP hashes the flow to",
	.state_size = sizeof(struct ecmp),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
