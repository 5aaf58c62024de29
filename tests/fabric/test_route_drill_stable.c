/* SPDX-License-Identifier: BSD-3-Clause */
/* Stability of one switch whose outputs have very different service rates (DRILL section 3.2.4): arrivals of 8 Gb/s are
 * admissible with four uplinks of 10 Gb/s together, one fast and three slow. Without memory an engine does not find the
 * fast one often enough (theorem 1) and queues grow without bound; with one unit of it they do not (theorem 2). */
#include <math.h>

#include "route_box.h"

enum { UPLINKS = 4, HOSTS = 8, STEPS = 40, STEP_US = 500 };

#define US            UINT64_C(1000000) /* in ps */
#define ARRIVALS_GBPS 8.0
#define FAST_GBPS     9.1
#define SLOW_GBPS     0.3

static void set_fast(const struct lan *lan, uint32_t fast)
{
	for (uint32_t i = 0; i < UPLINKS; i++) {
		struct weft_link_id id;
		assert_int_equal(weft_net_link_find(lan->net, 0, 0, i, false, &id), 0);
		weft_net_link_set_bps(lan->net, id, (uint64_t)(1e9 * (i == fast ? FAST_GBPS : SLOW_GBPS)));
	}
}

static double backlog_bytes(const struct lan *lan)
{
	double sum = 0;

	for (uint32_t i = 0; i < UPLINKS; i++)
		sum += lan->net->tree.ports[lan->net->tree.switches[0].first_up + i].data_bytes;
	return sum;
}

/* Poisson arrivals at the leaf's hosts until `end`. */
static void arrive_until(struct lan *lan, struct rng *rng, double *next_ps, double end_ps)
{
	for (; *next_ps < end_ps;
	     *next_ps -= log((double)((rng_next(rng) >> 11) + 1) * 0x1p-53) * LAN_MTU * 8e3 / ARRIVALS_GBPS) {
		weft_net_run(lan->net, (weft_ps)*next_ps);
		lan_send(lan, (weft_ps)*next_ps,
			 (struct lan_send){.src = rng_below(rng, HOSTS), .dst = HOSTS + rng_below(rng, HOSTS)});
	}
	weft_net_run(lan->net, (weft_ps)end_ps);
}

/* DRILL(d, m) in so many engines for 20 ms, while the fast uplink is one after the other of the first `turns` for a
 * millisecond each. Backlogs after each half of a millisecond. */
static void run(uint32_t d, uint32_t m, uint32_t engines, uint32_t turns, double backlog[STEPS])
{
	const struct route_drill_tune tune = {.choices = d, .memory = m, .engines = engines, .components = 1};
	struct weft_net_conf conf = lan_conf();
	struct rng rng = {d * 8 + m};
	double next_ps = 0;
	struct lan lan;

	conf.route = &route_drill;
	conf.route_tune = &tune;
	conf.tune.queue_bytes = 1 << 30;
	lan_open(&lan, "leafspine:2:4:8", UINT64_C(100000000000), conf);
	for (uint32_t i = 0; i < STEPS; i++) {
		set_fast(&lan, i / 2 % turns);
		arrive_until(&lan, &rng, &next_ps, (double)(i + 1) * STEP_US * US);
		backlog[i] = backlog_bytes(&lan);
	}
	assert_int_equal(lan.freed, 0);
	lan_close(&lan);
}

/* What must pile up at least, by the proof of theorem 1: of all packets (1 - d/N) do not see the fast uplink. */
static double least_growth_bytes(uint32_t d, double us)
{
	double missed_gbps = (1 - (double)d / UPLINKS) * ARRIVALS_GBPS - (UPLINKS - 1) * SLOW_GBPS;

	return missed_gbps * us * 1000 / 8;
}

static void drill__without_memory_is_unstable(void **state)
{
	double backlog[STEPS];

	for (uint32_t d = 1; d < UPLINKS; d++) {
		run(d, 0, 1, 1, backlog);
		for (uint32_t i = STEPS / 2; i < STEPS; i++)
			assert_true(backlog[i] > 0.9 * least_growth_bytes(d, (i + 1) * STEP_US));
		assert_true(backlog[STEPS - 1] > 1.8 * backlog[STEPS / 2 - 1]);
	}
}

/* The fast uplink changes, between the first two: of all packets a half sees only one of the others, with two choices a
 * sixth only the two others, which is more than these serve. */
static void drill__without_memory_is_unstable_with_changing_rates(void **state)
{
	double backlog[STEPS];

	for (uint32_t d = 1; d <= 2; d++) {
		double missed_gbps = ARRIVALS_GBPS / (d == 1 ? 2 : 6) - 2 * SLOW_GBPS;
		double least = missed_gbps * STEPS / 2 * STEP_US * 1000 / 8;
		run(d, 0, 1, 2, backlog);
		assert_true(backlog[STEPS - 1] - backlog[STEPS / 2 - 1] > 0.9 * least);
	}
}

/* With `turns` 4 every uplink is the fast one at times. */
static void check_stable(uint32_t d, uint32_t engines, uint32_t turns)
{
	double backlog[STEPS], most[2] = {0};

	run(d, 1, engines, turns, backlog);
	for (uint32_t k = 0; k < STEPS; k++)
		most[k / (STEPS / 2)] = fmax(most[k / (STEPS / 2)], backlog[k]);
	assert_true(most[1] < 200 * LAN_MTU);
	assert_true(most[1] < 1.5 * most[0] + 20 * LAN_MTU); /* no trend */
}

/* One engine, and one for each host, each with a memory of its own. */
static void drill__memory_makes_it_stable(void **state)
{
	for (uint32_t d = 1; d <= 2; d++)
		for (uint32_t turns = 1; turns <= UPLINKS; turns++) {
			check_stable(d, 1, turns);
			check_stable(d, HOSTS, turns);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(drill__without_memory_is_unstable),
		cmocka_unit_test(drill__without_memory_is_unstable_with_changing_rates),
		cmocka_unit_test(drill__memory_makes_it_stable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
