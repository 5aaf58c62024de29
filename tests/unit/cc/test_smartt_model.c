/* SPDX-License-Identifier: BSD-3-Clause */
/* cc/smartt.c in integers against the same algorithm in floating point, over random congestion. */
#include <math.h>

#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"
#include "rng.h"
#include "smartt_model.h"

enum { PHASES = 200 };

/* One stretch of similar congestion. */
struct phase {
	weft_ns rtt_ns, jitter_ns;
	uint32_t ce_pct, loss_pct;
	enum weft_cc_loss_kind loss;
	uint32_t acks, pkts_per_ack;
};

static struct phase draw_phase(struct rng *rng, weft_ns brtt_ns)
{
	struct phase p = {.rtt_ns = brtt_ns + rng_below(rng, brtt_ns),
			  .jitter_ns = 1 + rng_below(rng, brtt_ns / 2),
			  .ce_pct = rng_below(rng, 2) * rng_below(rng, 100),
			  .acks = 20 + rng_below(rng, 400),
			  .pkts_per_ack = 1 + rng_below(rng, 4)};

	if (rng_below(rng, 5) == 0)
		p.rtt_ns = brtt_ns;
	if (rng_below(rng, 6) == 0)
		p.loss_pct = 1 + rng_below(rng, 30);
	p.loss = (enum weft_cc_loss_kind)rng_below(rng, WEFT_CC_LOSS_KINDS);
	return p;
}

struct pair {
	struct cc_box box;
	struct model model;
	struct rng rng;
	double worst;          /* largest difference of the windows, packets */
	unsigned steps, apart; /* events, and those that only one of the two acted on */
	struct weft_cc_view seen;
	unsigned adapts, fasts, decreases; /* in all */
};

static void lose(struct pair *t, const struct phase *p)
{
	double mtu = t->box.params.mtu_bytes, inflight = 10 * mtu;

	cc_box_lose(&t->box, p->loss, 1, (uint64_t)inflight);
	if (p->loss == WEFT_CC_LOSS_TRIM)
		model_trim(&t->model, (double)t->box.now, mtu, inflight);
	else
		model_lose(&t->model, (double)t->box.now, mtu);
}

static void step(struct pair *t, const struct phase *p)
{
	uint32_t bytes = t->box.params.mtu_bytes * (1 + rng_below(&t->rng, p->pkts_per_ack));
	weft_ns rtt_ns = p->rtt_ns + rng_below(&t->rng, p->jitter_ns);
	bool ce = rng_below(&t->rng, 100) < p->ce_pct;

	t->box.now += (weft_ns)(bytes * 8e9 / (double)t->box.params.link_bps) + 1;
	if (rng_below(&t->rng, 100) < p->loss_pct) {
		lose(t, p);
		return;
	}
	double unacked = t->box.cc.cwnd_bytes;
	cc_box_ack(&t->box, bytes, rtt_ns, ce);
	model_ack(&t->model, (double)t->box.now, bytes, (double)rtt_ns, ce, unacked);
}

/* A threshold can be met by one of the two a packet or a nanosecond before the other. That must be rare, and then they
 * start level again. */
static void level(struct pair *t)
{
	struct weft_cc_view view = cc_box_view(&t->box);
	struct model *m = &t->model;
	bool fast = view.fast_increases != t->seen.fast_increases, decrease = view.decreases != t->seen.decreases;

	t->steps++;
	t->adapts += m->adapts;
	t->fasts += m->fasts;
	t->decreases += m->decreases;
	if (m->adapts != (view.quick_adapts != t->seen.quick_adapts) || m->fasts != fast || m->decreases != decrease) {
		t->apart++;
		m->increase = m->fasts == fast ? m->increase : fast;
		m->last_decrease = m->decreases == decrease ? m->last_decrease : (double)t->box.now;
		m->cwnd = t->box.cc.cwnd_bytes;
	}
	t->worst = fmax(t->worst, fabs(m->cwnd - t->box.cc.cwnd_bytes) / m->mtu);
	t->seen = view;
	m->adapts = m->fasts = m->decreases = 0;
}

/* Growth is applied in steps of a packet, so the windows may be a packet apart; and while they are, a small window's
 * growth differs a little. */
static void compare_run(uint64_t link_bps, weft_ns brtt_ns, uint64_t seed, struct pair *t)
{
	*t = (struct pair){.rng = {seed}};
	cc_box_init(&t->box, &weft_cc_smartt, link_bps, brtt_ns);
	cc_box_start(&t->box);
	model_init(&t->model, (double)link_bps, (double)brtt_ns, t->box.params.mtu_bytes);
	for (int i = 0; i < PHASES; i++) {
		struct phase p = draw_phase(&t->rng, brtt_ns);
		for (uint32_t k = 0; k < p.acks; k++) {
			step(t, &p);
			level(t);
		}
	}
}

static void compare(uint64_t link_bps, weft_ns brtt_ns)
{
	unsigned adapts = 0, fasts = 0, decreases = 0;

	for (uint64_t seed = 0; seed < 10; seed++) {
		struct pair t;
		compare_run(link_bps, brtt_ns, seed, &t);
		assert_true(t.worst < 1.5);
		assert_in_range(t.apart, 0, t.steps / 1000);
		adapts += t.adapts;
		fasts += t.fasts;
		decreases += t.decreases;
	}
	assert_true(adapts > 100 && fasts > 10 && decreases > 400);
}

static void smartt__equals_model_800g(void **state)
{
	compare(800000000000, 12000);
}

static void smartt__equals_model_100g(void **state)
{
	compare(100000000000, 12000);
}

static void smartt__equals_model_50g(void **state)
{
	compare(50000000000, 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smartt__equals_model_800g),
		cmocka_unit_test(smartt__equals_model_100g),
		cmocka_unit_test(smartt__equals_model_50g),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
