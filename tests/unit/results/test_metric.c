/* SPDX-License-Identifier: BSD-3-Clause */
#include "metric.h"

#include "result_box.h"

static void metrics__have_names_of_their_own(void **state)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		assert_true(m->name || m->json);
		assert_true(strlen(m->help) > 0);
		assert_ptr_equal(metric_find(m->name ? m->name : m->json), m);
		if (m->json)
			assert_ptr_equal(metric_find(m->json), m);
	}
	assert_null(metric_find("no_such_metric"));
}

/* Fills in each metric's field with a number of its own. */
static void fill(struct run_record *r)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		char *field = (char *)r + m->offset;
		if (m->type == METRIC_U32)
			*(uint32_t *)field = i + 1;
		else if (m->type == METRIC_U64)
			*(uint64_t *)field = i + 1;
		else if (m->type == METRIC_REAL)
			*(double *)field = i + 1;
		else
			*(weft_ps *)field = US(i + 1);
	}
}

static void metric_value__is_its_field(void **state)
{
	struct run_record r = {.result = {.seed = 0}};
	const struct metric *m;
	fill(&r);
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		assert_float_equal(metric_value(m, &r), i + 1, 0);
		if (metric_is_count(m))
			assert_int_equal(metric_count(m, &r), i + 1);
	}
}

/* A run that has everything: each metric of the JSON is in it. */
static void metrics__all_are_in_the_json(void **state)
{
	struct run_flow flows[2] = {
		{.bytes = 1000, .acked = 1000000, .delivered = 900000, .ideal = 500000, .verified = true}};
	flows[1] = flows[0];
	flows[1].background = true;
	struct run_record r = {.result = {.seed = 0}};
	const struct metric *m;
	fill(&r);
	r.result.mode = "sim";
	r.result.cc = r.result.lb = "x";
	r.result.fabric = r.result.order.known = true;
	r.result.flow_count = 2;
	r.result.flows = flows;
	r.result.ideal = 500000;
	json_t *json = json_of(&r.result);
	assert_int_equal(result_summarise(&r.result, &r.summary), 0);
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->json)
			assert_float_equal(number_at(json, m->json), metric_value(m, &r), 1e-6);
	}
	json_decref(json);
	FILE *out = fopen("/dev/null", "w");
	assert_int_equal(result_print(&r.result, out, NULL), 0);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics__have_names_of_their_own),
		cmocka_unit_test(metric_value__is_its_field),
		cmocka_unit_test(metrics__all_are_in_the_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
