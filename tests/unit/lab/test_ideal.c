/* SPDX-License-Identifier: BSD-3-Clause */
#include "ideal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "options.h"

#define GBPS50 UINT64_C(50000000000)

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
	fail_msg("an idle fabric gives no packet back");
}

/* Ideal time of a command line's workload, in microseconds; `uplink_bps` is the rate between leaves and spines, 0: as
 * the topology says. */
static double ideal_at_us(const char *topology, const char *matrix, uint64_t uplink_bps)
{
	struct options o;
	struct weft_net *net;
	struct weft_net_conf conf;
	char *argv[] = {(char *)"test", (char *)"--topology", (char *)topology, (char *)"--matrix", (char *)matrix};
	assert_int_equal(options_parse(&o, 5, argv, NULL, NULL, NULL), 0);
	if (uplink_bps)
		o.lab.topo.tier[1].down_bps = uplink_bps;
	lab_net_conf(&o.lab, &conf);
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_net_create(&conf, &o.lab.topo, 0, &net, NULL), 0);
	double us = (double)ideal_ps(&o.lab, net, NULL) / 1e6;
	weft_net_destroy(net);
	options_free(&o);
	return us;
}

static double ideal_us(const char *topology, const char *matrix)
{
	return ideal_at_us(topology, matrix, 0);
}

/* Ideal time of each flow alone is that of a workload of it only. */
static void ideal_flow__is_alone(void **state)
{
	struct options o;
	struct weft_net *net;
	struct weft_net_conf conf;
	char *argv[] = {(char *)"test", (char *)"--topology", (char *)"star:4", (char *)"--matrix",
			(char *)"incast:3:1MiB"};
	assert_int_equal(options_parse(&o, 5, argv, NULL, NULL, NULL), 0);
	lab_net_conf(&o.lab, &conf);
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_net_create(&conf, &o.lab.topo, 0, &net, NULL), 0);
	double alone = (double)ideal_flow_ps(&o.lab, net, &o.lab.workload.flows[0]) / 1e6;
	assert_float_equal(alone, ideal_us("star:4", "incast:1:1MiB"), 1e-6);
	assert_true(ideal_us("star:4", "incast:3:1MiB") > 2.9 * alone);
	weft_net_destroy(net);
	options_free(&o);
}

#define LS16 WEFT_CONFIGS "/topologies/ls16_50g.topo"

/* 256 packets of 4218 wire bytes at 50 Gb/s, four hops of 600 ns, three switches of 400 ns; then an ACK the same way.
 */
static void ideal__permutation_is_one_flow(void **state)
{
	double packet = 4218 * 8 / 50e3, latency = 4 * 0.6 + 3 * 0.4;
	double lower = 256 * packet + 3 * packet + 2 * latency, upper = lower + 5 * 200 * 8 / 50e3;
	double us = ideal_us(LS16, WEFT_CONFIGS "/matrices/perm_16n_1M.cm");
	assert_true(us > lower && us < upper);
}

static void ideal__incast_is_the_receivers_link(void **state)
{
	double packet = 4218 * 8 / 50e3;
	double us = ideal_us(LS16, WEFT_CONFIGS "/matrices/incast_16n_15to1_1M.cm");
	assert_true(us > 15 * 256 * packet && us < 15 * 256 * packet + 12);
}

static void ideal__alltoall_is_every_hosts_link(void **state)
{
	double packet = 4218 * 8 / 50e3;
	double us = ideal_us(LS16, WEFT_CONFIGS "/matrices/sa2a_16n_1M.cm");
	assert_true(us > 15 * 256 * packet && us < 15 * 256 * packet + 12);
}

/* Two leaves of eight hosts over one spine each way: the uplink carries everything that crosses. */
static void ideal__oversubscribed_leaf_is_the_bottleneck(void **state)
{
	double wide = ideal_us("leafspine:2:8:8", "permutation:16:16MiB");
	double narrow = ideal_us("leafspine:2:1:8", "permutation:16:16MiB");
	assert_true(narrow > 1.9 * wide);
}

/* Two spines, two cables to one of them: three cables carry what one does in three times the time. */
static void ideal__unlike_links_count(void **state)
{
	double one = ideal_us("leafspine:2:1:8", "permutation:16:16MiB");
	double three = ideal_us("stripe:2:2:8:1:2", "permutation:16:16MiB");
	assert_true(one / three > 2.9 && one / three < 3.1);
}

/* Two leaves of four hosts at 100 Gb/s with two uplinks each. `links` gives those of leaf 0 other rates. */
static double ideal_with_links_us(const char *links)
{
	static const char *const text =
		"Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"
		"Downlink_Latency_ns 600\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 600\n";
	char path[] = "/tmp/weft-ideal-XXXXXX.topo";
	int fd = mkstemps(path, 5);
	assert_true(fd >= 0 && dprintf(fd, "%s%s", text, links) > 0);
	double us = ideal_us(path, "tornado:8:16MiB");
	close(fd);
	unlink(path);
	return us;
}

/* Whatever the rates add up to: not only multiples of the tier's. */
static void ideal__unlike_rates_add_up(void **state)
{
	double like = ideal_with_links_us("");
	assert_float_equal(ideal_with_links_us("Link 0 0 1 50\n") / like, 2 / 1.5, 0.02);
	assert_float_equal(ideal_with_links_us("Link 0 0 1 25\nLink 0 1 1 25\n") / like, 4, 0.02);
	assert_float_equal(ideal_with_links_us("Link 0 0 1 300\n"), like, 0.01); /* leaf 1 has what it had */
}

static void ideal__grows_with_the_bytes(void **state)
{
	double one = ideal_us("star:4", "permutation:4:1MiB"), two = ideal_us("star:4", "permutation:4:2MiB");
	double packet = 4218 * 8 / 50e3;
	assert_float_equal(two - one, 256 * packet, 0.001);
}

/* A leaf's one uplink of four times the hosts' rate carries what four equal ones do, but for the latency. */
static void ideal__one_fast_uplink_is_several(void **state)
{
	double four = ideal_us("leafspine:2:4:8", "tornado:16:4MiB");
	double fast = ideal_at_us("leafspine:2:1:8", "tornado:16:4MiB", 4 * GBPS50);
	assert_float_equal(fast, four, 4);
}

/* Four uplinks of a quarter of the hosts' rate carry one flow as one of that rate does, but for the latency. */
static void ideal__slow_uplinks_carry_one_flow_together(void **state)
{
	double one = ideal_us("leafspine:2:1:1", "tornado:2:4MiB");
	double slow = ideal_at_us("leafspine:2:4:1", "tornado:2:4MiB", GBPS50 / 4);
	assert_float_equal(slow, one, 6);
}

/* What stays below the leaf does not wait for its slow uplink: nine flows of which one goes up. */
static void ideal__slow_uplink_leaves_the_others(void **state)
{
	double equal = ideal_us("leafspine:2:1:8", "incast:9:4MiB");
	double slow = ideal_at_us("leafspine:2:1:8", "incast:9:4MiB", GBPS50 / 2);
	assert_float_equal(slow, equal, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ideal_flow__is_alone),
		cmocka_unit_test(ideal__permutation_is_one_flow),
		cmocka_unit_test(ideal__incast_is_the_receivers_link),
		cmocka_unit_test(ideal__alltoall_is_every_hosts_link),
		cmocka_unit_test(ideal__oversubscribed_leaf_is_the_bottleneck),
		cmocka_unit_test(ideal__grows_with_the_bytes),
		cmocka_unit_test(ideal__unlike_links_count),
		cmocka_unit_test(ideal__unlike_rates_add_up),
		cmocka_unit_test(ideal__one_fast_uplink_is_several),
		cmocka_unit_test(ideal__slow_uplinks_carry_one_flow_together),
		cmocka_unit_test(ideal__slow_uplink_leaves_the_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
