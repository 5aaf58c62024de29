/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "patterns.h"

static void build_permutation__one_to_one(void **state)
{
	struct weft_workload w = make_on("permutation:64:2MiB", 1, NULL);
	struct weft_workload again = make_on("permutation:64:2MiB", 1, NULL);
	struct weft_workload other = make_on("permutation:64:2MiB", 2, NULL);

	check_is_permutation(&w, 64, 2 << 20);
	assert_memory_equal(w.flows, again.flows, 64 * sizeof *w.flows);
	assert_memory_not_equal(w.flows, other.flows, 64 * sizeof *w.flows);
	weft_workload_free(&w);
	weft_workload_free(&again);
	weft_workload_free(&other);
}

/* No flow stays in its group of `group` hosts, for many seeds. */
static void check_crosses(const char *topology, const char *spec, uint32_t hosts, uint32_t group)
{
	struct weft_topo topo = leafspine(topology);

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct weft_workload w = make_on(spec, seed, &topo);
		check_is_permutation(&w, hosts, 1000);
		for (uint32_t i = 0; i < hosts; i++)
			assert_int_not_equal(w.flows[i].src / group, w.flows[i].dst / group);
		weft_workload_free(&w);
	}
}

static void build_crosscore__leaves_the_group(void **state)
{
	check_crosses("leafspine:4:4:4", "crosscore:16:1kB", 16, 4);
	check_crosses("leafspine:2:2:8", "crosscore:16:1kB", 16, 8);
	check_crosses("leafspine:4:4:4", "crosscore:11:1kB", 11, 4);
	check_crosses("fattree:4", "crosscore:16:1kB", 16, 4);
	check_crosses("fattree:8", "crosscore:128:1kB", 128, 16);
}

static void build_crosscore__refuses(void **state)
{
	struct weft_topo pods = leafspine("fattree:4"), leaves = leafspine("leafspine:4:4:4");

	refused_on("crosscore:7:1", &pods, -EINVAL,
		   "crosscore:7:1: 7 hosts cannot all send to another pod of 4 hosts; it takes at least 8");
	refused_on("crosscore:5:1", &leaves, -EINVAL,
		   "crosscore:5:1: 5 hosts cannot all send to another leaf of 4 hosts; it takes at least 8");
	refused_on("crosscore:8:1", NULL, -EINVAL, "crosscore:8:1: this pattern depends on a topology");
}

static void build_tornado__twins(void **state)
{
	struct weft_workload w = make_on("tornado:128:4KiB", 1, NULL);

	check_is_permutation(&w, 128, 4096);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(w.flows[i].dst, i < 64 ? i + 64 : i - 64);
	weft_workload_free(&w);
	refused_on("tornado:7:1", NULL, -EINVAL, "tornado:7:1: 7 hosts have no two halves");
}

static void build_random__pairs(void **state)
{
	struct weft_topo topo = leafspine("leafspine:2:2:4");
	struct weft_workload w = make_on("random:5600:10", 1, &topo);
	uint32_t pairs[8][8] = {{0}};

	assert_int_equal(w.nodes, 8);
	assert_int_equal(w.flow_count, 5600);
	for (uint32_t i = 0; i < w.flow_count; i++)
		pairs[w.flows[i].src][w.flows[i].dst]++;
	/* 56 pairs, 100 flows each on average: 6 standard deviations are 60. */
	for (uint32_t s = 0; s < 8; s++)
		for (uint32_t d = 0; d < 8; d++)
			assert_in_range(pairs[s][d], s == d ? 0 : 40, s == d ? 0 : 160);
	weft_workload_free(&w);
	w = make_on("random:100:10:3", 1, NULL);
	assert_int_equal(w.nodes, 3);
	weft_workload_free(&w);
	refused_on("random:5:10", NULL, -EINVAL, "random:5:10: this pattern depends on a topology");
	topo = leafspine("star:1");
	refused_on("random:5:10", &topo, -EINVAL, "random:5:10: the topology has one host");
}

static void build_incast__one_receiver(void **state)
{
	struct weft_workload w = make_on("incast:15:1000", 1, NULL);

	assert_int_equal(w.nodes, 16);
	assert_int_equal(w.flow_count, 15);
	for (uint32_t i = 0; i < 15; i++) {
		assert_int_equal(w.flows[i].src, i + 1);
		assert_int_equal(w.flows[i].dst, 0);
		assert_int_equal(w.flows[i].bytes, 1000);
	}
	weft_workload_free(&w);
}

static void build_incast__several(void **state)
{
	struct weft_workload w = make_on("incast:3:1000:4", 1, NULL);

	assert_int_equal(w.nodes, 16);
	assert_int_equal(w.flow_count, 12);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(w.flows[i].dst, i / 3 * 4);
		assert_int_equal(w.flows[i].src, i / 3 * 4 + 1 + i % 3);
	}
	weft_workload_free(&w);
	refused_on("incast:60000:1:2", NULL, -EINVAL, "incast:60000:1:2: 120002 hosts, at most 65536 are possible");
}

/* The first sender only sends to the incast; each other one has receivers of its own, too. */
static void build_outcast_incast__fans_out(void **state)
{
	struct weft_workload w = make_on("outcast-incast:4:3:1000", 1, NULL);
	uint32_t sent[16] = {0}, received[16] = {0};

	assert_int_equal(w.nodes, 1 + 4 + 3 * 2);
	assert_int_equal(w.flow_count, 4 + 3 * 2);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		sent[w.flows[i].src]++;
		received[w.flows[i].dst]++;
		assert_in_range(w.flows[i].src, 1, 4);
	}
	assert_int_equal(received[0], 4);
	assert_int_equal(sent[1], 1);
	for (uint32_t i = 2; i <= 4; i++)
		assert_int_equal(sent[i], 3);
	for (uint32_t i = 5; i < 11; i++)
		assert_int_equal(received[i], 1);
	weft_workload_free(&w);
	refused_on("outcast-incast:3000:3000:1", NULL, -EINVAL,
		   "outcast-incast:3000:3000:1: 8997002 hosts, at most 65536 are possible");
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

static void build_alltoall__at_once(void **state)
{
	struct weft_workload w = make_on("alltoall:8:1kB", 3, NULL);

	check_pairs(&w, 8);
	assert_int_equal(w.trigger_count, 0);
	weft_workload_free(&w);
	refused_on("alltoall:60000:1", NULL, -EINVAL,
		   "alltoall:60000:1: 3599940000 flows, at most 16777216 are possible");
}

/* In step every host receives as many flows as it sends, at the start and after each move. */
static void build_alltoall__shifted(void **state)
{
	for (uint32_t k = 1; k <= 9; k++) {
		char spec[40];
		snprintf(spec, sizeof spec, "alltoall:8:1kB:%u:shifted", k);
		struct weft_workload w = make_on(spec, 3, NULL);
		uint32_t window = k < 7 ? k : 7, receives[8] = {0};
		check_pairs(&w, 8);
		for (uint32_t i = 0; i < w.flow_count; i++)
			if (i % 7 / window == 7 / window - 1) /* the last full window of the host */
				receives[w.flows[i].dst]++;
		for (uint32_t d = 0; d < 8; d++)
			assert_int_equal(receives[d], window);
		weft_workload_free(&w);
	}
	refused_on("alltoall:8:1kB:2:turned", NULL, -EINVAL,
		   "alltoall:8:1kB:2:turned: 'shifted' is expected, or nothing");
}

/* Completing any flow of a node starts the node's next one until all have run. */
static void build_alltoall__windowed(void **state)
{
	struct weft_workload w = make_on("alltoall:8:1kB:3", 3, NULL);
	uint32_t running[8] = {0}, started[8] = {0}, next, fired[8] = {0};

	check_pairs(&w, 8);
	assert_int_equal(w.trigger_count, 8);
	for (uint32_t i = 0; i < w.flow_count; i++)
		if (w.flows[i].start_ns == 0)
			running[w.flows[i].src]++;
	for (uint32_t i = 0; i < w.flow_count; i++) {
		const struct weft_flow *f = &w.flows[i];
		if (i % 7 == 0)
			assert_int_equal(running[f->src], 3);
		if (weft_trigger_fire(&w.triggers[f->send_done_trigger], &fired[f->send_done_trigger], &next)) {
			assert_int_equal(w.flows[next].src, f->src);
			assert_true(w.flows[next].start_ns == WEFT_NEVER);
			started[f->src]++;
		}
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(started[i], 4);
	weft_workload_free(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_permutation__one_to_one), cmocka_unit_test(build_crosscore__leaves_the_group),
		cmocka_unit_test(build_crosscore__refuses),      cmocka_unit_test(build_tornado__twins),
		cmocka_unit_test(build_random__pairs),           cmocka_unit_test(build_incast__one_receiver),
		cmocka_unit_test(build_incast__several),         cmocka_unit_test(build_outcast_incast__fans_out),
		cmocka_unit_test(build_alltoall__shifted),       cmocka_unit_test(build_alltoall__at_once),
		cmocka_unit_test(build_alltoall__windowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
