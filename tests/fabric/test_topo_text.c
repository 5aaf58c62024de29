/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "text_file.h"
#include "topo.h"

/* Two tiers, two leaves of four hosts; the lines are counted in the tests below. */
static const char good[] = "Nodes 8\n"                 /* 1 */
			   "Tiers 2\n"                 /* 2 */
			   "Podsize 8\n"               /* 3 */
			   "Tier 0\n"                  /* 4 */
			   "Oversubscribed 1\n"        /* 5 */
			   "Downlink_speed_Gbps 2.5\n" /* 6 */
			   "Radix_Down 4\n"            /* 7 */
			   "Radix_Up 4\n"              /* 8 */
			   "Downlink_Latency_ns 10\n"  /* 9 */
			   "Switch_Latency_ns 20\n"    /* 10 */
			   "Tier 1\n"                  /* 11 */
			   "Bundle 2\n"                /* 12 */
			   "Downlink_speed_Gbps 3\n"   /* 13 */
			   "Radix_Down 4\n"            /* 14 */
			   "Downlink_Latency_ns 30\n"  /* 15 */
			   "Switch_Latency_ns 40\n";   /* 16 */

static void weft_topo_parse__fields(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_parse(good, strlen(good), "g", &t, NULL), 0);
	assert_int_equal(t.hosts, 8);
	assert_int_equal(t.tiers, 2);
	assert_int_equal(t.tier[0].down_bps, 2500000000);
	assert_int_equal(t.tier[0].down_latency_ns, 10);
	assert_int_equal(t.tier[0].switch_latency_ns, 20);
	assert_int_equal(t.tier[0].radix_down, 4);
	assert_int_equal(t.tier[0].radix_up, 2);
	assert_int_equal(t.tier[0].switches, 2);
	assert_int_equal(t.tier[1].bundle, 2);
	assert_int_equal(t.tier[1].radix_down, 2);
	assert_int_equal(t.tier[1].switches, 2);
	assert_int_equal(t.link_count, 0);
	assert_int_equal(t.mesh, 0);
}

static void weft_topo_parse__unlike_links(void **state)
{
	char text[1024];
	struct weft_topo t, back;

	text_replace(good, 12, "Link 0 1 4\nBundle 2\nLink 1 0 1 2.5", text);
	assert_int_equal(weft_topo_parse(text, strlen(text), "t", &t, NULL), 0);
	assert_int_equal(t.link_count, 2);
	assert_int_equal(weft_topo_link_find(&t, 0, 0, 1)->cables, 4);
	assert_int_equal(weft_topo_link_find(&t, 0, 0, 1)->bps, 0);
	assert_int_equal(weft_topo_link_find(&t, 0, 1, 0)->cables, 1);
	assert_int_equal(weft_topo_link_find(&t, 0, 1, 0)->bps, 2500000000);
	assert_null(weft_topo_link_find(&t, 0, 0, 0));
	assert_int_equal(weft_topo_switch_uplinks(&t, 0, 0), 6);
	assert_int_equal(weft_topo_switch_uplinks(&t, 0, 1), 3);
	assert_int_equal(weft_topo_uplinks(&t, 0), 6);
	int len = weft_topo_print(&t, text, sizeof text);
	assert_int_equal(weft_topo_parse(text, (size_t)len, "p", &back, NULL), 0);
	assert_memory_equal(back.link, t.link, 2 * sizeof *t.link);
}

/* By the rates, not by how many cables there are. */
static void weft_topo_leaf__oversubscribed(void **state)
{
	static const struct {
		const char *spec;
		uint64_t up_bps;
		bool oversubscribed;
	} cases[] = {
		{"leafspine:2:4:4", 100, false}, {"leafspine:2:2:4", 100, true}, {"leafspine:2:2:4", 200, false},
		{"leafspine:2:4:4", 99, true},   {"tree:4:4:8:8:1", 100, false}, {"star:8", 100, false},
	};
	struct weft_topo t;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(weft_topo_preset(cases[i].spec, 100000000000, &t, NULL), 0);
		for (uint32_t tier = 1; tier < t.tiers; tier++)
			t.tier[tier].down_bps = cases[i].up_bps * 1000000000;
		assert_int_equal(weft_topo_leaf_oversubscribed(&t), cases[i].oversubscribed);
	}
}

/* One leaf is enough, and its own links count. */
static void weft_topo_leaf__oversubscribed_by_unlike_links(void **state)
{
	static const struct {
		struct weft_topo_link link;
		bool oversubscribed;
	} cases[] = {
		{{.tier = 0, .sw = 0, .up = 0, .cables = 5}, false},
		{{.tier = 0, .sw = 1, .up = 2, .bps = 99000000000}, true},
		{{.tier = 0, .sw = 1, .up = 2, .bps = 101000000000}, false},
	};
	struct weft_topo t;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(weft_topo_preset("leafspine:2:4:4", 100000000000, &t, NULL), 0);
		t.link[0] = cases[i].link;
		t.link_count = 1;
		assert_int_equal(weft_topo_leaf_oversubscribed(&t), cases[i].oversubscribed);
	}
	/* The widest leaf has what its hosts send, the other one half of that. */
	assert_int_equal(weft_topo_preset("leafspine:2:4:8", 100000000000, &t, NULL), 0);
	t.link[0] = cases[0].link;
	t.link_count = 1;
	assert_true(weft_topo_leaf_oversubscribed(&t));
}

static void weft_topo_parse__mesh(void **state)
{
	char text[1024];
	struct weft_topo t, back;

	assert_int_equal(weft_topo_preset("vl2:16:8:4:20", 1000000000, &t, NULL), 0);
	assert_int_equal(t.mesh, 1);
	assert_int_equal(weft_topo_groups_down(&t, 2), 4);
	int len = weft_topo_print(&t, text, sizeof text);
	assert_int_equal(weft_topo_parse(text, (size_t)len, "p", &back, NULL), 0);
	assert_int_equal(back.mesh, 1);
	assert_int_equal(back.tier[2].switches, 4);
	assert_int_equal(back.tier[2].radix_down, 8);
}

static void weft_topo_parse__shipped_files(void **state)
{
	static const struct {
		const char *file;
		uint32_t hosts, tiers, leaves, aggs, cores;
	} cases[] = {
		{"topologies/ls16_50g.topo", 16, 2, 4, 4, 0},
		{"topologies/ft128_800g_tor1os.topo", 128, 3, 32, 32, 16},
		{"topologies/ft1024_800g_tor1os.topo", 1024, 3, 128, 128, 64},
		{"topologies/ft1024_800g_tor8os.topo", 1024, 3, 128, 16, 8},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t len = 0;
		char *text = config_read(cases[i].file, &len);
		struct weft_topo t;
		assert_non_null(text);
		assert_int_equal(weft_topo_parse(text, len, cases[i].file, &t, NULL), 0);
		assert_int_equal(t.hosts, cases[i].hosts);
		assert_int_equal(t.tiers, cases[i].tiers);
		assert_int_equal(t.tier[0].switches, cases[i].leaves);
		assert_int_equal(t.tier[1].switches, cases[i].aggs);
		assert_int_equal(t.tier[2].switches, cases[i].cores);
		free(text);
	}
}

/* Replaces line `line` of `good` by `with` (which may be empty) and expects the message. */
static void check_refused(int line, const char *with, const char *message)
{
	char text[1024];
	struct weft_err err = {""};
	struct weft_topo t;

	text_replace(good, line, with, text);
	assert_int_equal(weft_topo_parse(text, strlen(text), "t", &t, &err), -EINVAL);
	assert_string_equal(err.msg, message);
}

static void weft_topo_parse__bad_lines(void **state)
{
	check_refused(1, "Nodes", "t:1: Nodes: a number is missing");
	check_refused(1, "Nodes 8 9", "t:1: Nodes takes one value");
	check_refused(1, "Nodes 70000", "t:1: Nodes: 70000 is not in 0..65536");
	check_refused(1, "Knots 8", "t:1: 'Knots' is none of: Nodes Tiers Podsize Tier");
	check_refused(1, "Nodes 0", "t:1: the number of hosts must be 1..65536");
	check_refused(2, "Tiers 1", "t:2: Tiers must be 2 or 3");
	check_refused(2, "Nodes 8", "t:2: Nodes was given in line 1 already");
	check_refused(6, "Downlink_speed_Gbps 1.", "t:6: Downlink_speed_Gbps: a number of Gb/s is missing");
	check_refused(6, "Downlink_speed_Gbps 1.0000000001", "t:6: Downlink_speed_Gbps: a number of Gb/s is missing");
	check_refused(6, "Downlink_speed_Gbps -1", "t:6: Downlink_speed_Gbps: a number of Gb/s is missing");
	check_refused(6, "Downlink_speed_Gbps 99999", "t:6: Downlink_speed_Gbps: a number of Gb/s is missing");
	check_refused(6, "Downlink_speed_Gbps 0", "t:6: link speed must be 0.001..10000 Gb/s");
	check_refused(12, "Podsize 8",
		      "t:12: 'Podsize' is none of: Tier Downlink_speed_Gbps Radix_Down Radix_Up Downlink_Latency_ns "
		      "Switch_Latency_ns Oversubscribed Bundle Mesh Link Queue_up Queue_down");
	check_refused(8, "Radix_Up 4\nLink 0 0 2", "t:9: the links to hosts are all alike");
	check_refused(12, "Link 0 0", "t:12: CABLES: a number is missing");
	check_refused(12, "Link 0 0 0", "t:12: CABLES: 0 is not in 1..255");
	check_refused(12, "Link 0 0 1 x", "t:12: GBPS: a number of Gb/s is missing");
	check_refused(12, "Link 0 0 1 2 3", "t:12: Link takes SWITCH UP CABLES [GBPS]");
	check_refused(12, "Bundle 2\nLink 0 2 1", "t:13: no link 2 of switch 0 below: they are 0..1 of 0..1");
	check_refused(12, "Bundle 2\nLink 2 0 1", "t:13: no link 0 of switch 2 below: they are 0..1 of 0..1");
	check_refused(12, "Bundle 2\nLink 0 0 1 0", "t:13: GBPS: a number of Gb/s is missing");
	check_refused(12, "Bundle 2\nLink 1 1 1\nLink 1 1 2", "t:14: link 1 of switch 1 below is given twice");
	check_refused(12, "Bundle 2\nMesh 1", "t:13: only Tier 2 can be a mesh");
}

static void weft_topo_parse__impossible_trees(void **state)
{
	check_refused(1, "", "t:16: Nodes is missing");
	check_refused(2, "Tiers 3", "t:16: section Tier 2 is missing");
	check_refused(3, "Podsize 3", "t:3: 8 hosts do not divide into pods of 3");
	check_refused(3, "Podsize 4", "t:3: with 2 tiers all 8 hosts are one pod, not pods of 4");
	check_refused(5, "Oversubscribed 2", "t:5: Oversubscribed 2, but Radix_Down / Radix_Up is 4 / 4");
	check_refused(7, "", "t:4: Radix_Down is missing");
	check_refused(7, "Radix_Down 7", "t:7: 8 hosts of a pod do not divide into leaves of 7");
	check_refused(8, "", "t:4: a switch below the top needs links up");
	check_refused(8, "Radix_Up 3", "t:8: Radix_Up 3 does not divide into bundles of 2");
	check_refused(11, "Tier 2", "t:16: section Tier 1 is missing");
	check_refused(11, "Tier 3", "t:11: Tier: 3 is not in 0..2");
	check_refused(12, "Bundle 0", "t:12: Bundle: 0 is not in 1..256");
	check_refused(12, "Radix_Up 1", "t:12: the top tier has no links up");
	check_refused(14, "Radix_Down 6", "t:14: each switch reaches 3 leaves, but there are 2");
	check_refused(16, "Tier 2\n", "t:16: Tier 2 of a tree with 2 tiers");
}

/* Any prefix without the last required key is refused. */
static void weft_topo_parse__truncated(void **state)
{
	struct weft_topo t;
	size_t needed = (size_t)(strstr(good, "Downlink_Latency_ns 30") - good);

	for (size_t n = 0; n < needed; n++) {
		char *copy = malloc(n + 1);
		memcpy(copy, good, n);
		assert_int_equal(weft_topo_parse(copy, n, "t", &t, NULL), -EINVAL);
		free(copy);
	}
}

static void weft_topo_print__reads_back(void **state)
{
	char text[1024], small[16];
	struct weft_topo t, back;

	assert_int_equal(weft_topo_parse(good, strlen(good), "g", &t, NULL), 0);
	int len = weft_topo_print(&t, text, sizeof text);
	assert_int_equal(len, strlen(text));
	assert_int_equal(weft_topo_parse(text, (size_t)len, "p", &back, NULL), 0);
	assert_memory_equal(&t, &back, sizeof t);
	assert_int_equal(weft_topo_print(&t, small, sizeof small), len);
	assert_memory_equal(small, text, sizeof small - 1);
	assert_int_equal(weft_topo_print(&t, NULL, 0), len);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_topo_leaf__oversubscribed),
		cmocka_unit_test(weft_topo_leaf__oversubscribed_by_unlike_links),
		cmocka_unit_test(weft_topo_parse__fields),
		cmocka_unit_test(weft_topo_parse__shipped_files),
		cmocka_unit_test(weft_topo_parse__bad_lines),
		cmocka_unit_test(weft_topo_parse__impossible_trees),
		cmocka_unit_test(weft_topo_parse__unlike_links),
		cmocka_unit_test(weft_topo_parse__mesh),
		cmocka_unit_test(weft_topo_parse__truncated),
		cmocka_unit_test(weft_topo_print__reads_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
