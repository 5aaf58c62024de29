/* SPDX-License-Identifier: BSD-3-Clause */
#include "spsc.h"

#include <pthread.h>
#include <sched.h>

#include "cmocka_all.h"

struct elem {
	uint64_t number;
	uint32_t check;
};

enum { ENTRIES = 8 };

static void spsc_push__until_full(void **state)
{
	struct elem slots[ENTRIES], e = {0, 0};
	struct spsc r;

	assert_int_equal(spsc_bytes(ENTRIES, sizeof e), sizeof slots);
	spsc_init(&r, slots, ENTRIES, sizeof e);
	assert_true(spsc_empty(&r));
	for (unsigned i = 0; i < ENTRIES; i++) {
		assert_int_equal(spsc_space(&r), ENTRIES - i);
		e.number = i;
		assert_true(spsc_push(&r, &e));
	}
	assert_int_equal(spsc_space(&r), 0);
	assert_false(spsc_push(&r, &e));
	assert_false(spsc_empty(&r));
}

static void spsc_pop__in_order_until_empty(void **state)
{
	struct elem slots[ENTRIES], e = {0, 0};
	struct spsc r;

	spsc_init(&r, slots, ENTRIES, sizeof e);
	assert_false(spsc_pop(&r, &e));
	for (uint64_t i = 0; i < 100; i++) {
		for (uint64_t k = 0; k < 3; k++) {
			e.number = 3 * i + k;
			assert_true(spsc_push(&r, &e));
		}
		for (uint64_t k = 0; k < 3; k++) {
			assert_true(spsc_pop(&r, &e));
			assert_int_equal(e.number, 3 * i + k);
		}
		assert_false(spsc_pop(&r, &e));
		assert_true(spsc_empty(&r));
	}
}

static void spsc_push__counters_wrap(void **state)
{
	struct elem slots[ENTRIES], e = {0, 0};
	struct spsc r;

	spsc_init(&r, slots, ENTRIES, sizeof e);
	r.head = r.tail = r.tail_seen = r.head_seen = UINT32_MAX - 2;
	for (unsigned i = 0; i < ENTRIES; i++) {
		e.number = i;
		assert_true(spsc_push(&r, &e));
	}
	assert_false(spsc_push(&r, &e));
	for (unsigned i = 0; i < ENTRIES; i++) {
		assert_true(spsc_pop(&r, &e));
		assert_int_equal(e.number, i);
	}
	assert_false(spsc_pop(&r, &e));
}

enum { TRANSFERS = 200000 };

static void *produce(void *arg)
{
	for (uint32_t i = 0; i < TRANSFERS;) {
		struct elem e = {i, ~i};
		if (spsc_push(arg, &e))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void spsc_pop__two_threads(void **state)
{
	struct elem slots[ENTRIES], e;
	struct spsc r;
	pthread_t producer;

	spsc_init(&r, slots, ENTRIES, sizeof e);
	assert_int_equal(pthread_create(&producer, NULL, produce, &r), 0);
	for (uint32_t i = 0; i < TRANSFERS;) {
		if (!spsc_pop(&r, &e)) {
			sched_yield();
			continue;
		}
		assert_int_equal(e.number, i);
		assert_int_equal(e.check, ~i);
		i++;
	}
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_true(spsc_empty(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spsc_push__until_full),
		cmocka_unit_test(spsc_pop__in_order_until_empty),
		cmocka_unit_test(spsc_push__counters_wrap),
		cmocka_unit_test(spsc_pop__two_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
