/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "result_box.h"

static void summarise__by_hand(void **state)
{
	struct run_result r = result_of(three, 3);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_int_equal(s.completed, 3);
	assert_int_equal(s.verified, 2);
	assert_int_equal(s.failed, 1);
	assert_float_equal(s.fct_us.min, 10, 1e-9);
	assert_float_equal(s.fct_us.mean, 20, 1e-9);
	assert_float_equal(s.fct_us.p50, 10, 1e-9);
	assert_float_equal(s.fct_us.p99, 40, 1e-9);
	assert_float_equal(s.fct_us.max, 40, 1e-9);
	assert_float_equal(s.delivered_us.max, 35, 1e-9);
	assert_float_equal(s.makespan_us, 50, 1e-9);
	assert_float_equal(s.inflation, 50.0 / 40, 1e-9);
	assert_float_equal(s.goodput_gbps, 300000 * 8 / 50e3, 1e-9);
	/* rates 4:4:1 */
	assert_float_equal(s.jain, 81.0 / (3 * 33), 1e-9);
}

static void summarise__percentiles_by_nearest_rank(void **state)
{
	struct run_flow flows[200];
	struct run_summary s;
	for (unsigned i = 0; i < 200; i++)
		flows[i] = (struct run_flow){.bytes = 1, .acked = US(200 - i), .delivered = US(1)};
	struct run_result r = result_of(flows, 200);
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.fct_us.p50, 100, 1e-9);
	assert_float_equal(s.fct_us.p99, 198, 1e-9);
	assert_float_equal(s.fct_us.max, 200, 1e-9);
}

/* Of completed flows with a known ideal only: 2 and 8 here. */
static void summarise__slowdown_is_each_flows_own(void **state)
{
	struct run_flow flows[] = {
		{.bytes = 1, .start = US(5), .acked = US(15), .delivered = US(14), .ideal = US(5)},
		{.bytes = 1, .start = US(100), .acked = US(108), .delivered = US(107), .ideal = US(1)},
		{.bytes = 1, .start = 0, .acked = US(50), .delivered = US(50)},
		{.bytes = 1, .start = 0, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .ideal = US(1)},
	};
	struct run_result r = result_of(flows, 4);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.slowdown.min, 2, 1e-9);
	assert_float_equal(s.slowdown.mean, 5, 1e-9);
	assert_float_equal(s.slowdown.p50, 2, 1e-9);
	assert_float_equal(s.slowdown.p99, 8, 1e-9);
	json_t *json = json_of(&r);
	assert_float_equal(number_at(json, "slowdown.max"), 8, 1e-9);
	json_decref(json);
}

static void summarise__incomplete_has_no_inflation(void **state)
{
	struct run_flow flows[] = {
		three[0],
		{.bytes = 5, .start = 0, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .err = ETIMEDOUT},
		{.bytes = 5, .start = WEFT_NEVER, .acked = WEFT_NEVER, .delivered = WEFT_NEVER},
	};
	struct run_result r = result_of(flows, 3);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_int_equal(s.completed, 1);
	assert_int_equal(s.failed, 2);
	assert_true(isnan(s.makespan_us) && isnan(s.inflation));
	assert_float_equal(s.jain, 1, 1e-9);
	json_t *json = json_of(&r);
	assert_true(json_is_null(json_object_get(json, "inflation")));
	assert_false(json_is_null(json_object_get(json, "jain")));
	json_decref(json);
}

static void summarise__nothing_completed(void **state)
{
	struct run_result r = result_of(NULL, 0);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_true(isnan(s.fct_us.max) && isnan(s.delivered_us.mean));
	assert_true(isnan(s.goodput_gbps) && isnan(s.jain));
}

static void set_fabric__mean_queue(void **state)
{
	struct run_result r = result_of(three, 3);
	struct weft_net_stats net = {.dropped_data = 1,
				     .dropped_control = 2,
				     .dropped_down = 4,
				     .dropped_route = 8,
				     .dropped_error = 16,
				     .ports = 10,
				     .queue_byte_ps = 5000,
				     .max_queue_bytes = 77,
				     .pauses = 3,
				     .paused_ns = 4500};
	result_set_fabric(&r, &net, 1000 << 10);
	assert_int_equal(r.packets.dropped, 31);
	assert_int_equal(r.drops.error, 16);
	assert_int_equal(r.queue_max_bytes, 77);
	assert_int_equal(r.pauses, 3);
	assert_float_equal(r.paused_us, 4.5, 1e-9);
	assert_float_equal(r.queue_mean_bytes, 5000.0 * 1024 / 1000 / 10, 1e-6);
}

static void set_fabric__by_hop(void **state)
{
	struct run_result r = result_of(three, 3);
	struct weft_net_stats net = {.ports = 1};
	net.at[0][WEFT_PORT_UP] = (struct weft_hop_stats){10, 50000000, 9000000, 3, 4};
	net.at[1][WEFT_PORT_DOWN] = (struct weft_hop_stats){.data = 1, .wait_ps = 2000000, .wait_max_ps = 2000000};
	result_set_fabric(&r, &net, 1000);
	r.spread[SPREAD_DOWN] = r.spread[SPREAD_UP] = (struct spread_result){7, 14, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5};
	assert_float_equal(r.hops[0][WEFT_PORT_UP].wait_mean_us, 5, 1e-9);
	assert_float_equal(r.hops[0][WEFT_PORT_UP].wait_max_us, 9, 1e-9);
	json_t *json = json_of(&r);
	assert_float_equal(number_at(json, "hops.leaf_up.wait_mean_us"), 5, 1e-9);
	assert_float_equal(number_at(json, "hops.leaf_up.dropped"), 3, 0);
	assert_float_equal(number_at(json, "hops.leaf_up.trimmed"), 4, 0);
	assert_float_equal(number_at(json, "hops.spine_down.wait_max_us"), 2, 1e-9);
	assert_float_equal(number_at(json, "queue_spread.down.samples"), 7, 0);
	assert_float_equal(number_at(json, "queue_spread.up.sd_mean"), 1.5, 1e-9);
	json_decref(json);
}

static void add_engine__sums(void **state)
{
	struct run_packets p = {.data = 1};
	struct weft_stats stats = {.tx_data = 10, .tx_retx = 2, .tx_ack = 9, .tx_nack = 3, .timeouts = 4};
	result_add_engine(&p, &stats);
	result_add_engine(&p, &stats);
	assert_int_equal(p.data, 21);
	assert_int_equal(p.retransmitted, 4);
	assert_int_equal(p.acks, 18);
	assert_int_equal(p.nacks, 6);
	assert_int_equal(p.timeouts, 8);
}

static void set_reordering__shares_of_flows(void **state)
{
	struct run_flow flows[] = {
		{.bytes = 1, .acked = US(1), .delivered = US(1), .order = {.dup_acks = 1, .ooo_max = 9}},
		{.bytes = 1,
		 .acked = US(1),
		 .delivered = US(1),
		 .order = {.dup_acks = 3, .reorder_dup_acks = 3, .ooo_max = 2}},
		{.bytes = 1, .acked = US(1), .delivered = US(1), .order = {.dup_acks = 7, .reorder_dup_acks = 1}},
		{.bytes = 1, .acked = US(1), .delivered = US(1)},
	};
	struct reorder_sum sum = {.packets = 1000,
				  .reordered = 20,
				  .beyond = 31,
				  .extents = {[2] = 20},
				  .extent_max = 2,
				  .waiting = 30,
				  .waits = {[4] = 30},
				  .wait_max = 4};
	struct run_result r = result_of(flows, 4);
	result_set_reordering(&r, &sum);
	assert_true(r.order.known);
	assert_int_equal(r.order.extent_p50, 0);
	assert_int_equal(r.order.extent_p99, 2);
	assert_int_equal(r.order.ooo_max, 9);
	assert_int_equal(r.order.dup_acks_max, 7);
	assert_float_equal(r.order.dup_ack_flows, 0.75, 1e-9);
	assert_float_equal(r.order.dup_ack3_flows, 0.5, 1e-9);
	assert_float_equal(r.order.reorder_ack_flows, 0.5, 1e-9);
	assert_float_equal(r.order.reorder_ack3_flows, 0.25, 1e-9);
	json_t *json = json_of(&r);
	assert_float_equal(number_at(json, "reordering.packets"), 1000, 0);
	assert_float_equal(number_at(json, "reordering.reordered"), 20, 0);
	assert_float_equal(number_at(json, "reordering.beyond_gap"), 31, 0);
	assert_float_equal(number_at(json, "reordering.extent.max"), 2, 0);
	assert_float_equal(number_at(json, "reordering.ooo_p50"), 0, 0);
	assert_float_equal(number_at(json, "reordering.ooo_p99"), 4, 0);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summarise__by_hand),
		cmocka_unit_test(summarise__percentiles_by_nearest_rank),
		cmocka_unit_test(summarise__slowdown_is_each_flows_own),
		cmocka_unit_test(summarise__incomplete_has_no_inflation),
		cmocka_unit_test(summarise__nothing_completed),
		cmocka_unit_test(set_fabric__mean_queue),
		cmocka_unit_test(set_fabric__by_hop),
		cmocka_unit_test(add_engine__sums),
		cmocka_unit_test(set_reordering__shares_of_flows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
