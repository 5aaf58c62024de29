/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

#define US(n) ((weft_ps)(n)*1000000u)

/* Three flows: two equal ones from the start, one later, slower and without its last receipt. */
static const struct run_flow three[] = {
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(8), .verified = true},
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(9), .verified = true},
	{.bytes = 100000, .start = US(10), .acked = US(50), .delivered = US(45)},
};

static struct run_result result_of(const struct run_flow *flows, uint32_t count)
{
	return (struct run_result){.mode = "sim",
				   .cc = "smartt",
				   .lb = "reps",
				   .seed = 3,
				   .flows = flows,
				   .flow_count = count,
				   .ideal = US(40),
				   .elapsed = US(50),
				   .digest = 0xabc};
}

static void summarise__by_hand(void **state)
{
	struct run_result r = result_of(three, 3);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_int_equal(s.completed, 3);
	assert_int_equal(s.verified, 2);
	assert_int_equal(s.failed, 0);
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
	assert_int_equal(s.failed, 1);
	assert_float_equal(s.inflation, 0, 0);
	assert_float_equal(s.jain, 1, 1e-9);
}

static void summarise__nothing_completed(void **state)
{
	struct run_result r = result_of(NULL, 0);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.fct_us.max, 0, 0);
	assert_float_equal(s.goodput_gbps, 0, 0);
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
				     .max_queue_bytes = 77};
	result_set_fabric(&r, &net, 1000 << 10);
	assert_int_equal(r.packets.dropped, 31);
	assert_int_equal(r.drops.error, 16);
	assert_int_equal(r.queue_max_bytes, 77);
	assert_float_equal(r.queue_mean_bytes, 5000.0 * 1024 / 1000 / 10, 1e-6);
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

static double number(json_t *json, const char *object, const char *key)
{
	json_t *in = object ? json_object_get(json, object) : json;
	json_t *value = json_object_get(in, key);
	assert_true(json_is_number(value));
	return json_number_value(value);
}

/* A fabric that is known says why it dropped packets; real time does not claim to. */
static void write_json__drops(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	close(mkstemp(name));
	struct run_result r = result_of(three, 3);
	struct weft_net_stats net = {
		.dropped_data = 1, .dropped_control = 2, .dropped_down = 4, .dropped_route = 8, .dropped_error = 16};
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	assert_null(json_object_get(json, "drops"));
	json_decref(json);
	result_set_fabric(&r, &net, 1);
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json = json_load_file(name, 0, NULL);
	assert_float_equal(number(json, "drops", "data"), 1, 0);
	assert_float_equal(number(json, "drops", "control"), 2, 0);
	assert_float_equal(number(json, "drops", "down"), 4, 0);
	assert_float_equal(number(json, "drops", "route"), 8, 0);
	assert_float_equal(number(json, "drops", "error"), 16, 0);
	json_decref(json);
	unlink(name);
}

static void write_json__has_the_schema(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	close(mkstemp(name));
	struct run_result r = result_of(three, 3);
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	assert_non_null(json);
	assert_string_equal(json_string_value(json_object_get(json, "schema")), "weft.run/1");
	assert_string_equal(json_string_value(json_object_get(json, "mode")), "sim");
	assert_float_equal(number(json, NULL, "seed"), 3, 0);
	assert_float_equal(number(json, "flows", "count"), 3, 0);
	assert_float_equal(number(json, "flows", "verified"), 2, 0);
	assert_float_equal(number(json, "fct_us", "p99"), 40, 1e-9);
	assert_float_equal(number(json, "delivered_us", "min"), 8, 1e-9);
	assert_float_equal(number(json, NULL, "inflation"), 1.25, 1e-9);
	assert_float_equal(number(json, "packets", "credits"), 0, 0);
	assert_float_equal(number(json, "queues", "mean_bytes"), 0, 0);
	assert_float_equal(number(json, "run", "virtual_us"), 50, 1e-9);
	assert_string_equal(json_string_value(json_object_get(json_object_get(json, "run"), "digest")),
			    "0000000000000abc");
	json_decref(json);
	unlink(name);
}

/* Background flows are counted with all, and told apart; without any, nothing is said of them. */
static void write_json__background(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	struct run_flow flows[] = {{.bytes = 1000, .acked = 10000000, .delivered = 8000000},
				   {.bytes = 1000, .acked = 30000000, .delivered = 8000000},
				   {.bytes = 1000, .acked = 70000000, .delivered = 8000000, .background = true}};
	struct run_result r = {.mode = "sim", .cc = "c", .lb = "l", .flows = flows, .flow_count = 3};
	close(mkstemp(name));
	for (int with = 1; with >= 0; with--) {
		flows[2].background = with;
		assert_int_equal(result_write_json(&r, name, NULL), 0);
		json_t *json = json_load_file(name, 0, NULL);
		assert_float_equal(number(json, "fct_us", "max"), 70, 1e-9);
		assert_int_equal(json_object_get(json, "background") != NULL, with);
		if (with) {
			assert_float_equal(number(json, NULL, "background"), 1, 0);
			assert_float_equal(number(json, "foreground_fct_us", "mean"), 20, 1e-9);
			assert_float_equal(number(json, "background_fct_us", "mean"), 70, 1e-9);
		}
		json_decref(json);
	}
	unlink(name);
}

static void write_json__names_the_file_it_could_not_write(void **state)
{
	struct run_result r = result_of(three, 3);
	struct weft_err err = {""};
	assert_int_not_equal(result_write_json(&r, "/nonexistent/r.json", &err), 0);
	assert_non_null(strstr(err.msg, "/nonexistent/r.json"));
}

static void print__is_readable(void **state)
{
	struct run_result r = result_of(three, 3);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_int_equal(result_print(&r, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "3 completed, 2 verified"));
	assert_non_null(strstr(text, "p99 40.0"));
	assert_non_null(strstr(text, "0000000000000abc"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summarise__by_hand),
		cmocka_unit_test(summarise__percentiles_by_nearest_rank),
		cmocka_unit_test(summarise__incomplete_has_no_inflation),
		cmocka_unit_test(summarise__nothing_completed),
		cmocka_unit_test(set_fabric__mean_queue),
		cmocka_unit_test(add_engine__sums),
		cmocka_unit_test(write_json__drops),
		cmocka_unit_test(write_json__has_the_schema),
		cmocka_unit_test(write_json__background),
		cmocka_unit_test(write_json__names_the_file_it_could_not_write),
		cmocka_unit_test(print__is_readable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
