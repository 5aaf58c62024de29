/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload_impl.h"

#include <string.h>

#include "cmocka_all.h"

/* Fires a trigger with the targets 3 and 5 four times; `expect` lists how many flows each time starts. */
static void check_fire(enum weft_trigger_kind kind, uint32_t count, const uint32_t *expect)
{
	uint32_t targets[] = {3, 5}, out[2], seen = 0, fired = 0;
	struct weft_trigger t = {.kind = kind, .count = count, .targets = targets, .target_count = 2};

	for (int i = 0; i < 4; i++) {
		assert_int_equal(weft_trigger_fire(&t, &fired, out), expect[i]);
		for (uint32_t k = 0; k < expect[i]; k++)
			assert_int_equal(out[k], targets[seen++]);
	}
	assert_int_equal(seen, 2);
}

static void weft_trigger_fire__oneshot(void **state)
{
	check_fire(WEFT_TRIGGER_ONESHOT, 1, (uint32_t[]){2, 0, 0, 0});
}

static void weft_trigger_fire__multishot(void **state)
{
	check_fire(WEFT_TRIGGER_MULTISHOT, 1, (uint32_t[]){1, 1, 0, 0});
}

static void weft_trigger_fire__barrier(void **state)
{
	check_fire(WEFT_TRIGGER_BARRIER, 3, (uint32_t[]){0, 0, 2, 0});
}

/* A line of five flows, each started by the one before through a trigger of this kind. */
static void make_line(struct weft_workload *w, enum weft_trigger_kind kind, uint32_t count)
{
	*w = (struct weft_workload){0};
	assert_int_equal(workload_alloc(w, 2, 5, 4), 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct weft_flow *f = workload_add(w, 0, 1, 100);
		if (i > 0)
			workload_wait(f, i - 1);
		if (i < 4)
			f->recv_done_trigger = (int32_t)i;
	}
	for (uint32_t i = 0; i < 4; i++)
		w->triggers[i] = (struct weft_trigger){.id = i + 1, .kind = (uint8_t)kind, .count = count};
}

static void check_stuck(struct weft_workload *w, uint32_t flow, uint32_t activations, uint32_t needed)
{
	struct workload_stuck stuck = {0};

	assert_int_equal(workload_link(w), 0);
	assert_int_equal(workload_all_start(w, &stuck), 0);
	assert_int_equal(stuck.flow, flow);
	assert_int_equal(stuck.activations, activations);
	assert_int_equal(stuck.needed, needed);
	weft_workload_free(w);
}

static void workload_all_start__line(void **state)
{
	struct weft_workload w;
	struct workload_stuck stuck;

	make_line(&w, WEFT_TRIGGER_ONESHOT, 1);
	assert_int_equal(workload_link(&w), 0);
	for (int again = 0; again < 2; again++)
		assert_int_equal(workload_all_start(&w, &stuck), 1);
	weft_workload_free(&w);
}

static void workload_all_start__nobody_fires(void **state)
{
	struct weft_workload w;

	make_line(&w, WEFT_TRIGGER_ONESHOT, 1);
	w.flows[1].recv_done_trigger = -1;
	check_stuck(&w, 2, 0, 1);
}

static void workload_all_start__barrier_too_high(void **state)
{
	struct weft_workload w;

	make_line(&w, WEFT_TRIGGER_BARRIER, 2);
	check_stuck(&w, 1, 1, 2);
}

static void workload_all_start__circle(void **state)
{
	struct weft_workload w;

	make_line(&w, WEFT_TRIGGER_ONESHOT, 1);
	w.flows[1].start_trigger = 3; /* 1 waits for 3, 3 for 2, 2 for 1 */
	w.flows[3].recv_done_trigger = 3;
	check_stuck(&w, 1, 0, 1);
}

/* Three wait for a multishot that is fired twice. */
static void workload_all_start__multishot_ends_early(void **state)
{
	struct weft_workload w;

	make_line(&w, WEFT_TRIGGER_MULTISHOT, 1);
	for (uint32_t i = 1; i < 5; i++)
		w.flows[i].start_trigger = i > 1 ? 0 : 1;
	w.flows[0].recv_done_trigger = 1;
	w.flows[1].recv_done_trigger = w.flows[2].recv_done_trigger = 0;
	w.flows[3].recv_done_trigger = w.flows[4].recv_done_trigger = -1;
	check_stuck(&w, 4, 2, 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_trigger_fire__oneshot),
		cmocka_unit_test(weft_trigger_fire__multishot),
		cmocka_unit_test(weft_trigger_fire__barrier),
		cmocka_unit_test(workload_all_start__line),
		cmocka_unit_test(workload_all_start__nobody_fires),
		cmocka_unit_test(workload_all_start__barrier_too_high),
		cmocka_unit_test(workload_all_start__circle),
		cmocka_unit_test(workload_all_start__multishot_ends_early),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
