/* SPDX-License-Identifier: BSD-3-Clause */
/* A penalty per entropy, as in STrack (Le et al., 2024) and the bitmap the REPS paper compares with (sec. 4.1). The
 * set is walked in a random order that changes every round; a path with a penalty is skipped, and the first one skipped
 * for a packet has its penalty lowered. Nothing else lowers it. */
#include "lb_ops.h"
#include "rng.h"

enum { PENALTY_CE = 1, PENALTY_TRIM = 4, PENALTY_MAX = 15 };

struct bitmap {
	struct rng rng;
	uint32_t next; /* place in the round, 0..room-1 */
	uint32_t mask; /* what place and entropy differ in, below room */
	uint8_t penalty[];
};

/* Entropies in use. */
static uint32_t size(const struct weft_lb_params *p)
{
	const struct bitmap_tune *t = p->tune;

	return t->evs < p->evs_size ? t->evs : p->evs_size;
}

/* Places of a round: the power of two at or above `n`, so that a mask permutes them. */
static uint32_t room(uint32_t n)
{
	return n > 1 ? UINT32_C(1) << (32 - __builtin_clz(n - 1)) : 1;
}

static size_t state_bytes(const struct weft_lb_params *params)
{
	return (sizeof(struct bitmap) + size(params) + 7) / 8 * 8;
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct bitmap *s = weft_lb_state(lb);
	uint32_t n = size(lb->params);

	*s = (struct bitmap){.rng = {seed}};
	s->mask = rng_below(&s->rng, room(n));
	for (size_t i = 0; i < state_bytes(lb->params) - sizeof *s; i++)
		s->penalty[i] = 0;
}

static uint32_t step(struct bitmap *s, uint32_t places)
{
	uint32_t at = s->next ^ s->mask;

	if (++s->next == places) {
		s->next = 0;
		s->mask = rng_below(&s->rng, places);
	}
	return at;
}

/* Two rounds of places hold a whole one: after it the last entropy is taken in spite of its penalty. */
static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct bitmap *s = weft_lb_state(lb);
	uint32_t n = size(lb->params), places = room(n), chosen = 0;
	bool lowered = false;

	for (uint32_t i = 0; i < 2 * places; i++) {
		uint32_t at = step(s, places);
		if (at >= n)
			continue;
		chosen = at;
		if (!s->penalty[at])
			break;
		s->penalty[at] -= !lowered;
		lowered = true;
	}
	return (uint16_t)chosen;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	static const uint8_t penalties[WEFT_LB_FB_KINDS] = {[WEFT_LB_CE] = PENALTY_CE,
							    [WEFT_LB_TRIM] = PENALTY_TRIM,
							    [WEFT_LB_LOSS] = PENALTY_TRIM,
							    [WEFT_LB_TIMEOUT] = PENALTY_MAX};
	struct bitmap *s = weft_lb_state(lb);

	if (ev >= size(lb->params))
		return;
	uint32_t sum = s->penalty[ev] + penalties[fb];
	s->penalty[ev] = (uint8_t)(sum < PENALTY_MAX ? sum : PENALTY_MAX);
}

enum { EVS_DEFAULT = 256 };

static const struct weft_param tunes[] = {
	{"bitmap_evs", "entropies in use, a byte of state each", EVS_DEFAULT, 1, 65536,
	 offsetof(struct bitmap_tune, evs), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_bitmap = {
	.name = "bitmap",
	.help = "round robin with a penalty per entropy, as STrack",
	.tunes = tunes,
	.tune_size = sizeof(struct bitmap_tune),
	.state_size = sizeof(struct bitmap) + EVS_DEFAULT,
	.state_bytes = state_bytes,
	.init = init,
	.pick = pick,
	.feedback = feedback,
};
