/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "result_box.h"

static void read_json__is_what_was_written(void **state)
{
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_origin origin = origin_of(NULL, 0);
	struct run_result r = result_of(three, 3);
	struct run_summary s;
	struct run_record rec;
	r.origin = &origin;
	r.packets = (struct run_packets){1, 2, 3, 4, 5, 6, 7, 8, 9};
	r.queue_max_bytes = 77;
	r.fabric = true;
	r.drops = (struct run_drops){1, 2, 3, 4, 5};
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_path(path, dir, "run.json", NULL), 0);
	assert_int_equal(result_read_json(path, &rec, NULL), -ENOENT);
	assert_int_equal(result_write_json(&r, path, NULL), 0);
	assert_int_equal(result_read_json(path, &rec, NULL), 0);
	assert_string_equal(rec.cc, "smartt");
	assert_string_equal(rec.lb, "reps");
	assert_string_equal(rec.identity, origin.identity);
	assert_string_equal(rec.error, origin.error);
	assert_int_equal(rec.result.seed, 3);
	assert_int_equal(rec.result.flow_count, 3);
	assert_true(rec.result.digest == 0xabc);
	assert_memory_equal(&rec.result.packets, &r.packets, sizeof r.packets);
	assert_memory_equal(&rec.result.drops, &r.drops, sizeof r.drops);
	assert_int_equal(rec.result.queue_max_bytes, 77);
	assert_float_equal(rec.summary.fct_us.max, s.fct_us.max, 1e-6);
	assert_float_equal(rec.summary.makespan_us, s.makespan_us, 1e-6);
	assert_float_equal(rec.summary.goodput_gbps, s.goodput_gbps, 1e-6);
	assert_int_equal(rec.summary.verified, 2);
	assert_int_equal(rec.summary.failed, 1);
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

static void read_json__refuses_other_files(void **state)
{
	static const char *const others[] = {"",      "[]", "{}", "{\"schema\": 3}", "{\"schema\": \"weft.sweep/1\"}",
					     "{\"sch"};
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_record rec;
	struct weft_err err = {""};
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_path(path, dir, "run.json", NULL), 0);
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
		FILE *f = fopen(path, "w");
		fputs(others[i], f);
		fclose(f);
		assert_int_equal(result_read_json(path, &rec, &err), -EINVAL);
		assert_non_null(strstr(err.msg, path));
	}
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_json__is_what_was_written),
		cmocka_unit_test(read_json__refuses_other_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
