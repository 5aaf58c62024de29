/* SPDX-License-Identifier: BSD-3-Clause */
#include "evq.h"

#include "cmocka_all.h"
#include "rng.h"

enum { IDS = 300, SPAN = 1000000 };

/* The specification: an array searched from end to end. */
struct model {
	struct {
		bool pending;
		weft_ps at;
		uint64_t seq;
	} e[IDS];
	uint64_t seq;
	weft_ps now;
};

static void model_set(struct model *m, uint32_t id, weft_ps at)
{
	m->e[id].pending = true;
	m->e[id].at = at > m->now ? at : m->now;
	m->e[id].seq = m->seq++;
}

static uint32_t model_first(const struct model *m)
{
	uint32_t best = EVQ_NONE;

	for (uint32_t i = 0; i < IDS; i++)
		if (m->e[i].pending && (best == EVQ_NONE || m->e[i].at < m->e[best].at ||
					(m->e[i].at == m->e[best].at && m->e[i].seq < m->e[best].seq)))
			best = i;
	return best;
}

static void check_pop(struct evq *q, struct model *m, weft_ps until)
{
	uint32_t first = model_first(m);

	if (first != EVQ_NONE && m->e[first].at > until)
		first = EVQ_NONE;
	assert_int_equal(evq_pop(q, until), first);
	if (first == EVQ_NONE)
		return;
	m->e[first].pending = false;
	m->now = m->e[first].at;
	assert_int_equal(q->now, m->now);
	assert_false(evq_pending(q, first));
}

/* Times from a few classes: now, crowded, within the wheel, beyond it, behind. */
static weft_ps some_time(struct rng *rng, weft_ps now)
{
	switch (rng_below(rng, 6)) {
	case 0:
		return now;
	case 1:
		return now + 8 * rng_below(rng, 4);
	case 2:
		return now + 1000 * rng_below(rng, 100);
	case 3:
		return now + rng_below(rng, SPAN);
	case 4:
		return now + rng_below(rng, 100 * SPAN);
	default:
		return now - now / 100;
	}
}

static void random_step(struct evq *q, struct model *m, struct rng *rng, uint32_t pop_pct)
{
	uint32_t id = rng_below(rng, IDS);

	assert_int_equal(evq_pending(q, id), m->e[id].pending);
	if (rng_below(rng, 100) < pop_pct) {
		check_pop(q, m, m->now + rng_below(rng, SPAN));
	} else if (!m->e[id].pending) {
		weft_ps at = some_time(rng, m->now);
		evq_set(q, id, at);
		model_set(m, id, at);
		assert_int_equal(evq_at(q, id), m->e[id].at);
	} else if (rng_below(rng, 4) == 0) {
		evq_cancel(q, id);
		m->e[id].pending = false;
	}
	uint32_t first = model_first(m);
	assert_true(evq_next(q) == (first == EVQ_NONE ? WEFT_NEVER : m->e[first].at));
}

/* Phases in which the queue fills and drains, so that all its parts are passed through both ways. */
static void check_against_model(uint32_t ahead, weft_ps now)
{
	struct model m = {.now = now};
	struct rng rng = {ahead};
	struct evq q;

	assert_int_equal(evq_init(&q, IDS, now, SPAN, ahead), 0);
	for (uint32_t i = 0; i < 40000; i++)
		random_step(&q, &m, &rng, i / 2000 % 2 ? 70 : 30);
	while (model_first(&m) != EVQ_NONE)
		check_pop(&q, &m, WEFT_NEVER - 1);
	assert_true(evq_next(&q) == WEFT_NEVER);
	assert_int_equal(evq_pop(&q, WEFT_NEVER - 1), EVQ_NONE);
	evq_fini(&q);
}

static void model_set_back(struct model *m, weft_ps now, weft_ps by)
{
	for (uint32_t i = 0; i < IDS; i++)
		m->e[i].at -= m->e[i].pending ? by : 0;
	m->now = now - by;
}

/* Again and again, from everywhere in the wheel. */
static void evq_set_back__keeps_the_order(void **state)
{
	struct model m = {.now = 0};
	struct rng rng = {3};
	struct evq q;

	assert_int_equal(evq_init(&q, IDS, 0, SPAN, 16), 0);
	for (uint32_t i = 0; i < 40000; i++) {
		random_step(&q, &m, &rng, i / 2000 % 2 ? 70 : 30);
		if (i % 1000 != 999 || m.now < evq_turn(&q))
			continue;
		weft_ps next = evq_next(&q), later = m.now + rng_below(&rng, 10 * SPAN);
		weft_ps now = next < later ? next : later, by = evq_turn(&q) * (now / evq_turn(&q));
		evq_set_back(&q, now, by);
		model_set_back(&m, now, by);
		assert_true(q.now == now - by && q.now < evq_turn(&q));
	}
	while (model_first(&m) != EVQ_NONE)
		check_pop(&q, &m, WEFT_NEVER - 1);
	evq_fini(&q);
}

static void evq_pop__is_in_order(void **state)
{
	check_against_model(1, 0);
	check_against_model(4, 12345678901234);
	check_against_model(32, 7);
}

/* More events right now than the sorted array takes: what is pushed out keeps its place. */
static void evq_set__many_at_once(void **state)
{
	struct model m = {0};
	struct evq q;

	assert_int_equal(evq_init(&q, IDS, 0, SPAN, 32), 0);
	for (uint32_t i = 0; i < 100; i++) {
		evq_set(&q, i, 1000 + i / 50);
		model_set(&m, i, 1000 + i / 50);
	}
	check_pop(&q, &m, 1000);
	for (uint32_t i = 100; i < 200; i++) {
		evq_set(&q, i, 1000);
		model_set(&m, i, 1000);
	}
	for (uint32_t i = 1; i < 200; i++)
		check_pop(&q, &m, 2000);
	evq_fini(&q);
}

/* Gaps of many wheel turns. */
static void evq_pop__sparse(void **state)
{
	struct evq q;

	assert_int_equal(evq_init(&q, 2, 0, SPAN, 4), 0);
	for (weft_ps at = 1; at < UINT64_C(1) << 60; at *= 3) {
		evq_set(&q, 0, at);
		evq_set(&q, 1, 3 * at);
		assert_int_equal(evq_pop(&q, at - 1), EVQ_NONE);
		assert_int_equal(evq_pop(&q, at), 0);
		evq_cancel(&q, 1);
		evq_cancel(&q, 1);
	}
	evq_fini(&q);
}

static void evq_peek__looks_ahead(void **state)
{
	struct evq q;

	assert_int_equal(evq_init(&q, 8, 0, SPAN, 4), 0);
	for (uint32_t i = 0; i < 8; i++)
		evq_set(&q, i, 100 * i);
	assert_int_equal(evq_pop(&q, 0), 0);
	assert_int_equal(evq_peek(&q, 0), 1);
	assert_int_equal(evq_peek(&q, 2), 3);
	assert_int_equal(evq_peek(&q, 3), EVQ_NONE);
	evq_fini(&q);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(evq_pop__is_in_order),  cmocka_unit_test(evq_set_back__keeps_the_order),
		cmocka_unit_test(evq_set__many_at_once), cmocka_unit_test(evq_pop__sparse),
		cmocka_unit_test(evq_peek__looks_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
