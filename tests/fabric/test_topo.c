/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo.h"

#include <errno.h>

#include "cmocka_all.h"

static struct weft_topo pod_tree(void)
{
	struct weft_topo t = {.hosts = 16, .tiers = 3, .pod_hosts = 4};

	for (int i = 0; i < 3; i++)
		t.tier[i] =
			(struct weft_topo_tier){.down_bps = 1000000000, .bundle = 1, .radix_down = 2, .radix_up = 2};
	t.tier[2].radix_down = 4;
	t.tier[2].radix_up = 0;
	return t;
}

static void weft_topo_check__derives_switches(void **state)
{
	struct weft_topo t = pod_tree();

	assert_int_equal(weft_topo_check(&t, NULL), 0);
	assert_int_equal(t.tier[0].switches, 8);
	assert_int_equal(t.tier[1].switches, 8);
	assert_int_equal(t.tier[2].switches, 4);
}

#define assert_refused(field, value, text)                                                                             \
	do {                                                                                                           \
		struct weft_topo t_ = pod_tree();                                                                      \
		struct weft_err err_ = {""};                                                                           \
		t_.field = value;                                                                                      \
		assert_int_equal(weft_topo_check(&t_, &err_), -EINVAL);                                                \
		assert_string_equal(err_.msg, text);                                                                   \
	} while (0)

static void weft_topo_check__refuses(void **state)
{
	assert_refused(hosts, 0, "topology: the number of hosts must be 1..65536");
	assert_refused(tiers, 4, "topology: the number of tiers must be 1..3");
	assert_refused(tiers, 1, "topology, tier 0: the top tier has no links up");
	assert_refused(pod_hosts, 0, "topology: 16 hosts do not divide into pods of 0");
	assert_refused(pod_hosts, 5, "topology: 16 hosts do not divide into pods of 5");
	assert_refused(tier[0].radix_down, 0, "topology, tier 0: a switch needs 1..65536 links down");
	assert_refused(tier[0].radix_down, 3, "topology, tier 0: 4 hosts of a pod do not divide into leaves of 3");
	assert_refused(tier[0].radix_up, 0, "topology, tier 0: a switch below the top needs links up");
	assert_refused(tier[0].bundle, 2, "topology, tier 0: a link is 1..256 cables; a host has one");
	assert_refused(tier[1].bundle, 0, "topology, tier 1: a link is 1..256 cables; a host has one");
	assert_refused(tier[1].radix_down, 3, "topology, tier 1: each switch reaches 3 leaves, but a pod has 2");
	assert_refused(tier[2].radix_down, 5, "topology, tier 2: each core switch reaches 5 pods, but there are 4");
	assert_refused(tier[2].radix_up, 1, "topology, tier 2: the top tier has no links up");
	assert_refused(tier[1].down_bps, 999999, "topology, tier 1: link speed must be 0.001..10000 Gb/s");
	assert_refused(tier[1].down_latency_ns, 2000000000, "topology, tier 1: latency must be at most 1000000000 ns");
	assert_refused(tier[1].switch_latency_ns, WEFT_NEVER,
		       "topology, tier 1: latency must be at most 1000000000 ns");
	assert_refused(tier[0].radix_up, 65536, "topology: 2097168 switch ports, at most 2097152 are supported");
}

static void weft_topo_set_bps__all_tiers(void **state)
{
	struct weft_topo t = pod_tree();

	weft_topo_set_bps(&t, 5000000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t.tier[i].down_bps, 5000000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_topo_check__derives_switches),
		cmocka_unit_test(weft_topo_check__refuses),
		cmocka_unit_test(weft_topo_set_bps__all_tiers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
