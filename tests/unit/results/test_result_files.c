/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "member.h"
#include "result_box.h"
#include "result_json.h"
#include "temp_dir.h"

static json_t *load(const char *dir, const char *name)
{
	char path[FILE_PATH_MAX];
	assert_int_equal(file_path(path, dir, name, NULL), 0);
	json_t *json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	return json;
}

static void write_dir__origin_and_options(void **state)
{
	static const struct run_option given[] = {
		{"seed", "3"},     {"no-trim", NULL}, {"set", "ack_every=2"},          {"fault", "1us fail host:1"},
		{"set", "trim=0"}, {"out", "x"},      {"fault", "2us restore host:1"},
	};
	char dir[] = "/tmp/weft-run-XXXXXX";
	struct weft_flow flows[3] = {{.src = 0, .dst = 1}, {.src = 2, .dst = 1}, {.src = 0, .dst = 1}};
	struct weft_workload w = {.flows = flows, .flow_count = 3};
	struct run_origin origin = {.given = given, .given_count = 7, .error = ""};
	struct run_result r = result_of(three, 3);
	r.origin = &origin;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	json_t *json = load(dir, "run.json");
	int seed, trimmed, ack_every;
	json_t *faults;
	assert_int_equal(json_unpack(json, "{s:{s:i, s:b, s:{s:i}, s:o}}", "options", "seed", &seed, "no-trim",
				     &trimmed, "set", "ack_every", &ack_every, "faults", &faults),
			 0);
	assert_null(json_object_get(json, "error"));
	assert_int_equal(seed, 3);
	assert_int_equal(trimmed, 1);
	assert_int_equal(ack_every, 2);
	assert_int_equal(json_array_size(faults), 2);
	assert_null(json_object_get(json_object_get(json, "options"), "out"));
	json_decref(json);
	assert_int_equal(temp_dir_remove(dir), 0);
}

/* What an option is given again with: not a number that JSON writes in another way, or with fewer digits. */
static void write_dir__options_as_they_were_given(void **state)
{
	static const char *const text[] = {"0xdeadbeef",
					   "010",
					   "1e3",
					   "18446744073709551615",
					   "3.14159265358979",
					   "0x1234567890abc",
					   "nan",
					   "+1",
					   "1.",
					   ".5",
					   "-",
					   "0x1p4"};
	static const struct {
		const char *text;
		double value;
	} numbers[] = {{"0", 0}, {"-7", -7}, {"0.25", 0.25}, {"9223372036854775807", 9223372036854775807.0}};
	for (size_t i = 0; i < count_of(text); i++) {
		json_t *json = result_value(text[i]);
		assert_true(json_is_string(json));
		assert_string_equal(json_string_value(json), text[i]);
		json_decref(json);
	}
	for (size_t i = 0; i < count_of(numbers); i++) {
		json_t *json = result_value(numbers[i].text);
		assert_true(json_is_number(json) && json_number_value(json) == numbers[i].value);
		json_decref(json);
	}
}

/* A file's name can hold any bytes; the result is not lost for it. */
static void write_dir__text_that_is_no_utf8(void **state)
{
	static const struct run_option given[] = {{"matrix", "y\xff.cm"}, {"fault", "\xc3"}};
	char dir[] = "/tmp/weft-run-XXXXXX";
	struct weft_flow flows[3] = {{.dst = 1}, {.dst = 1}, {.dst = 1}};
	struct weft_workload w = {.flows = flows, .flow_count = 3};
	struct run_origin origin = {.given = given, .given_count = 2, .error = "\xc3\xbc cut \xc3"};
	struct run_result r = result_of(three, 3);
	r.origin = &origin;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	json_t *json = load(dir, "run.json");
	const char *error, *matrix, *fault;
	assert_int_equal(json_unpack(json, "{s:s, s:{s:s, s:[s]}}", "error", &error, "options", "matrix", &matrix,
				     "faults", &fault),
			 0);
	assert_string_equal(error, "?? cut ?");
	assert_string_equal(matrix, "y?.cm");
	assert_string_equal(fault, "?");
	json_decref(json);
	assert_int_equal(temp_dir_remove(dir), 0);
}

static void write_dir__a_line_per_flow(void **state)
{
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_flow flows[] = {
		{.bytes = 1000,
		 .start = US(1),
		 .acked = US(10),
		 .delivered = US(8),
		 .ideal = US(7),
		 .verified = true,
		 .order = {.reordered = 4, .dup_acks = 3, .reorder_dup_acks = 2, .ooo_max = 1}},
		{.bytes = 2000, .start = WEFT_NEVER, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .ideal = US(2)},
		{.bytes = 3000, .start = 0, .acked = WEFT_NEVER, .delivered = US(3), .background = true},
	};
	struct weft_flow ends[3] = {{.src = 0, .dst = 1}, {.src = 2, .dst = 3}, {.src = 4, .dst = 5}};
	struct weft_workload w = {.flows = ends, .flow_count = 3};
	struct run_result r = result_of(flows, 3);
	size_t len;
	int rc = 0;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	assert_int_equal(file_path(path, dir, "flows.csv", NULL), 0);
	char *text = file_read(path, &len, &rc, NULL);
	assert_string_equal(text, "flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background,"
				  "reordered,dup_acks,reorder_dup_acks,ooo_max\n"
				  "0,0,1,1000,1.000000,9.000000,7.000000,7.000000,1,0,4,3,2,1\n"
				  "1,2,3,2000,,,,2.000000,0,0,0,0,0,0\n"
				  "2,4,5,3000,0.000000,,3.000000,,0,1,0,0,0,0\n");
	free(text);
	assert_int_equal(temp_dir_remove(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_dir__origin_and_options),
		cmocka_unit_test(write_dir__options_as_they_were_given),
		cmocka_unit_test(write_dir__text_that_is_no_utf8),
		cmocka_unit_test(write_dir__a_line_per_flow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
