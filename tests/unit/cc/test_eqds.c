/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_ops.h"
#include "cmocka_all.h"
#include "rcc_box.h"

/* 100 Gb/s x 12 us: a BDP of 150,000 bytes. */
static struct eqds_tune *open(struct rcc_box *box)
{
	rcc_box_init(box, &weft_rcc_eqds, 100000000000, WEFT_US(12));
	return (struct eqds_tune *)box->tune;
}

static void limits__are_shares_of_the_bdp(void **state)
{
	struct rcc_box box;
	struct eqds_tune *tune = open(&box);
	rcc_box_start(&box);
	assert_int_equal(box.limits.first_bytes, 150000);
	assert_int_equal(box.limits.credit_bytes, 225000);
	/* 0.08 ns per byte at line rate, 99 % of it. */
	assert_int_equal(box.limits.pace, 83886 * 1000 / 990);
	tune->pull_first_pct = 0;
	tune->pull_max_pct = 1;
	tune->pull_rate_permille = 500;
	rcc_box_start(&box);
	assert_int_equal(box.limits.first_bytes, 0);
	assert_int_equal(box.limits.credit_bytes, 4200);
	assert_int_equal(box.limits.pace, 83886 * 2);
}

static void next_credit__four_packets_a_turn(void **state)
{
	struct rcc_box box;
	struct eqds_tune *tune = open(&box);
	rcc_box_start(&box);
	rcc_box_demand(&box, 100 * 256);
	assert_int_equal(box.rcc.wanted_bytes, 25600);
	assert_int_equal(rcc_box_credit(&box), 16896); /* 16,800 in whole units */
	assert_int_equal(box.rcc.wanted_bytes, 25600 - 16896);
	assert_int_equal(rcc_box_credit(&box), 25600 - 16896);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	tune->pull_pkts = 1;
	rcc_box_start(&box);
	rcc_box_demand(&box, 100 * 256);
	assert_int_equal(rcc_box_credit(&box), 4352);
}

static void on_demand__no_more_than_a_sender_may_keep(void **state)
{
	struct rcc_box box;
	open(&box);
	rcc_box_start(&box);
	rcc_box_demand(&box, WEFT_RCC_MAX_BYTES);
	assert_int_equal(box.rcc.wanted_bytes, 225024);
	rcc_box_data(&box, 4200, true);
	assert_int_equal(box.rcc.wanted_bytes, 225024);
}

static void on_data__trims_add_to_demand(void **state)
{
	struct rcc_box box;
	open(&box);
	rcc_box_start(&box);
	rcc_box_data(&box, 4200, false);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	rcc_box_data(&box, 4200, true);
	rcc_box_data(&box, 300, true);
	assert_int_equal(box.rcc.wanted_bytes, 4352 + 512);
	rcc_box_demand(&box, 256); /* sent before the sender knew */
	assert_int_equal(box.rcc.wanted_bytes, 4352 + 512);
	rcc_box_demand(&box, 8192); /* the same trims and more */
	assert_int_equal(box.rcc.wanted_bytes, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits__are_shares_of_the_bdp),
		cmocka_unit_test(on_demand__no_more_than_a_sender_may_keep),
		cmocka_unit_test(on_data__trims_add_to_demand),
		cmocka_unit_test(next_credit__four_packets_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
