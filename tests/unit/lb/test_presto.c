/* SPDX-License-Identifier: BSD-3-Clause */
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
