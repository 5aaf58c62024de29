/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

/* Options of two nodes that send 1 MB to each other, and the outcome of a run in which nothing has happened yet. */
struct rig {
	struct options o;
	struct bench_outcome out;
	char path[32];
};

static void rig_open(struct rig *r)
{
	char *argv[] = {"bench", "--topology", "star:2", "--matrix", "permutation:2:1MB", "--lb", "ecmp"};
	struct weft_err err = {""};
	if (options_parse(&r->o, 7, argv, NULL, NULL, &err))
		fail_msg("%s", err.msg);
	r->out = (struct bench_outcome){.t0 = WEFT_S(5), .one_clock = true};
	assert_int_equal(bench_run_init(&r->out.run, &r->o.lab.workload, 0, 2, &err), 0);
	snprintf(r->path, sizeof r->path, "weft-report-XXXXXX");
	close(mkstemp(r->path));
	r->o.json = r->path;
}

static void rig_close(struct rig *r)
{
	unlink(r->path);
	bench_run_free(&r->out.run);
	options_free(&r->o);
}

static void flow_done(struct rig *r, uint32_t i, weft_ns start, weft_ns took)
{
	struct bench_flow *f = &r->out.run.flows[i];
	f->start_ns = r->out.t0 + start;
	f->sent_ns = f->start_ns + took;
	f->delivered_ns = f->sent_ns - 1000;
	f->verified = true;
}

static json_t *report(struct rig *r)
{
	struct weft_err err = {""};
	assert_int_equal(bench_report(&r->o, &r->out, &err), 0);
	json_t *json = json_load_file(r->path, 0, NULL);
	assert_non_null(json);
	return json;
}

static double number(json_t *json, const char *group, const char *key)
{
	return json_number_value(json_object_get(json_object_get(json, group), key));
}

static void bench_report__times_and_counters(void **state)
{
	struct rig r;
	rig_open(&r);
	flow_done(&r, 0, 0, WEFT_MS(2));
	flow_done(&r, 1, WEFT_MS(1), WEFT_MS(4));
	r.out.stats.tx_data = 500;
	r.out.stats.rx_trimmed = 7;
	json_t *json = report(&r);
	assert_string_equal(json_string_value(json_object_get(json, "mode")), "bench");
	assert_string_equal(json_string_value(json_object_get(json, "lb")), "ecmp");
	assert_int_equal(number(json, "flows", "verified"), 2);
	assert_int_equal(number(json, "fct_us", "min"), 2000);
	assert_int_equal(number(json, "fct_us", "max"), 4000);
	assert_int_equal(number(json, "delivered_us", "max"), 3999);
	assert_int_equal(number(json, "packets", "data"), 500);
	assert_int_equal(number(json, "packets", "trimmed"), 7);
	json_decref(json);
	rig_close(&r);
}

static void bench_report__ranks_on_different_clocks(void **state)
{
	struct rig r;
	rig_open(&r);
	r.out.one_clock = false;
	flow_done(&r, 0, 0, WEFT_MS(2));
	json_t *json = report(&r);
	assert_non_null(strstr(json_string_value(json_object_get(json, "warning")), "different clocks"));
	assert_int_equal(number(json, "flows", "completed"), 1);
	assert_int_equal(number(json, "delivered_us", "max"), 0);
	json_decref(json);
	rig_close(&r);
}

static void bench_report__file_cannot_be_written(void **state)
{
	struct rig r;
	struct weft_err err = {""};
	rig_open(&r);
	r.o.json = "/nonexistent/out.json";
	assert_true(bench_report(&r.o, &r.out, &err) < 0);
	assert_non_null(strstr(err.msg, "/nonexistent/out.json"));
	rig_close(&r);
}

static void bench_report_failed__counts_every_kind(void **state)
{
	struct rig r;
	rig_open(&r);
	assert_int_equal(bench_report_failed(&r.out), 2);
	flow_done(&r, 0, 0, 10);
	flow_done(&r, 1, 0, 10);
	assert_int_equal(bench_report_failed(&r.out), 0);
	r.out.run.flows[0].verified = false;
	assert_int_equal(bench_report_failed(&r.out), 1);
	r.out.run.flows[1].send_err = ETIMEDOUT;
	assert_int_equal(bench_report_failed(&r.out), 2);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bench_report__times_and_counters),
		cmocka_unit_test(bench_report__ranks_on_different_clocks),
		cmocka_unit_test(bench_report__file_cannot_be_written),
		cmocka_unit_test(bench_report_failed__counts_every_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
