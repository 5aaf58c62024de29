/* SPDX-License-Identifier: BSD-3-Clause */
#include "wheel.h"

#include "cmocka_all.h"
#include "rng.h"

enum { NODES = 40 };
static const weft_ns TICK = 1 << WHEEL_TICK_BITS;

/* A wheel and what it should hold: the deadline of each node, WEFT_NEVER when it is out. */
struct model {
	struct wheel wheel;
	struct wheel_node nodes[NODES];
	weft_ns at[NODES];
	weft_ns now;
	struct rng rng;
};

static void model_init(struct model *m, weft_ns now, uint64_t seed)
{
	wheel_init(&m->wheel, now);
	m->now = now;
	m->rng.state = seed;
	for (int i = 0; i < NODES; i++) {
		wheel_node_init(&m->nodes[i]);
		m->at[i] = WEFT_NEVER;
	}
}

static weft_ns model_earliest(const struct model *m)
{
	weft_ns earliest = WEFT_NEVER;

	for (int i = 0; i < NODES; i++)
		earliest = m->at[i] < earliest ? m->at[i] : earliest;
	return earliest;
}

/* A time span of random magnitude: from nothing to far beyond the wheel. */
static weft_ns any_span(struct rng *r)
{
	return rng_next(r) >> (8 + rng_below(r, 56));
}

static weft_ns later(weft_ns t, weft_ns span)
{
	return span < WEFT_NEVER - 1 - t ? t + span : WEFT_NEVER - 1;
}

static void model_change(struct model *m)
{
	uint32_t i = rng_below(&m->rng, NODES);
	weft_ns at;

	switch (rng_below(&m->rng, 8)) {
	case 0:
		wheel_cancel(&m->wheel, &m->nodes[i]);
		m->at[i] = WEFT_NEVER;
		return;
	case 1:
		at = m->now - (any_span(&m->rng) & m->now);
		break;
	case 2:
		at = WEFT_NEVER;
		break;
	case 3:
		at = m->now;
		break;
	default:
		at = later(m->now, any_span(&m->rng));
	}
	wheel_set(&m->wheel, &m->nodes[i], at);
	m->at[i] = at;
}

static void model_expire(struct model *m)
{
	struct wheel_node *n;

	while ((n = wheel_expire(&m->wheel, m->now))) {
		long i = n - m->nodes;
		assert_in_range(i, 0, NODES - 1);
		assert_true(m->at[i] <= m->now);
		assert_int_equal(n->at, WEFT_NEVER);
		m->at[i] = WEFT_NEVER;
		if (rng_below(&m->rng, 4) == 0)
			model_change(m); /* owners re-arm while the wheel is being emptied */
	}
}

static void model_check(const struct model *m)
{
	weft_ns earliest = model_earliest(m), next = wheel_next(&m->wheel);

	assert_true(earliest > m->now);
	assert_true(next > m->now);
	assert_true(next <= earliest);
	assert_int_equal(next == WEFT_NEVER, earliest == WEFT_NEVER);
	if (earliest / TICK - m->now / TICK < WHEEL_SLOTS - m->now / TICK % WHEEL_SLOTS)
		assert_int_equal(next, earliest);
	uint32_t count = 0;
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(m->nodes[i].at, m->at[i]);
		count += m->at[i] != WEFT_NEVER;
	}
	assert_int_equal(m->wheel.count, count);
}

static void model_advance(struct model *m)
{
	switch (rng_below(&m->rng, 4)) {
	case 0:
		m->now = later(m->now, any_span(&m->rng) >> 8);
		break;
	case 1:
		if (wheel_next(&m->wheel) != WEFT_NEVER && wheel_next(&m->wheel) > m->now)
			m->now = wheel_next(&m->wheel);
		break;
	case 2:
		if (model_earliest(m) != WEFT_NEVER && model_earliest(m) > m->now)
			m->now = model_earliest(m) - 1;
		break;
	default:
		m->now = later(m->now, rng_below(&m->rng, 4 * TICK));
	}
}

static void wheel_expire__random_against_model(void **state)
{
	struct model m;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct rng r = {seed};
		model_init(&m, any_span(&r), seed);
		for (int step = 0; step < 1000; step++) {
			for (uint32_t changes = rng_below(&m.rng, 4); changes > 0; changes--)
				model_change(&m);
			model_advance(&m);
			model_expire(&m);
			model_check(&m);
		}
	}
}

static void wheel_expire__exact_deadline(void **state)
{
	struct wheel w;
	struct wheel_node n;

	for (weft_ns at = 1; at < WEFT_S(100000); at = at * 3 + 1) {
		wheel_init(&w, 0);
		wheel_node_init(&n);
		wheel_set(&w, &n, at);
		assert_null(wheel_expire(&w, at - 1));
		assert_int_equal(wheel_next(&w), at);
		assert_ptr_equal(wheel_expire(&w, at), &n);
		assert_null(wheel_expire(&w, at));
		assert_int_equal(wheel_next(&w), WEFT_NEVER);
	}
}

static void wheel_expire__end_of_time(void **state)
{
	struct wheel w;
	struct wheel_node n;

	wheel_init(&w, 0);
	wheel_node_init(&n);
	assert_null(wheel_expire(&w, WEFT_NEVER));
	wheel_init(&w, 0);
	wheel_set(&w, &n, WEFT_NEVER - 1);
	assert_null(wheel_expire(&w, WEFT_NEVER - 2));
	assert_ptr_equal(wheel_expire(&w, WEFT_NEVER - 1), &n);
	assert_null(wheel_expire(&w, WEFT_NEVER));
}

static void wheel_expire__time_going_back_is_harmless(void **state)
{
	struct wheel w;
	struct wheel_node n;

	wheel_init(&w, 1000);
	wheel_node_init(&n);
	assert_null(wheel_expire(&w, WEFT_MS(5)));
	wheel_set(&w, &n, WEFT_MS(4));
	assert_null(wheel_expire(&w, WEFT_MS(3)));
	assert_ptr_equal(wheel_expire(&w, WEFT_MS(4)), &n);
}

static void wheel_expire__order_by_tick_then_insertion(void **state)
{
	struct wheel w;
	struct wheel_node n[4];
	const weft_ns at[4] = {900 * TICK, 3 * TICK + 9, 3 * TICK + 1, 2 * TICK};
	const int order[4] = {3, 1, 2, 0};

	wheel_init(&w, 0);
	for (int i = 0; i < 4; i++) {
		wheel_node_init(&n[i]);
		wheel_set(&w, &n[i], at[i]);
	}
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(wheel_expire(&w, 1000 * TICK), &n[order[i]]);
}

static void wheel_set__moves_the_node(void **state)
{
	struct wheel w;
	struct wheel_node n;

	wheel_init(&w, 0);
	wheel_node_init(&n);
	wheel_set(&w, &n, 500);
	wheel_set(&w, &n, 700);
	assert_int_equal(w.count, 1);
	assert_int_equal(wheel_next(&w), 700);
	assert_null(wheel_expire(&w, 699));
	wheel_set(&w, &n, WEFT_NEVER);
	assert_int_equal(w.count, 0);
	assert_int_equal(wheel_next(&w), WEFT_NEVER);
}

static void wheel_cancel__twice_is_harmless(void **state)
{
	struct wheel w;
	struct wheel_node n;

	wheel_init(&w, 0);
	wheel_node_init(&n);
	wheel_cancel(&w, &n);
	wheel_set(&w, &n, 500);
	wheel_cancel(&w, &n);
	wheel_cancel(&w, &n);
	assert_int_equal(w.count, 0);
	assert_null(wheel_expire(&w, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wheel_expire__random_against_model),
		cmocka_unit_test(wheel_expire__exact_deadline),
		cmocka_unit_test(wheel_expire__end_of_time),
		cmocka_unit_test(wheel_expire__time_going_back_is_harmless),
		cmocka_unit_test(wheel_expire__order_by_tick_then_insertion),
		cmocka_unit_test(wheel_set__moves_the_node),
		cmocka_unit_test(wheel_cancel__twice_is_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
