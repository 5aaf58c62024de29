/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

static void init__window_is_a_share_of_the_bdp(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_fixed, 100000000000, 12000);
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, 150000);
	((struct fixed_tune *)box.tune)->cwnd_pct = 250;
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, 375000);
	((struct fixed_tune *)box.tune)->cwnd_pct = 1;
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, box.params.mtu_bytes);
}

static void on_ack__window_follows_only_the_base_rtt(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_fixed, 100000000000, 12000);
	cc_box_start(&box);
	cc_box_acks(&box, 100, 100, 90000, true);
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++)
		cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 50, 0);
	assert_int_equal(box.cc.cwnd_bytes, 150000);
	box.params.brtt_ns = 6000;
	cc_box_acks(&box, 1, 100, 6000, false);
	assert_int_equal(box.cc.cwnd_bytes, 75000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__window_is_a_share_of_the_bdp),
		cmocka_unit_test(on_ack__window_follows_only_the_base_rtt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
