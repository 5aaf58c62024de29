/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "result_box.h"

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
		.dropped_data = 1,
		.dropped_control = 2,
		.dropped_down = 4,
		.dropped_route = 8,
		.dropped_error = 16,
		.credits = {.injected = 100, .sent = 60, .dropped = 39, .marked = 20, .waiting = 1},
		.pauses = 32,
		.paused_ns = 64000};
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	assert_null(json_object_get(json, "drops"));
	assert_null(json_object_get(json, "credit_queues"));
	assert_null(json_object_get(json, "warning"));
	assert_null(json_object_get(json, "cc_reason"));
	json_decref(json);
	result_set_fabric(&r, &net, 1);
	r.warning = "no credit queues";
	r.cc_reason = "best";
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json = json_load_file(name, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(json, "warning")), "no credit queues");
	assert_string_equal(json_string_value(json_object_get(json, "cc_reason")), "best");
	assert_float_equal(number(json, "credit_queues", "injected"), 100, 0);
	assert_float_equal(number(json, "credit_queues", "sent"), 60, 0);
	assert_float_equal(number(json, "credit_queues", "dropped"), 39, 0);
	assert_float_equal(number(json, "credit_queues", "marked"), 20, 0);
	assert_float_equal(number(json, "drops", "data"), 1, 0);
	assert_float_equal(number(json, "drops", "control"), 2, 0);
	assert_float_equal(number(json, "drops", "down"), 4, 0);
	assert_float_equal(number(json, "drops", "route"), 8, 0);
	assert_float_equal(number(json, "queues", "pauses"), 32, 0);
	assert_float_equal(number(json, "queues", "paused_us"), 64, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_json__drops),
		cmocka_unit_test(write_json__has_the_schema),
		cmocka_unit_test(write_json__background),
		cmocka_unit_test(write_json__names_the_file_it_could_not_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
