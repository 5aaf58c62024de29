/* SPDX-License-Identifier: BSD-3-Clause */
/* A load balancer of one's own as a plug-in: entropies in turn, each of which is left out once after a mark or loss.
 *
 *	cc -O2 -shared -fPIC lb_mine.c $(pkg-config --cflags weft) -o lb_mine.so
 *	weft sim --plugin ./lb_mine.so --lb turns --set turns_evs=32 --matrix permutation:16:1MiB */
#include <stddef.h>

#include <weft/spi/plugin.h>

struct turns_tune {
	uint32_t evs;
};

/* Directly behind struct weft_lb, a multiple of 8 bytes. */
struct turns {
	uint64_t skip; /* bit i: entropy base + i is left out at its next turn */
	uint16_t base; /* first entropy in use */
	uint16_t next; /* number of the next, from 0 */
	uint32_t evs;  /* in use, 1..64 */
};

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	const struct turns_tune *tune = lb->params->tune;
	struct turns *s = weft_lb_state(lb);
	uint32_t evs = tune->evs < lb->params->evs_size ? tune->evs : lb->params->evs_size;

	(void)now;
	*s = (struct turns){.evs = evs, .base = (uint16_t)(seed % (lb->params->evs_size - evs + 1))};
}

static void advance(struct turns *s)
{
	s->next = (uint16_t)(s->next + 1u < s->evs ? s->next + 1u : 0);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct turns *s = weft_lb_state(lb);

	(void)psn, (void)now;
	for (uint32_t i = 0; i < s->evs && s->skip >> s->next & 1; i++) {
		s->skip &= ~(UINT64_C(1) << s->next);
		advance(s);
	}
	uint16_t ev = (uint16_t)(s->base + s->next);
	advance(s);
	return ev;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct turns *s = weft_lb_state(lb);
	uint32_t i = (uint32_t)ev - s->base;

	(void)now;
	if (fb != WEFT_LB_OK && fb != WEFT_LB_COVERED && i < s->evs)
		s->skip |= UINT64_C(1) << i;
}

static const struct weft_param tunes[] = {
	{"turns_evs", "entropies in use", 64, 1, 64, offsetof(struct turns_tune, evs), WEFT_PARAM_U32},
	{NULL, NULL, 0, 0, 0, 0, 0},
};

static const struct weft_lb_ops turns = {
	.name = "turns",
	.help = "entropies in turn, each left out once after a mark or loss",
	.tunes = tunes,
	.tune_size = sizeof(struct turns_tune),
	.state_size = sizeof(struct turns),
	.init = init,
	.pick = pick,
	.feedback = feedback,
};

static const struct weft_lb_ops *const lbs[] = {&turns, NULL};

WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI, .lb = lbs};
