/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "workload.h"

static void weft_workload_pattern__permutation(void **state)
{
	struct weft_workload w, again, other;
	uint8_t received[64] = {0};

	assert_int_equal(weft_workload_pattern("permutation:64:2MiB", 1, &w, NULL), 0);
	assert_int_equal(w.nodes, 64);
	assert_int_equal(w.flow_count, 64);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(w.flows[i].src, i);
		assert_int_not_equal(w.flows[i].dst, i);
		assert_int_equal(w.flows[i].bytes, 2 << 20);
		assert_int_equal(w.flows[i].start_ns, 0);
		received[w.flows[i].dst]++;
	}
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(received[i], 1);
	assert_int_equal(weft_workload_pattern("permutation:64:2MiB", 1, &again, NULL), 0);
	assert_int_equal(weft_workload_pattern("permutation:64:2MiB", 2, &other, NULL), 0);
	assert_memory_equal(w.flows, again.flows, 64 * sizeof *w.flows);
	assert_memory_not_equal(w.flows, other.flows, 64 * sizeof *w.flows);
	weft_workload_free(&w);
	weft_workload_free(&again);
	weft_workload_free(&other);
}

static void weft_workload_pattern__incast(void **state)
{
	struct weft_workload w;

	assert_int_equal(weft_workload_pattern("incast:15:1000", 1, &w, NULL), 0);
	assert_int_equal(w.nodes, 16);
	assert_int_equal(w.flow_count, 15);
	for (uint32_t i = 0; i < 15; i++) {
		assert_int_equal(w.flows[i].src, i + 1);
		assert_int_equal(w.flows[i].dst, 0);
		assert_int_equal(w.flows[i].bytes, 1000);
	}
	weft_workload_free(&w);
}

/* Every ordered pair once. */
static void check_pairs(const struct weft_workload *w, uint32_t n)
{
	uint8_t pair[8][8] = {{0}};

	assert_int_equal(w->flow_count, n * (n - 1));
	for (uint32_t i = 0; i < w->flow_count; i++)
		pair[w->flows[i].src][w->flows[i].dst]++;
	for (uint32_t s = 0; s < n; s++)
		for (uint32_t d = 0; d < n; d++)
			assert_int_equal(pair[s][d], s != d);
}

static void weft_workload_pattern__alltoall(void **state)
{
	struct weft_workload w;

	assert_int_equal(weft_workload_pattern("alltoall:8:1kB", 3, &w, NULL), 0);
	check_pairs(&w, 8);
	assert_int_equal(w.trigger_count, 0);
	weft_workload_free(&w);
}

/* Completing any flow of a node starts the node's next one until all have run. */
static void weft_workload_pattern__alltoall_windowed(void **state)
{
	struct weft_workload w;
	uint32_t running[8] = {0}, started[8] = {0}, next;

	assert_int_equal(weft_workload_pattern("alltoall:8:1kB:3", 3, &w, NULL), 0);
	check_pairs(&w, 8);
	assert_int_equal(w.trigger_count, 8);
	for (uint32_t i = 0; i < w.flow_count; i++)
		if (w.flows[i].start_ns == 0)
			running[w.flows[i].src]++;
	for (uint32_t i = 0; i < w.flow_count; i++) {
		const struct weft_flow *f = &w.flows[i];
		if (i % 7 == 0)
			assert_int_equal(running[f->src], 3);
		if (weft_trigger_fire(&w.triggers[f->send_done_trigger], &next)) {
			assert_int_equal(w.flows[next].src, f->src);
			assert_true(w.flows[next].start_ns == WEFT_NEVER);
			started[f->src]++;
		}
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(started[i], 4);
	weft_workload_free(&w);
}

static void weft_workload_pattern__sizes(void **state)
{
	static const struct {
		const char *spec;
		uint64_t bytes;
	} cases[] = {{"incast:1:5", 5},
		     {"incast:1:5B", 5},
		     {"incast:1:5kB", 5000},
		     {"incast:1:5KiB", 5120},
		     {"incast:1:5MB", 5000000},
		     {"incast:1:5GB", UINT64_C(5000000000)},
		     {"incast:1:5GiB", UINT64_C(5) << 30}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct weft_workload w;
		assert_int_equal(weft_workload_pattern(cases[i].spec, 1, &w, NULL), 0);
		assert_int_equal(w.flows[0].bytes, cases[i].bytes);
		weft_workload_free(&w);
	}
}

static void check_refused(const char *spec, int rc, const char *message)
{
	struct weft_err err = {""};
	struct weft_workload w;

	assert_int_equal(weft_workload_pattern(spec, 1, &w, &err), rc);
	assert_string_equal(err.msg, message);
}

static void weft_workload_pattern__refuses(void **state)
{
	check_refused("outcast:1:1", -ENOENT,
		      "'outcast:1:1' is no traffic pattern; there are permutation:HOSTS:SIZE, incast:SENDERS:SIZE and "
		      "alltoall:HOSTS:SIZE[:PARALLEL]");
	check_refused("incast:4", -EINVAL, "'incast:4': the form is incast:SENDERS:SIZE");
	check_refused("incast:4:1:1", -EINVAL, "'incast:4:1:1': the form is incast:SENDERS:SIZE");
	check_refused("permutation:1:1", -EINVAL, "permutation:1:1: the number of hosts must be a number in 2..65535");
	check_refused("permutation:4:0", -EINVAL, "permutation:4:0: SIZE must be above 0 and below 1024 GiB");
	check_refused("permutation:4:1024GiB", -EINVAL,
		      "permutation:4:1024GiB: SIZE must be above 0 and below 1024 GiB");
	check_refused("permutation:4:MiB", -EINVAL, "permutation:4:MiB: SIZE must be a number");
	check_refused("permutation:4:1TiB", -EINVAL, "permutation:4:1TiB: SIZE takes B, kB, MB, GB, KiB, MiB or GiB");
	check_refused("alltoall:4:1:0", -EINVAL, "alltoall:4:1:0: PARALLEL must be a number in 1..4294967294");
	check_refused("alltoall:60000:1", -EINVAL, "alltoall:60000:1: more than 16777216 flows");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_workload_pattern__permutation),
		cmocka_unit_test(weft_workload_pattern__incast),
		cmocka_unit_test(weft_workload_pattern__alltoall),
		cmocka_unit_test(weft_workload_pattern__alltoall_windowed),
		cmocka_unit_test(weft_workload_pattern__sizes),
		cmocka_unit_test(weft_workload_pattern__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
