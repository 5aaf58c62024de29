/* SPDX-License-Identifier: BSD-3-Clause */
#include "metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

static void metrics__have_names_of_their_own(void **state)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		assert_true(m->name || m->json);
		assert_true(strlen(m->help) > 0);
		assert_true((m->type == METRIC_DERIVED) == (m->derive != NULL));
		assert_true(m->type != METRIC_DERIVED || !m->json);
		assert_ptr_equal(metric_find(m->name ? m->name : m->json), m);
		if (m->json)
			assert_ptr_equal(metric_find(m->json), m);
	}
	assert_null(metric_find("no_such_metric"));
}

static void metric_set__is_what_metric_raw_tells(void **state)
{
	struct run_record r = {.cc = ""};
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->type != METRIC_DERIVED)
			metric_set(m, &r, i + 1, i + 1);
	}
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->type != METRIC_DERIVED)
			assert_float_equal(metric_raw(m, &r), i + 1, 0);
		if (metric_is_count(m))
			assert_int_equal(metric_count(m, &r), i + 1);
	}
}

static void metric_value__of_runs_that_have_it(void **state)
{
	struct run_record r = {.result = {.flow_count = 2},
			       .summary = {.completed = 1, .fct_us = {.min = 2, .max = 6}}};
	assert_true(isnan(metric_value(metric_find("fct_max_us"), &r)));
	assert_float_equal(metric_raw(metric_find("fct_max_us"), &r), 6, 0);
	r.summary.completed = 2;
	assert_float_equal(metric_value(metric_find("fct_max_us"), &r), 6, 0);
	assert_float_equal(metric_value(metric_find("spread_us"), &r), 4, 0);
	assert_float_equal(metric_value(metric_find("slowest_over_fastest"), &r), 3, 0);
	assert_true(isnan(metric_value(metric_find("inflation"), &r)));
	assert_true(isnan(metric_value(metric_find("reordered_share"), &r)));
	assert_true(isnan(metric_value(metric_find("lost_leaf_up"), &r)));
	assert_true(isnan(metric_value(metric_find("queue_up_sd"), &r)));
	r.result.fabric = true;
	r.result.hops[0][WEFT_PORT_UP] = (struct run_hop){.dropped = 3, .trimmed = 4};
	assert_float_equal(metric_value(metric_find("lost_leaf_up"), &r), 7, 0);
	r.result.elapsed = 1500000;
	assert_float_equal(metric_value(metric_find("run.virtual_us"), &r), 1.5, 0);
}

/* A run that has everything: each metric of the JSON is in it, and is the same when it is read back. */
static void metrics__all_go_there_and_back(void **state)
{
	const struct run_flow flow = {.bytes = 1000,
				      .acked = 1000000,
				      .delivered = 900000,
				      .ideal = 500000,
				      .verified = true,
				      .background = true};
	struct run_record was = {.cc = ""}, is;
	const struct metric *m;
	char path[] = "/tmp/weft-metric-XXXXXX";
	close(mkstemp(path));
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->type != METRIC_DERIVED)
			metric_set(m, &was, i + 1, i + 1);
	}
	was.result.mode = "sim";
	was.result.cc = was.result.lb = "x";
	was.result.fabric = was.result.order.known = true;
	was.result.flow_count = 1;
	was.result.flows = &flow;
	was.result.ideal = 500000;
	assert_int_equal(result_write_json(&was.result, path, NULL), 0);
	assert_int_equal(result_summarise(&was.result, &was.summary), 0);
	assert_int_equal(result_read_json(path, &is, NULL), 0);
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->json)
			assert_float_equal(metric_raw(m, &is), metric_raw(m, &was), 1e-6);
	}
	FILE *out = fopen("/dev/null", "w");
	assert_int_equal(result_print(&was.result, out, NULL), 0);
	fclose(out);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics__have_names_of_their_own),
		cmocka_unit_test(metric_set__is_what_metric_raw_tells),
		cmocka_unit_test(metric_value__of_runs_that_have_it),
		cmocka_unit_test(metrics__all_go_there_and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
