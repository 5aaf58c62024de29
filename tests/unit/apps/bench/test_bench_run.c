/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_run.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

static void make(struct weft_workload *w, struct bench_run *run, const char *pattern, uint32_t first, uint32_t count)
{
	assert_int_equal(weft_workload_pattern(pattern, &(struct weft_workload_site){.seed = 1}, w, NULL), 0);
	assert_int_equal(bench_run_init(run, w, first, count, NULL), 0);
}

/* What a fabric without faults does to flow i. */
static void carry(struct bench_run *run, uint32_t i)
{
	memcpy(run->flows[i].recv.buf, run->flows[i].send.buf, run->flows[i].send.len);
	run->flows[i].delivered_ns = 1;
}

static void bench_now__runs_on(void **state)
{
	weft_ns a = bench_now();
	assert_true(a > 0);
	assert_true(bench_now() >= a);
}

static void bench_run_init__buffers_of_our_ranks_only(void **state)
{
	struct weft_workload w;
	struct bench_run run;
	make(&w, &run, "alltoall:4:1000B", 1, 2);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		bool ours = w.flows[i].dst == 1 || w.flows[i].dst == 2;
		assert_int_equal(run.flows[i].recv.buf != NULL, ours);
		assert_int_equal(run.flows[i].send.len, 1000);
		assert_int_equal(run.flows[i].send.peer, w.flows[i].dst);
		assert_int_equal(run.flows[i].send.tag, run.flows[i].recv.tag);
	}
	bench_run_free(&run);
	weft_workload_free(&w);
}

static void bench_run_init__too_much_memory(void **state)
{
	struct weft_workload w;
	struct bench_run run;
	struct weft_err err = {""};
	assert_int_equal(weft_workload_pattern("incast:15:1GiB", &(struct weft_workload_site){.seed = 1}, &w, NULL), 0);
	assert_int_equal(bench_run_init(&run, &w, 0, 16, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "15360 MiB"));
	bench_run_free(&run);
	weft_workload_free(&w);
}

static void bench_run_verify__right_wrong_and_missing(void **state)
{
	struct weft_workload w;
	struct bench_run run;
	make(&w, &run, "permutation:4:5000B", 0, 4);
	carry(&run, 0);
	carry(&run, 1);
	((uint8_t *)run.flows[1].recv.buf)[4999] ^= 1;
	carry(&run, 2);
	run.flows[2].delivered_ns = 0;
	bench_run_verify(&run);
	assert_true(run.flows[0].verified);
	assert_false(run.flows[1].verified);
	assert_false(run.flows[2].verified);
	assert_false(run.flows[3].verified);
	bench_run_free(&run);
	weft_workload_free(&w);
}

/* Buffers that nobody wrote to do not pass, even if their flow counts as delivered. */
static void bench_run_verify__untouched_buffer_is_wrong(void **state)
{
	struct weft_workload w;
	struct bench_run run;
	make(&w, &run, "permutation:2:64B", 0, 2);
	run.flows[0].delivered_ns = 1;
	bench_run_verify(&run);
	assert_false(run.flows[0].verified);
	bench_run_free(&run);
	weft_workload_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bench_now__runs_on),
		cmocka_unit_test(bench_run_init__buffers_of_our_ranks_only),
		cmocka_unit_test(bench_run_init__too_much_memory),
		cmocka_unit_test(bench_run_verify__right_wrong_and_missing),
		cmocka_unit_test(bench_run_verify__untouched_buffer_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
