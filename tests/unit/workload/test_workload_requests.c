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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_stride__sends_ahead),
		cmocka_unit_test(build_requests__asks_a_share_of_the_others),
		cmocka_unit_test(build_requests__chooses_evenly),
		cmocka_unit_test(build_requests__refuses_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
