/* SPDX-License-Identifier: BSD-3-Clause */
/* Presto's turns over unlike paths: a look at one host's NIC tells which paths its flowcells take once routing knows.
 */
#include "sim_scenario.h"

enum { EVS = 64, FLOWCELLS = 40 };

/* Data packets of host 0, by the path they name, from a time on. */
struct look {
	uint32_t pkts[EVS];
	weft_ps from;
};

static void note(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct look *l = arg;
	if (event != WEFT_TAP_SENT || pkt->flags & WEFT_PKT_CONTROL || now < l->from)
		return;
	assert_true(pkt->entropy < EVS);
	l->pkts[pkt->entropy]++;
}

/* Everybody sends to its twin in the other half; looks from `from_us` on. `fault` may be NULL. */
static void run(struct look *l, const char *topology, const char *matrix, const char *fault, uint32_t from_us)
{
	struct scenario s;
	*l = (struct look){.from = WEFT_US(from_us) * 1000};
	SCENARIO(&s, "--topology", topology, "--matrix", matrix, "--lb", "presto", "--route", "digits", "--reconverge",
		 "20us", "--end", "50ms", fault ? "--fault" : NULL, fault);
	weft_net_tap(lab_net(s.lab), note, l);
	weft_net_tap_port(lab_net(s.lab), 0);
	scenario_run(&s);
	scenario_all_verified(&s);
	scenario_end(&s);
}

/* The paths named, which end with EVS, share what was sent as `weights` say, to two flowcells (the first one and the
 * last are not whole), and there is no other. */
static void check_shares(const struct look *l, const uint32_t *evs, const uint32_t *weights)
{
	uint32_t all = 0, named = 0, sum = 0;
	for (uint32_t ev = 0; ev < EVS; ev++)
		all += l->pkts[ev];
	for (uint32_t i = 0; evs[i] < EVS; i++)
		sum += weights[i];
	assert_true(all >= FLOWCELLS * 16);
	for (uint32_t i = 0; evs[i] < EVS; i++) {
		uint32_t share = all * weights[i] / sum;
		named += l->pkts[evs[i]];
		assert_in_range(l->pkts[evs[i]], share - 32, share + 32);
	}
	assert_int_equal(named, all);
}

/* Routing knows at 20 us; the flowcell under way may go on, then there is none on the cut path. */
static void presto__leaves_a_cut_path_when_routing_knows(void **state)
{
	static const uint32_t evs[] = {0, 1, 3, EVS}, ones[] = {1, 1, 1};
	struct look l;

	run(&l, "leafspine:4:4:2", "tornado:8:8MiB", "0us fail cable:leaf:0:2", 40);
	check_shares(&l, evs, ones);
}

/* As well as when the destination's leaf lost it. */
static void presto__leaves_a_path_that_is_cut_further_on(void **state)
{
	static const uint32_t evs[] = {0, 2, 3, EVS}, ones[] = {1, 1, 1};
	struct look l;

	run(&l, "leafspine:4:4:2", "tornado:8:8MiB", "0us fail downlink:leaf:2:1", 40);
	check_shares(&l, evs, ones);
}

/* Before routing knows, and when the cable is back, all paths have turns. */
static void presto__comes_back(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, EVS}, ones[] = {1, 1, 1, 1};
	struct look l;

	run(&l, "leafspine:4:4:2", "tornado:8:8MiB", "0us fail cable:leaf:0:2 until 100us", 140);
	check_shares(&l, evs, ones);
	run(&l, "leafspine:4:4:2", "tornado:8:8MiB", "0us degrade cable:leaf:0:2 50%", 0);
	check_shares(&l, evs, ones);
}

/* A cable comes back at half its rate, and routing is told. */
static void presto__weighs_a_rate_that_is_renegotiated(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, EVS}, weights[] = {2, 2, 1, 2};
	struct look l;

	run(&l, "leafspine:4:4:2", "tornado:8:8MiB", "0us renegotiate cable:leaf:0:2 50%", 40);
	check_shares(&l, evs, weights);
}

/* Leaf 0 has two cables to spines 0 and 1 each, leaf 2 to spines 2 and 3: every spine carries what one cable does. */
static void presto__weighs_imbalanced_striping_from_the_start(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, 4, 5, EVS}, weights[] = {1, 1, 1, 1, 2, 2};
	struct look l;

	run(&l, "stripe:4:4:2:2:2", "tornado:8:8MiB", NULL, 0);
	check_shares(&l, evs, weights);
}

/* The first spine of the pod loses its cable to the first core. */
static void presto__three_tiers(void **state)
{
	static const uint32_t evs[] = {1, 2, 3, EVS}, ones[] = {1, 1, 1};
	struct look l;

	run(&l, "fattree:4", "tornado:16:8MiB", "0us fail cable:spine:0:0", 40);
	check_shares(&l, evs, ones);
}

/* The first intermediate switch reaches one of the two aggregation switches of the destination, the others both: they
 * have twice the turns. The leaves' digit has two values, the spines' four. */
static void presto__weighs_what_lies_behind_the_top(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, 4, 5, 6, 7, EVS}, weights[] = {1, 1, 2, 2, 2, 2, 2, 2};
	struct look l;

	run(&l, "vl2:8:4:4:2", "tornado:16:8MiB", "0us fail cable:spine:2:0", 40);
	check_shares(&l, evs, weights);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presto__leaves_a_cut_path_when_routing_knows),
		cmocka_unit_test(presto__leaves_a_path_that_is_cut_further_on),
		cmocka_unit_test(presto__comes_back),
		cmocka_unit_test(presto__weighs_a_rate_that_is_renegotiated),
		cmocka_unit_test(presto__weighs_imbalanced_striping_from_the_start),
		cmocka_unit_test(presto__three_tiers),
		cmocka_unit_test(presto__weighs_what_lies_behind_the_top),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
