/* SPDX-License-Identifier: BSD-3-Clause */
/* One flow alone in the fabric takes what can be worked out by hand, engines at both ends included: to the nanosecond.
 */
#include "sim_scenario.h"

#include <stdio.h>

/* Bytes on the wire around a payload, and of a full ACK; what every preset has between two switches and inside one. */
enum { HEADER = 122, ACK = 110, LINK_PS = 600000, SWITCH_PS = 400000 };

struct idle {
	const char *topology;
	const char *size;
	const char *lb;
	uint32_t gbps, mtu, seed;
};

static weft_ps wire_ps(uint32_t gbps, uint32_t bytes)
{
	return (weft_ps)bytes * 8000 / gbps;
}

static uint32_t links_between(const struct weft_topo *t, const struct weft_flow *f)
{
	if (f->src / t->tier[0].radix_down == f->dst / t->tier[0].radix_down)
		return 2;
	return f->src / t->pod_hosts == f->dst / t->pod_hosts ? 4 : 6;
}

/* Full packets leave each link one after the other; the last, perhaps short, one waits behind them wherever it catches
 * up. Then its ACK returns alone. */
static weft_ps by_hand(const struct idle *c, uint64_t bytes, uint32_t links)
{
	weft_ps full = wire_ps(c->gbps, c->mtu + HEADER), before, last;
	uint64_t pkts = (bytes + c->mtu - 1) / c->mtu;
	weft_ps ser = wire_ps(c->gbps, (uint32_t)(bytes - (pkts - 1) * c->mtu) + HEADER);

	before = (pkts - 1) * full;
	last = before + ser;
	for (uint32_t i = 1; i < links; i++) {
		weft_ps hop = LINK_PS + SWITCH_PS;
		before = pkts > 1 ? before + hop + full : 0;
		last = (last + hop > before ? last + hop : before) + ser;
	}
	return last + LINK_PS + links * (wire_ps(c->gbps, ACK) + LINK_PS) + (links - 1) * (weft_ps)SWITCH_PS;
}

/* Returns the number of links the flow passed. */
static uint32_t check_idle(const struct idle *c)
{
	char gbps[16], mtu[16], seed[16], matrix[32];
	struct scenario s;

	snprintf(gbps, sizeof gbps, "%u", c->gbps);
	snprintf(mtu, sizeof mtu, "%u", c->mtu);
	snprintf(seed, sizeof seed, "%u", c->seed);
	snprintf(matrix, sizeof matrix, "random:1:%s", c->size);
	SCENARIO_PASSES(&s, "--topology", c->topology, "--matrix", matrix, "--link-gbps", gbps, "--mtu", mtu, "--seed",
			seed, "--lb", c->lb, "--set", "short_acks=0");
	const struct weft_flow *f = &s.options.lab.workload.flows[0];
	const struct run_flow *run = &s.result.flows[0];
	uint32_t links = links_between(&s.options.lab.topo, f);
	weft_ps hand = by_hand(c, f->bytes, links), took = run->acked - run->start;
	if (took / 1000 != hand / 1000)
		fail_msg("%s %s %s Gb/s, payload %s, %u links: %llu ps, not %llu", c->topology, matrix, gbps, mtu,
			 links, (unsigned long long)took, (unsigned long long)hand);
	assert_int_equal(run->ideal / 1000, hand / 1000);
	scenario_end(&s);
	return links;
}

static void fct__is_the_arithmetic(void **state)
{
	static const char *const topologies[] = {"star:4", "leafspine:4:4:4", "leafspine:2:2:4:2", "fattree:4",
						 "tree:2:2:4:2:2"};
	static const char *const sizes[] = {"1", "4096", "4097", "100003", "1MiB"};
	static const uint32_t rates[] = {100, 400, 800}, mtus[] = {1024, 4096, 8192};
	uint32_t seen = 0, seed = 0;

	for (uint32_t t = 0; t < 5; t++)
		for (uint32_t z = 0; z < 5; z++)
			for (uint32_t r = 0; r < 3; r++)
				for (uint32_t m = 0; m < 3; m++)
					seen |= 1u << check_idle(&(struct idle){topologies[t], sizes[z], "ecmp",
										rates[r], mtus[m], ++seed});
	assert_int_equal(seen, 1u << 2 | 1u << 4 | 1u << 6);
}

/* Spraying takes nothing away as long as no short packet overtakes on another path. */
static void fct__is_the_arithmetic_when_sprayed(void **state)
{
	check_idle(&(struct idle){"leafspine:4:4:4", "16MiB", "reps", 100, 4096, 1});
	check_idle(&(struct idle){"leafspine:2:2:4:2", "16MiB", "reps", 400, 8192, 2});
	check_idle(&(struct idle){"fattree:4", "16MiB", "ops", 800, 4096, 3});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fct__is_the_arithmetic),
		cmocka_unit_test(fct__is_the_arithmetic_when_sprayed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
