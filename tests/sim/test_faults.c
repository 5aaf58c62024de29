/* SPDX-License-Identifier: BSD-3-Clause */
/* Things break: packets are lost, doubled, held back or damaged, links are cut, hosts vanish. */
#include <errno.h>

#include "fault_port.h"
#include "sim_scenario.h"

static void faults__loss_duplication_reordering(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--set", "fault_loss_ppm=10000",
			"--set", "fault_dup_ppm=10000", "--set", "fault_reorder_ppm=10000", "--set",
			"fault_reorder_pkts=20", "--end", "100ms");
	assert_true(s.stats.tx_retx > 0);
	assert_true(s.stats.rx_dup > 0);
	scenario_end(&s);
}

static void faults__loss_without_trimming(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("a2a_16n_p4_1M"), "--no-trim", "--set",
			"fault_loss_ppm=10000", "--end", "200ms");
	assert_true(s.stats.tx_retx > 0);
	scenario_end(&s);
}

/* With the trailer on, damaged packets are noticed, counted and sent again. */
static void faults__corruption_with_crc(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--set", "fault_corrupt_ppm=5000",
			"--set", "crc=on", "--end", "100ms");
	assert_true(s.stats.rx_bad_crc + s.stats.rx_bad_ip + s.stats.rx_bad_udp > 0);
	assert_true(s.stats.tx_retx > 0);
	scenario_end(&s);
}

/* ---- a host vanishes ---- */

enum { VICTIM = 5 };

static void vanish(struct lab *lab, void *arg)
{
	struct weft_fault_conf dead = {.blackhole = 1, .rx = 1};
	fault_port_set(lab_fault_port(lab, VICTIM), &dead);
}

static void faults__vanished_peer_ends_its_operations(void **state)
{
	struct scenario s;
	SCENARIO(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_16M"), "--set", "fault_loss_ppm=0", "--set",
		 "peer_timeout_ns=20M", "--end", "60ms");
	assert_int_equal(lab_at(s.lab, WEFT_US(500), vanish, NULL), 0);
	scenario_run(&s);
	assert_int_equal(s.rc, 0);
	for (uint32_t i = 0; i < s.result.flow_count; i++) {
		const struct weft_flow *f = &s.options.lab.workload.flows[i];
		if (f->src == VICTIM || f->dst == VICTIM)
			assert_int_equal(s.result.flows[i].err, ETIMEDOUT);
		else
			assert_true(s.result.flows[i].verified);
	}
	assert_true(s.stats.pdc_failed > 0);
	scenario_end(&s);
}

/* ---- the timeline ---- */

enum { FAULTS_MAX = 3 };

struct fault_case {
	const char *topology, *faults[FAULTS_MAX];
	bool drops_down, drops_error; /* what must have been lost */
};

static const char *or_harmless(const char *fault)
{
	return fault ? fault : "1s restore host:0";
}

static void start_case(struct scenario *s, const struct fault_case *c, const char *seed, const char *reconverge)
{
	SCENARIO(s, "--topology", c->topology, "--matrix", "permutation:16:1MiB", "--seed", seed, "--reconverge",
		 reconverge, "--fault", c->faults[0], "--fault", or_harmless(c->faults[1]), "--fault",
		 or_harmless(c->faults[2]), "--end", "50ms");
}

/* Every kind of fault in every kind of topology: all flows end and are verified, losses are counted as what they are.
 */
static void faults__every_kind(void **state)
{
	static const struct fault_case cases[] = {
		{LS16, {"50us fail cable:leaf:0:1"}, true, false},
		{LS16, {"50us fail uplink:leaf:0:1 until 400us"}, true, false},
		{LS16, {"50us fail downlink:leaf:2:3", "60us fail uplink:leaf:1:0"}, true, false},
		{LS16, {"50us fail switch:spine:2"}, true, false},
		{LS16, {"50us fail switch:leaf:1 until 150us"}, true, false},
		{LS16, {"50us fail host:3 until 150us"}, true, false},
		{LS16, {"0us fail random:leaf:20%"}, true, false},
		{LS16, {"50us degrade cable:leaf:0:1 10", "60us degrade host:5 50% until 200us"}, false, false},
		{LS16, {"0us degrade random:leaf:50% 25%", "150us restore random:leaf:50%"}, false, false},
		{LS16, {"0us ber cable:leaf:0:1 1e-6"}, false, true},
		{LS16, {"0us ber switch:spine:0 1e-6 until 100us"}, false, true},
		{LS16, {"20us fail cable:leaf:0:0 until 40us", "60us fail cable:leaf:0:0 until 80us"}, true, false},
		{"fattree:4", {"50us fail switch:core:1", "60us fail cable:leaf:3:0"}, true, false},
		{"fattree:4", {"50us fail downlink:spine:2:1", "50us degrade random:spine:25% 25"}, true, false},
		{"fattree:4", {"50us fail switch:spine:3 until 100us", "0us ber random:leaf:50% 1e-7"}, true, true},
		{"star:16", {"50us fail host:3 until 100us", "0us ber host:7 1e-6"}, true, true},
		{"star:16", {"50us fail switch:leaf:0 until 60us"}, true, false},
		{"leafspine:2:2:8", {"50us fail cable:leaf:0:0", "0us ber uplink:leaf:1:1 1e-7"}, true, true},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scenario s;
		start_case(&s, &cases[i], "1", "never");
		scenario_run(&s);
		scenario_all_verified(&s);
		assert_int_equal(s.net.dropped_down > 0, cases[i].drops_down);
		assert_int_equal(s.net.dropped_error > 0, cases[i].drops_error);
		assert_int_equal(s.net.dropped_route, 0);
		assert_int_equal(s.result.drops.down, s.net.dropped_down);
		assert_int_equal(s.result.drops.error, s.net.dropped_error);
		scenario_end(&s);
	}
}

/* The same seed breaks the same things, another one others. */
static void faults__repeat(void **state)
{
	static const struct fault_case c = {"fattree:4",
					    {"30us fail random:leaf:25% until 90us", "0us ber host:2 1e-6"}};
	static const char *const seeds[] = {"1", "1", "2"};
	uint64_t digest[3];
	for (int i = 0; i < 3; i++) {
		struct scenario s;
		start_case(&s, &c, seeds[i], "20us");
		scenario_run(&s);
		scenario_all_verified(&s);
		digest[i] = s.net.digest;
		scenario_end(&s);
	}
	assert_true(digest[0] == digest[1]);
	assert_true(digest[0] != digest[2]);
}

/* ECMP keeps hashing flows into the dead cable (REPS sec. 4.3.3) until routing reconverges; then they finish. */
static void faults__ecmp_needs_routing(void **state)
{
	static const char *const reconverge[] = {"never", "100us"};
	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO(&s, "--topology", LS16, "--matrix", "permutation:16:1MiB", "--lb", "ecmp", "--reconverge",
			 reconverge[i], "--fault", "50us fail switch:spine:1", "--end", "10ms");
		scenario_run(&s);
		if (i == 0) {
			assert_int_equal(s.rc, -ETIMEDOUT);
			assert_true(s.summary.completed < 16);
		} else {
			scenario_all_verified(&s);
		}
		assert_true(s.net.dropped_down > 0);
		scenario_end(&s);
	}
}

static void note_lost(struct lab *lab, void *arg)
{
	struct weft_net_stats stats;
	weft_net_get_stats(lab_net(lab), &stats);
	*(uint64_t *)arg = stats.dropped_down;
}

/* Oblivious spraying loses packets until the switches know, and none from then on; in three tiers, with a spine that a
 * core still leads to. */
static void faults__routing_ends_the_losses(void **state)
{
	struct scenario s;
	uint64_t before = 0, learned = 0;
	SCENARIO(&s, "--topology", "fattree:4", "--matrix", "permutation:16:4MiB", "--lb", "ops", "--reconverge",
		 "100us", "--fault", "50us fail cable:leaf:2:1", "--fault", "50us fail downlink:spine:4:0", "--fault",
		 "60us fail switch:core:3", "--end", "50ms");
	assert_int_equal(lab_at(s.lab, WEFT_US(59), note_lost, &before), 0);
	/* What was on its way when they learned is lost. */
	assert_int_equal(lab_at(s.lab, WEFT_US(190), note_lost, &learned), 0);
	scenario_run(&s);
	scenario_all_verified(&s);
	assert_true(before > 0 && learned > before);
	assert_int_equal(s.net.dropped_down, learned);
	scenario_end(&s);
}

/* Ordered connections on one path each, as RoCEv2 has them: everything behind a loss comes again. */
static void loss__go_back_n(void **state)
{
	static const char ls16[] = LS16, *const matrix[] = {"incast:15:256KiB", "permutation:16:1MiB"};
	for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", ls16, "--matrix", matrix[i], "--cc", "fixed", "--lb", "ecmp",
				"--no-trim", "--set", "go_back_n=on", "--set", "fault_loss_ppm=10000", "--set",
				"fault_rx=on", "--end", "20ms");
		assert_true(s.stats.tx_retx_rewind > s.stats.tx_retx_gap);
		assert_true(s.stats.rx_ooo > 0);
		scenario_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults__loss_duplication_reordering),
		cmocka_unit_test(faults__loss_without_trimming),
		cmocka_unit_test(faults__corruption_with_crc),
		cmocka_unit_test(faults__vanished_peer_ends_its_operations),
		cmocka_unit_test(faults__every_kind),
		cmocka_unit_test(faults__repeat),
		cmocka_unit_test(faults__ecmp_needs_routing),
		cmocka_unit_test(faults__routing_ends_the_losses),
		cmocka_unit_test(loss__go_back_n),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
