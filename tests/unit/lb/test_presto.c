/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"

enum { CELL = 16 }; /* packets of 4 KiB */

/* A fabric whose switches read digits: 3 uplinks of a leaf, 4 of a spine. */
static void init_digits(struct lb_box *box, uint64_t seed)
{
	lb_box_init(box, &weft_lb_presto, 65536, seed, 0);
	weft_lb_digits_init(&box->params.digits, (const uint32_t[WEFT_LB_PARTS]){3, 4, 0});
	box->params.digits_read = 1;
	lb_box_again(box, seed, 0);
}

static void pick__a_flowcell_keeps_its_path(void **state)
{
	struct lb_box box;

	init_digits(&box, 1);
	uint16_t before = 0xffff;
	for (uint32_t cell = 0; cell < 100; cell++) {
		uint16_t ev = lb_box_pick(&box, 0, 0);
		assert_int_not_equal(ev, before);
		for (uint32_t i = 1; i < CELL; i++)
			assert_int_equal(lb_box_pick(&box, i, 0), ev);
		before = ev;
	}
}

static void pick__takes_all_paths_in_turn(void **state)
{
	struct lb_box box;
	uint32_t seen[16] = {0}, paths = 0;

	init_digits(&box, 2);
	for (uint32_t i = 0; i < 12 * 5 * CELL; i++) {
		uint16_t ev = lb_box_pick(&box, i, 0);
		assert_true(weft_lb_digit(&box.params.digits, ev, 0) < 3);
		assert_true(weft_lb_digit(&box.params.digits, ev, 1) < 4);
		seen[ev]++;
	}
	for (uint32_t ev = 0; ev < 16; ev++) {
		assert_true(seen[ev] == 0 || seen[ev] == 5 * CELL);
		paths += seen[ev] > 0;
	}
	assert_int_equal(paths, 12);
}

static void pick__neighbours_leave_by_other_ports(void **state)
{
	struct lb_box box;

	init_digits(&box, 3);
	uint32_t before = 99;
	for (uint32_t cell = 0; cell < 50; cell++) {
		uint32_t up = weft_lb_digit(&box.params.digits, lb_box_pick(&box, 0, 0), 0);
		assert_int_not_equal(up, before);
		before = up;
		for (uint32_t i = 1; i < CELL; i++)
			lb_box_pick(&box, i, 0);
	}
}

static void pick__size_follows_the_payload(void **state)
{
	struct lb_box box;

	init_digits(&box, 1);
	box.params.payload_bytes = 1024;
	lb_box_again(&box, 1, 0);
	uint16_t ev = lb_box_pick(&box, 0, 0);
	for (uint32_t i = 1; i < 64; i++)
		assert_int_equal(lb_box_pick(&box, i, 0), ev);
	assert_int_not_equal(lb_box_pick(&box, 64, 0), ev);
	((struct presto_tune *)box.tune)->flowcell_bytes = 100; /* less than a packet: sprays */
	lb_box_again(&box, 1, 0);
	ev = lb_box_pick(&box, 0, 0);
	assert_int_not_equal(lb_box_pick(&box, 1, 0), ev);
}

static void pick__a_pause_ends_the_flowcell(void **state)
{
	struct lb_box box;

	init_digits(&box, 4);
	uint16_t ev = lb_box_pick(&box, 0, 100);
	assert_int_equal(lb_box_pick(&box, 1, 100 + 10000), ev);
	uint16_t other = lb_box_pick(&box, 2, 100 + 20001);
	assert_int_not_equal(other, ev);
	for (uint32_t i = 1; i < CELL; i++)
		assert_int_equal(lb_box_pick(&box, 2 + i, 100 + 20001), other);
}

/* ---- where routing tells of unlike paths ---- */

/* A controller that gives out the same to everybody, and who asked last. */
struct controller {
	struct weft_lb_routes routes;
	const struct weft_lb_turns *turns;
	uint32_t dst, asked;
};

static const struct weft_lb_turns *answer(void *arg, uint32_t dst)
{
	struct controller *c = arg;

	c->dst = dst;
	c->asked++;
	return c->turns;
}

static struct weft_lb_turns *turns_make(const uint16_t *ev, uint32_t count)
{
	struct weft_lb_turns *t = malloc(sizeof *t + count * sizeof *ev);

	t->count = count;
	memcpy(t->ev, ev, count * sizeof *ev);
	return t;
}

static void init_told(struct lb_box *box, struct controller *c, uint64_t seed)
{
	init_digits(box, seed);
	c->routes = (struct weft_lb_routes){c, answer};
	box->params.routes = &c->routes;
	lb_box_again(box, seed, 0);
	weft_lb_presto.towards(&box->lb, 77);
}

/* The entropy of a whole flowcell. */
static uint16_t next_cell(struct lb_box *box)
{
	uint16_t ev = lb_box_pick(box, 0, 0);

	for (uint32_t i = 1; i < CELL; i++)
		assert_int_equal(lb_box_pick(box, i, 0), ev);
	return ev;
}

static void pick__takes_the_turns_that_are_given_out(void **state)
{
	static const uint16_t turns[] = {5, 1, 5, 9, 5};
	struct weft_lb_turns *t = turns_make(turns, 5);
	struct controller c = {.turns = t};
	struct lb_box box;
	uint32_t seen[16] = {0};

	init_told(&box, &c, 6);
	for (uint32_t i = 0; i < 5 * 20; i++)
		seen[next_cell(&box)]++;
	assert_int_equal(seen[5], 3 * 20);
	assert_int_equal(seen[1], 20);
	assert_int_equal(seen[9], 20);
	assert_int_equal(c.dst, 77);
	assert_int_equal(c.asked, 5 * 20); /* once per flowcell */
	while (next_cell(&box) != 9)
		;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(next_cell(&box), turns[(i + 4) % 5]);
	free(t);
}

/* Also where the turns are fewer than the paths. */
static void pick__begins_at_any_turn(void **state)
{
	static const uint16_t turns[] = {0, 1, 2, 4, 5};
	struct weft_lb_turns *t = turns_make(turns, 5);
	uint32_t seen[16] = {0};

	for (uint64_t seed = 0; seed < 500; seed++) {
		struct controller c = {.turns = t};
		struct lb_box box;
		init_told(&box, &c, seed);
		seen[lb_box_pick(&box, 0, 0)]++;
	}
	for (uint32_t i = 0; i < 5; i++)
		assert_in_range(seen[turns[i]], 60, 140); /* 100 expected */
	free(t);
}

/* The flowcell under way goes on; the next one is told anew, and plain turns are taken up again. */
static void pick__follows_routing_from_the_next_flowcell_on(void **state)
{
	static const uint16_t turns[] = {8, 9};
	struct weft_lb_turns *t = turns_make(turns, 2);
	struct controller c = {.turns = NULL};
	struct lb_box box;
	bool beyond = false;

	init_told(&box, &c, 7);
	uint16_t ev = lb_box_pick(&box, 0, 0);
	c.turns = t;
	for (uint32_t i = 1; i < CELL; i++)
		assert_int_equal(lb_box_pick(&box, i, 0), ev);
	for (uint32_t i = 0; i < 6; i++)
		assert_in_range(next_cell(&box), 8, 9);
	c.turns = NULL;
	for (uint32_t i = 0; i < 12; i++)
		beyond |= next_cell(&box) < 8;
	assert_true(beyond);
	free(t);
}

static void pick__without_news_is_as_without_routing(void **state)
{
	struct controller c = {.turns = NULL};
	struct lb_box told, plain;

	init_told(&told, &c, 8);
	init_digits(&plain, 8);
	for (uint32_t i = 0; i < 40 * CELL; i++)
		assert_int_equal(lb_box_pick(&told, i, 0), lb_box_pick(&plain, i, 0));
}

/* Where entropies are hashed they name no paths. */
static void pick__does_not_ask_where_digits_are_not_read(void **state)
{
	static const uint16_t turns[] = {8};
	struct weft_lb_turns *t = turns_make(turns, 1);
	struct controller c = {.turns = t};
	struct lb_box box;

	init_told(&box, &c, 9);
	box.params.digits_read = 0;
	lb_box_again(&box, 9, 0);
	assert_int_not_equal(next_cell(&box), next_cell(&box));
	assert_int_equal(c.asked, 0);
	free(t);
}

static void init__connections_begin_anywhere(void **state)
{
	uint32_t seen[16] = {0};

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct lb_box box;
		init_digits(&box, seed);
		seen[lb_box_pick(&box, 0, 0)]++;
	}
	for (uint32_t ev = 0; ev < 16; ev++)
		assert_true(seen[ev] < 66); /* 33 expected for each of twelve */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick__a_flowcell_keeps_its_path),
		cmocka_unit_test(pick__takes_all_paths_in_turn),
		cmocka_unit_test(pick__neighbours_leave_by_other_ports),
		cmocka_unit_test(pick__size_follows_the_payload),
		cmocka_unit_test(pick__a_pause_ends_the_flowcell),
		cmocka_unit_test(init__connections_begin_anywhere),
		cmocka_unit_test(pick__takes_the_turns_that_are_given_out),
		cmocka_unit_test(pick__begins_at_any_turn),
		cmocka_unit_test(pick__follows_routing_from_the_next_flowcell_on),
		cmocka_unit_test(pick__without_news_is_as_without_routing),
		cmocka_unit_test(pick__does_not_ask_where_digits_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
