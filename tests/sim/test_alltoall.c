/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchanges, whose flows start one another. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim_scenario.h"

/* Every flow but the first ones starts exactly when its trigger fires, so no host ever sends more flows at a time than
 * the matrix says. */
static uint32_t most_at_once(const struct scenario *s)
{
	const struct run_flow *flows = s->result.flows;
	uint32_t most = 0;
	for (uint32_t i = 0; i < s->result.flow_count; i++) {
		uint32_t now = 0;
		for (uint32_t j = 0; j < s->result.flow_count; j++)
			now += s->options.lab.workload.flows[j].src == s->options.lab.workload.flows[i].src &&
			       flows[j].start <= flows[i].start && flows[j].acked > flows[i].start;
		most = now > most ? now : most;
	}
	return most;
}

static void alltoall__serial(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("sa2a_16n_1M"), "--end", "10ms");
	assert_int_equal(most_at_once(&s), 1);
	assert_at_most(s.summary.inflation, 1.8); /* seeds 1 to 8 with smartt: 1.17 to 1.72 */
	scenario_end(&s);
}

static void alltoall__four_at_a_time(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("a2a_16n_p4_1M"), "--end", "10ms");
	assert_int_equal(most_at_once(&s), 4);
	assert_at_most(s.summary.inflation, 1.12);
	scenario_end(&s);
}

static void alltoall__pattern_equals_its_shape(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "alltoall:16:256KiB:4", "--end", "10ms");
	assert_int_equal(s.result.flow_count, 16 * 15);
	assert_int_equal(most_at_once(&s), 4);
	scenario_end(&s);
}

/* Hosts that begin one after the other, each a microsecond later, with messages that are announced: requests for their
 * bytes go the same way as the bytes of messages in the other direction, and must not wait for those. */
static void write_staggered(FILE *out)
{
	enum { HOSTS = 16 };
	fprintf(out, "Nodes %d\nConnections %d\n", HOSTS, HOSTS * (HOSTS - 1));
	for (int src = 0, id = 1; src < HOSTS; src++)
		for (int hop = 1; hop < HOSTS; hop++, id++)
			fprintf(out, "%d->%d id %d start %d size 1048576\n", src, (src + hop) % HOSTS, id, src);
}

static void alltoall__announced_and_not_at_once(void **state)
{
	struct scenario s;
	char path[SCENARIO_PATH_MAX];
	FILE *out = scenario_matrix(path);
	write_staggered(out);
	assert_int_equal(fclose(out), 0);
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--set", "rndv_bytes=262144", "--matrix", path, "--end",
			"10ms");
	assert_at_most(s.summary.inflation, 1.15); /* seeds 1 to 8: 1.04 to 1.05; one after the other: 1.8 */
	scenario_end(&s);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alltoall__serial),
		cmocka_unit_test(alltoall__four_at_a_time),
		cmocka_unit_test(alltoall__pattern_equals_its_shape),
		cmocka_unit_test(alltoall__announced_and_not_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
