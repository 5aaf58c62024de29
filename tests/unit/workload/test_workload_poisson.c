/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "patterns.h"

static struct weft_workload make(const char *spec, uint64_t seed)
{
	struct weft_topo topo = leafspine("leafspine:4:4:4");

	return make_on(spec, seed, &topo);
}

/* Sizes of 1000 bytes at half of 100 Gb/s: a flow of a host every 160 ns. */
static struct weft_workload make_fixed(const char *time, uint64_t seed)
{
	struct weft_topo topo = leafspine("leafspine:4:4:4");
	static const char cdf[] = "1000 1\n";
	struct weft_workload_site site = {&topo, seed, cdf, sizeof cdf - 1};
	char spec[64];
	struct weft_workload w;

	snprintf(spec, sizeof spec, "poisson:./fixed:0.5:%s", time);
	assert_int_equal(weft_workload_pattern(spec, &site, &w, NULL), 0);
	return w;
}

/* Mean and spread of the times between flows are those of an exponential distribution, within five standard errors. */
static void build_poisson__gaps(void **state)
{
	struct weft_workload w = make_fixed("1ms", 1);
	double sum = 0, squares = 0, longer = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w.flow_count; i++) {
		bool first = i == 0 || w.flows[i].src != w.flows[i - 1].src;
		assert_true(w.flows[i].start_ns < 1000000);
		double gap = (double)(w.flows[i].start_ns - (first ? 0 : w.flows[i - 1].start_ns));
		assert_true(gap >= 0);
		sum += gap;
		squares += gap * gap;
		longer += gap > 320;
		n++;
	}
	print_message("%u gaps, mean %.3f ns, deviation %.3f ns, %.5f longer than two means\n", n, sum / n,
		      sqrt(squares / n - sum / n * sum / n), longer / n);
	assert_true(n > 99000 && n < 101000); /* 16 hosts, 6250 each; deviation 316 */
	assert_true(fabs(sum / n - 160) < 5 * 160 / sqrt(n));
	assert_true(fabs(sqrt(squares / n - sum / n * sum / n) - 160) < 5 * 160 * sqrt(2.0 / n));
	assert_true(fabs(longer / n - exp(-2)) < 5 * sqrt(exp(-2) * (1 - exp(-2)) / n));
	weft_workload_free(&w);
}

/* All the bytes of a host fill 0.6 of its link over the time, within five standard errors of the size distribution. */
static void build_poisson__load(void **state)
{
	struct weft_workload w = make("poisson:webserver:0.6:2ms", 3);
	double bytes = 0, squares = 0, expected = 16 * 0.6 * 100e9 / 8 * 2e-3;

	for (uint32_t i = 0; i < w.flow_count; i++) {
		bytes += (double)w.flows[i].bytes;
		squares += (double)w.flows[i].bytes * (double)w.flows[i].bytes;
	}
	print_message("%u flows, %.0f bytes, expected %.0f, standard error %.0f\n", w.flow_count, bytes, expected,
		      sqrt(squares));
	assert_true(fabs(bytes - expected) < 5 * sqrt(squares));
	assert_true(sqrt(squares) < expected / 20); /* or the check above says little */
	weft_workload_free(&w);
}

/* Destinations are uniform over the others: 240 pairs, 416 flows each on average, deviation 20. */
static void build_poisson__destinations(void **state)
{
	struct weft_workload w = make_fixed("1ms", 2);
	uint32_t pairs[16][16] = {{0}};

	for (uint32_t i = 0; i < w.flow_count; i++)
		pairs[w.flows[i].src][w.flows[i].dst]++;
	for (uint32_t s = 0; s < 16; s++)
		for (uint32_t d = 0; d < 16; d++)
			assert_in_range(pairs[s][d], s == d ? 0 : 300, s == d ? 0 : 540);
	weft_workload_free(&w);
}

static void build_poisson__off_leaf(void **state)
{
	struct weft_workload w = make("poisson:googlerpc:0.5:50us:14:off-leaf", 1);
	uint32_t received[16] = {0};

	assert_int_equal(w.nodes, 14);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		assert_int_not_equal(w.flows[i].src / 4, w.flows[i].dst / 4);
		assert_in_range(w.flows[i].src, 0, 13);
		received[w.flows[i].dst]++;
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(received[i] > 0, i < 14);
	weft_workload_free(&w);
}

/* Six hosts send, of leaves 0 and 1; nobody there receives, also not hosts 6 and 7. */
static void build_poisson__few_senders(void **state)
{
	struct weft_workload w = make("poisson:googlerpc:0.5:50us:14:off-leaf:6", 1);
	struct weft_workload all = make("poisson:googlerpc:0.5:50us:14:off-leaf", 1);
	uint32_t sent[16] = {0}, sent_by_all[16] = {0}, received[16] = {0};

	for (uint32_t i = 0; i < w.flow_count; i++) {
		sent[w.flows[i].src]++;
		received[w.flows[i].dst]++;
	}
	for (uint32_t i = 0; i < all.flow_count; i++)
		sent_by_all[all.flows[i].src]++;
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(sent[i], i < 6 ? sent_by_all[i] : 0);
		assert_int_equal(received[i] > 0, i >= 8 && i < 14);
	}
	weft_workload_free(&w);
	weft_workload_free(&all);
}

/* Every sender has one receiver for all its flows, another host that is no other sender's; times and sizes are those of
 * flows to anybody. */
static void check_one_receiver(const char *spec, const char *free_spec, uint64_t seed, uint32_t hosts, uint32_t senders)
{
	struct weft_workload w = make(spec, seed), free_to = make(free_spec, seed);
	uint32_t to[16], receivers[16] = {0}, flows = 0;

	memset(to, 0xff, sizeof to);
	assert_int_equal(w.nodes, hosts);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		const struct weft_flow *f = &w.flows[i];
		assert_true(f->src < senders && f->dst < hosts && f->src != f->dst);
		receivers[f->dst] += to[f->src] == UINT32_MAX;
		assert_true(to[f->src] == UINT32_MAX || to[f->src] == f->dst);
		to[f->src] = f->dst;
		assert_int_equal(f->start_ns, free_to.flows[i].start_ns);
		assert_int_equal(f->bytes, free_to.flows[i].bytes);
	}
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(to[i] != UINT32_MAX, i < senders);
		assert_in_range(receivers[i], senders == hosts && i < hosts ? 1 : 0, 1);
	}
	while (flows < free_to.flow_count && free_to.flows[flows].src < senders)
		flows++;
	assert_int_equal(w.flow_count, flows);
	weft_workload_free(&w);
	weft_workload_free(&free_to);
}

static void build_poisson__one_receiver(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		check_one_receiver("poisson:googlerpc:0.5:50us:14:one-receiver", "poisson:googlerpc:0.5:50us:14", seed,
				   14, 14);
		check_one_receiver("poisson:googlerpc:0.5:50us:14:one-receiver:6", "poisson:googlerpc:0.5:50us:14",
				   seed, 14, 6);
	}
	check_one_receiver("poisson:googlerpc:0.5:50us:2:one-receiver:2", "poisson:googlerpc:0.5:50us:2", 1, 2, 2);
}

/* Another seed, other receivers. */
static void build_poisson__one_receiver_by_seed(void **state)
{
	struct weft_workload a = make("poisson:googlerpc:0.5:50us:16:one-receiver", 1);
	struct weft_workload b = make("poisson:googlerpc:0.5:50us:16:one-receiver", 2);
	uint32_t to_a[16], to_b[16], differ = 0;

	for (uint32_t i = 0; i < a.flow_count; i++)
		to_a[a.flows[i].src] = a.flows[i].dst;
	for (uint32_t i = 0; i < b.flow_count; i++)
		to_b[b.flows[i].src] = b.flows[i].dst;
	for (uint32_t i = 0; i < 16; i++)
		differ += to_a[i] != to_b[i];
	assert_true(differ > 8);
	weft_workload_free(&a);
	weft_workload_free(&b);
}

static void build_poisson__same_seed_same_flows(void **state)
{
	struct weft_workload a = make("poisson:hadoop:0.4:1ms", 5), b = make("poisson:hadoop:0.4:1ms", 5);
	struct weft_workload c = make("poisson:hadoop:0.4:1ms", 6), fewer = make("poisson:hadoop:0.4:1ms:8", 5);

	assert_int_equal(a.flow_count, b.flow_count);
	for (uint32_t i = 0; i < a.flow_count; i++)
		assert_memory_equal(&a.flows[i], &b.flows[i], sizeof a.flows[i]);
	assert_true(a.flow_count != c.flow_count || a.flows[0].start_ns != c.flows[0].start_ns);
	/* Whatever the number of hosts, a host starts its flows at the same times. */
	for (uint32_t i = 0; i < fewer.flow_count; i++)
		assert_int_equal(a.flows[i].start_ns, fewer.flows[i].start_ns);
	weft_workload_free(&a);
	weft_workload_free(&b);
	weft_workload_free(&c);
	weft_workload_free(&fewer);
}

static void check_flow(const struct weft_flow *f, uint32_t src, weft_ns start_ns, uint32_t dst, uint64_t bytes)
{
	assert_int_equal(f->src, src);
	assert_int_equal(f->start_ns, start_ns);
	assert_int_equal(f->dst, dst);
	assert_int_equal(f->bytes, bytes);
}

/* Numbers every machine must reproduce; computed apart from this, in floating point. */
static void build_poisson__known_flows(void **state)
{
	struct weft_workload w = make("poisson:websearch:0.6:2ms", 1);

	assert_int_equal(w.flow_count, 147);
	check_flow(&w.flows[0], 0, 427157, 1, 7216055);
	check_flow(&w.flows[1], 0, 546086, 2, 74439);
	check_flow(&w.flows[146], 15, 1705918, 8, 5486399);
	weft_workload_free(&w);
}

static void build_poisson__refuses(void **state)
{
	struct weft_topo topo = leafspine("leafspine:4:4:4"), star = leafspine("star:8");

	refused_on("poisson:webserch:0.6:2ms", &topo, -ENOENT,
		   "poisson:webserch:0.6:2ms: CDF is one of alistorage, cachefollower, datamining, googlerpc, hadoop, "
		   "websearch, webserver, or a file (with a '/')");
	refused_on("poisson:./x:0.6:2ms", &topo, -EINVAL, "poisson:./x:0.6:2ms: nobody read ./x");
	refused_on("poisson:websearch:0:2ms", &topo, -EINVAL,
		   "poisson:websearch:0:2ms: LOAD must be above 0 and at most 1.5 of the hosts' links");
	refused_on("poisson:websearch:1.51:2ms", &topo, -EINVAL,
		   "poisson:websearch:1.51:2ms: LOAD must be above 0 and at most 1.5 of the hosts' links");
	refused_on("poisson:websearch:60%:2ms", &topo, -EINVAL,
		   "poisson:websearch:60%:2ms: LOAD must be above 0 and at most 1.5 of the hosts' links");
	refused_on("poisson:websearch:0.6:2", &topo, -EINVAL,
		   "poisson:websearch:0.6:2: TIME is such as 500us, 2.5ms or 1s, at most 100 s");
	refused_on("poisson:websearch:0.6:101s", &topo, -EINVAL,
		   "poisson:websearch:0.6:101s: TIME is such as 500us, 2.5ms or 1s, at most 100 s");
	refused_on("poisson:websearch:0.6:0ms", &topo, -EINVAL,
		   "poisson:websearch:0.6:0ms: TIME is such as 500us, 2.5ms or 1s, at most 100 s");
	refused_on("poisson:websearch:0.6:1ns", &topo, -EINVAL,
		   "poisson:websearch:0.6:1ns: no flow starts in so short a time");
	refused_on("poisson:googlerpc:0.6:100s", &topo, -EINVAL,
		   "poisson:googlerpc:0.6:100s makes about 3843555475 flows, more than 1048576: shorten the time or "
		   "take fewer hosts");
	refused_on("poisson:websearch:0.6:2ms:8:off-leaf", &star, -EINVAL,
		   "poisson:websearch:0.6:2ms:8:off-leaf: all 8 hosts are on one leaf");
	refused_on("poisson:websearch:0.6:2ms:8:off-leaf:5", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:8:off-leaf:5: no host of 8 is left to receive from 5 senders");
	refused_on("poisson:websearch:0.6:2ms:8:off-leaf:0", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:8:off-leaf:0: the number of senders must be a number in 1..65535");
	refused_on("poisson:websearch:0.6:2ms:8:off", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:8:off: 'off-leaf' or 'one-receiver' is expected, or nothing");
	refused_on("poisson:websearch:0.6:2ms:8:one-receiver:9", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:8:one-receiver:9: 9 senders are more than all 8 hosts");
	refused_on("poisson:websearch:0.6:2ms:one-receiver", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:one-receiver: the number of hosts must be a number in 2..65535");
	refused_on("poisson:websearch:0.6:2ms:1", &topo, -EINVAL,
		   "poisson:websearch:0.6:2ms:1: the number of hosts must be a number in 2..65535");
}

/* The distribution's file is named with its line. */
static void build_poisson__bad_file(void **state)
{
	struct weft_topo topo = leafspine("leafspine:4:4:4");
	static const char cdf[] = "100 0\n50 1\n";
	struct weft_workload_site site = {&topo, 1, cdf, sizeof cdf - 1};
	struct weft_err err = {""};
	struct weft_workload w;

	assert_int_equal(weft_workload_pattern("poisson:./bad.cdf:0.5:1ms", &site, &w, &err), -EINVAL);
	assert_string_equal(err.msg, "./bad.cdf:2: the size must not be below the line before");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_poisson__gaps),
		cmocka_unit_test(build_poisson__load),
		cmocka_unit_test(build_poisson__destinations),
		cmocka_unit_test(build_poisson__off_leaf),
		cmocka_unit_test(build_poisson__few_senders),
		cmocka_unit_test(build_poisson__one_receiver),
		cmocka_unit_test(build_poisson__one_receiver_by_seed),
		cmocka_unit_test(build_poisson__same_seed_same_flows),
		cmocka_unit_test(build_poisson__known_flows),
		cmocka_unit_test(build_poisson__refuses),
		cmocka_unit_test(build_poisson__bad_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
