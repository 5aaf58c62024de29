/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "patterns.h"

static void build_stride__sends_ahead(void **state)
{
	struct weft_workload w = make_on("stride:32:8:1MB", 1, NULL);

	check_is_permutation(&w, 32, 1000000);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(w.flows[i].dst, (i + 8) % 32);
	weft_workload_free(&w);
	refused_on("stride:32:64:1MB", NULL, -EINVAL, "stride:32:64:1MB: hosts would send to themselves");
}

/* 4 of 40 hosts ask 3 of the other 39 each, none of them twice. */
static void build_requests__asks_a_share_of_the_others(void **state)
{
	struct weft_topo topo = leafspine("leafspine:4:4:10");
	struct weft_workload w = make_on("requests:10:10kB", 1, &topo);
	struct weft_workload other = make_on("requests:10:10kB", 2, &topo);
	uint32_t asked[40][40] = {{0}}, clients = 0;

	assert_int_equal(w.flow_count, 12);
	assert_memory_not_equal(w.flows, other.flows, 12 * sizeof *w.flows);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		assert_int_not_equal(w.flows[i].src, w.flows[i].dst);
		assert_int_equal(w.flows[i].bytes, 10000);
		assert_int_equal(w.flows[i].start_ns, 0);
		assert_int_equal(asked[w.flows[i].dst][w.flows[i].src]++, 0);
	}
	for (uint32_t d = 0; d < 40; d++) {
		uint32_t servers = 0;
		for (uint32_t s = 0; s < 40; s++)
			servers += asked[d][s];
		assert_true(servers == 0 || servers == 3);
		clients += servers > 0;
	}
	assert_int_equal(clients, 4);
	weft_workload_free(&w);
	weft_workload_free(&other);
}

/* Every host is a server, and a client, about equally often. */
static void build_requests__chooses_evenly(void **state)
{
	uint32_t sent[20] = {0}, received[20] = {0};

	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct weft_workload w = make_on("requests:20:1kB:20", seed, NULL);
		for (uint32_t i = 0; i < w.flow_count; i++) {
			sent[w.flows[i].src]++;
			received[w.flows[i].dst]++;
		}
		weft_workload_free(&w);
	}
	/* 6000 flows: 300 each; a client gets three at a time, 6 standard deviations are 160. */
	for (uint32_t h = 0; h < 20; h++) {
		assert_in_range(sent[h], 200, 400);
		assert_in_range(received[h], 140, 460);
	}
}

static void build_requests__refuses_nobody(void **state)
{
	refused_on("requests:10:1kB:9", NULL, -EINVAL, "requests:10:1kB:9: 10 % of 9 hosts are none");
	refused_on("requests:0:1kB:9", NULL, -EINVAL, "requests:0:1kB:9: PERCENT must be a number in 1..100");
}

static void build_repeat__draws_every_round_anew(void **state)
{
	struct weft_workload w = make_on("repeat:3:10us:permutation:16:1kB", 1, NULL);
	struct weft_workload once = make_on("permutation:16:1kB", 1, NULL);
	uint32_t same[3] = {0};

	assert_int_equal(w.nodes, 16);
	assert_int_equal(w.flow_count, 48);
	for (uint32_t i = 0; i < 48; i++) {
		assert_int_equal(w.flows[i].start_ns, i / 16 * 10000);
		assert_false(w.flows[i].background);
		same[i / 16] += w.flows[i].dst == once.flows[i % 16].dst;
	}
	assert_int_equal(same[0], 16);
	assert_in_range(same[1], 0, 8);
	assert_in_range(same[2], 0, 8);
	weft_workload_free(&w);
	weft_workload_free(&once);
}

/* Chains stay within their round. */
static void build_repeat__keeps_triggers_apart(void **state)
{
	struct weft_workload w = make_on("repeat:2:1ms:alltoall:4:1kB:1", 1, NULL);
	struct weft_workload once = make_on("alltoall:4:1kB:1", 1, NULL);

	assert_int_equal(w.flow_count, 2 * once.flow_count);
	assert_int_equal(w.trigger_count, 2 * once.trigger_count);
	for (uint32_t i = 0; i < once.flow_count; i++) {
		const struct weft_flow *first = &w.flows[i], *second = &w.flows[once.flow_count + i];
		if (first->start_ns == WEFT_NEVER)
			assert_int_equal(second->start_ns, WEFT_NEVER);
		else
			assert_int_equal(second->start_ns, 1000000);
	}
	for (uint32_t t = 0; t < once.trigger_count; t++) {
		assert_int_equal(w.triggers[t].target_count, once.triggers[t].target_count);
		for (uint32_t k = 0; k < w.triggers[once.trigger_count + t].target_count; k++)
			assert_in_range(w.triggers[once.trigger_count + t].targets[k], once.flow_count,
					2 * once.flow_count - 1);
	}
	weft_workload_free(&w);
	weft_workload_free(&once);
}

static void build_repeat__refuses(void **state)
{
	refused_on("repeat:2:1ms:tornado:7:1", NULL, -EINVAL, "tornado:7:1: 7 hosts have no two halves");
	refused_on("repeat:2:1ms:Repeat:2:1ms:tornado:8:1", NULL, -EINVAL,
		   "repeat:2:1ms:Repeat:2:1ms:tornado:8:1: rounds of rounds");
	refused_on("repeat:2:1ms", NULL, -EINVAL, "'repeat:2:1ms': the form is repeat:ROUNDS:TIME:PATTERN");
	refused_on("repeat:10000000:1ns:permutation:4:1", NULL, -EINVAL,
		   "40000000 flows together, at most 16777216 are possible");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_stride__sends_ahead),
		cmocka_unit_test(build_requests__asks_a_share_of_the_others),
		cmocka_unit_test(build_requests__chooses_evenly),
		cmocka_unit_test(build_requests__refuses_nobody),
		cmocka_unit_test(build_repeat__draws_every_round_anew),
		cmocka_unit_test(build_repeat__keeps_triggers_apart),
		cmocka_unit_test(build_repeat__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
