/* SPDX-License-Identifier: BSD-3-Clause */
/* Things break: packets are lost, doubled, held back or damaged, links are cut, hosts vanish. */
#include <errno.h>

#include "scenario.h"

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

/* ---- a link between a leaf and a spine is cut in the middle of a permutation ---- */

enum { CUT_US = 600 };

struct cut {
	struct weft_link_id up, down;
	uint64_t pkts; /* sent into the dead cable, both ways, when the grace time was over */
};

static uint64_t cable_pkts(struct lab *lab, const struct cut *cut)
{
	uint64_t up, down, bytes;
	weft_net_link_counts(lab_net(lab), cut->up, &up, &bytes);
	weft_net_link_counts(lab_net(lab), cut->down, &down, &bytes);
	return up + down;
}

static void cut_now(struct lab *lab, void *arg)
{
	struct cut *cut = arg;
	weft_net_link_set_up(lab_net(lab), cut->up, false);
	weft_net_link_set_up(lab_net(lab), cut->down, false);
}

static void grace_over(struct lab *lab, void *arg)
{
	struct cut *cut = arg;
	cut->pkts = cable_pkts(lab, cut);
}

static void add_freezes(void *arg, const struct weft_conn_view *view)
{
	*(uint32_t *)arg += view->lb.freezes;
}

static uint32_t freezes(struct scenario *s)
{
	uint32_t n = 0;
	for (uint32_t h = 0; h < weft_net_hosts(lab_net(s->lab)); h++)
		weft_engine_view(lab_engine(s->lab, h), add_freezes, &n);
	return n;
}

/* Cuts the cable between leaf and spine; afterwards nothing may enter it once everything lost there has timed out and
 * the answer to what replaced it is back. */
static void cut_cable(uint32_t leaf, uint32_t spine, const char *seed)
{
	struct scenario s;
	struct cut cut = {.pkts = 0};
	SCENARIO(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_16M"), "--seed", seed, "--end", "20ms");
	weft_ns brtt = weft_net_brtt_ns(lab_net(s.lab)), rto = 7 * brtt;
	assert_int_equal(weft_net_link_find(lab_net(s.lab), 0, leaf, spine, false, &cut.up), 0);
	assert_int_equal(weft_net_link_find(lab_net(s.lab), 0, leaf, spine, true, &cut.down), 0);
	assert_int_equal(lab_at(s.lab, WEFT_US(CUT_US), cut_now, &cut), 0);
	assert_int_equal(lab_at(s.lab, WEFT_US(CUT_US) + rto + brtt, grace_over, &cut), 0);
	scenario_run(&s);
	scenario_all_verified(&s);
	assert_true(s.net.dropped_down > 0);
	assert_true(cut.pkts > 0);
	assert_int_equal(cable_pkts(s.lab, &cut), cut.pkts);
	assert_true(freezes(&s) > 0);
	scenario_end(&s);
}

static void faults__cut_link_is_avoided(void **state)
{
	cut_cable(0, 0, "1");
	cut_cable(1, 2, "1");
	cut_cable(3, 3, "2");
	cut_cable(2, 1, "3");
}

/* ---- a host vanishes ---- */

enum { VICTIM = 5 };

static void vanish(struct lab *lab, void *arg)
{
	struct fault_conf dead = {.blackhole = 1, .rx = 1};
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
		const struct weft_flow *f = &s.options.workload.flows[i];
		if (f->src == VICTIM || f->dst == VICTIM)
			assert_int_equal(s.result.flows[i].err, ETIMEDOUT);
		else
			assert_true(s.result.flows[i].verified);
	}
	assert_true(s.stats.pdc_failed > 0);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults__loss_duplication_reordering),
		cmocka_unit_test(faults__loss_without_trimming),
		cmocka_unit_test(faults__corruption_with_crc),
		cmocka_unit_test(faults__cut_link_is_avoided),
		cmocka_unit_test(faults__vanished_peer_ends_its_operations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
