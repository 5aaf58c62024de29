/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT_NS = 12000, MTU = 4200, BDP = 150000 };

static void start(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_mprdma, 100000000000, BRTT_NS);
	cc_box_start(box);
}

static void init__window_is_one_and_a_half_bdp(void **state)
{
	struct cc_box box;

	start(&box);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 2);
	assert_int_equal(box.cc.pace, 0);
}

static void on_ack__a_mark_costs_half_a_packet(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 10, 100, 2 * BRTT_NS, true);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 2 - 10 * MTU / 2);
	cc_box_acks(&box, 1000, 100, 2 * BRTT_NS, true);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
}

/* A window's worth of unmarked ACKs brings one packet, however many packets an ACK is for. */
static void on_ack__one_packet_per_window(void **state)
{
	struct cc_box box;

	for (uint32_t coalesced = 1; coalesced <= 4; coalesced *= 4) {
		start(&box);
		cc_box_acks(&box, 50, 100, BRTT_NS, true); /* 120,000 bytes */
		uint32_t acked = 0, before = box.cc.cwnd_bytes;
		for (; acked < before; acked += coalesced * MTU)
			cc_box_ack(&box, coalesced * MTU, BRTT_NS, false);
		assert_in_range(box.cc.cwnd_bytes, before + MTU, before + MTU + MTU / 4);
	}
}

/* The packets an ACK reports besides the marked one were not marked, or they would have been answered themselves. */
static void on_ack__unmarked_packets_of_a_marked_ack_count(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 70, 100, BRTT_NS, true);
	uint32_t before = box.cc.cwnd_bytes; /* 78,000 bytes */
	cc_box_ack(&box, MTU + before, BRTT_NS, true);
	assert_in_range(box.cc.cwnd_bytes, before + MTU / 2, before + MTU / 2 + MTU / 8);
}

static void on_loss__trims_cost_their_size(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 5, 0);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 2 - 5 * MTU);
}

static void on_loss__other_losses_halve_once_per_base_rtt(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 20, 0);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 20, 0);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 4);
	box.now += BRTT_NS;
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 20, 0);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 8);
	assert_int_equal(cc_box_view(&box).decreases, 2);
}

/* REPS sec. 4.1. */
static void on_loss__costs_a_packet_when_told_not_to_halve(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_mprdma, 100000000000, BRTT_NS);
	((struct mprdma_tune *)box.tune)->loss_halves = 0;
	cc_box_start(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 3, 0);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 4, 0);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 2 - 7 * MTU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__window_is_one_and_a_half_bdp),
		cmocka_unit_test(on_ack__a_mark_costs_half_a_packet),
		cmocka_unit_test(on_ack__one_packet_per_window),
		cmocka_unit_test(on_ack__unmarked_packets_of_a_marked_ack_count),
		cmocka_unit_test(on_loss__trims_cost_their_size),
		cmocka_unit_test(on_loss__other_losses_halve_once_per_base_rtt),
		cmocka_unit_test(on_loss__costs_a_packet_when_told_not_to_halve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
