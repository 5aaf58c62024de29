/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "text_file.h"
#include "topo.h"

static void weft_topo_preset__shapes(void **state)
{
	static const struct {
		const char *spec;
		uint32_t hosts, tiers, switches[3];
	} cases[] = {
		{"leafspine:4:3:5", 20, 2, {4, 3, 0}},
		{"LeafSpine:1:1:1", 1, 2, {1, 1, 0}},
		{"fattree:4", 16, 3, {8, 8, 4}},
		{"fattree:16", 1024, 3, {128, 128, 64}},
		{"star:7", 7, 1, {1, 0, 0}},
		{"leafspine:4:3:5:2", 20, 2, {4, 3, 0}},
		{"fattree:32", 8192, 3, {512, 512, 256}},
		{"fattree:64", 65536, 3, {2048, 2048, 1024}},
		{"fattree:16:8", 1024, 3, {128, 16, 8}},
		{"fattree:32:8", 8192, 3, {512, 64, 32}},
		{"fattree:16:1:4", 1024, 3, {128, 128, 16}},
		{"fattree:16:2:2", 1024, 3, {128, 64, 16}},
		{"tree:3:5:16:2:4", 240, 3, {15, 6, 8}},
		{"stripe:16:16:48:2:2", 768, 2, {16, 16, 0}},
		{"vl2:16:8:4:20", 320, 3, {16, 8, 4}},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct weft_topo t;
		assert_int_equal(weft_topo_preset(cases[i].spec, 1000000000, &t, NULL), 0);
		assert_int_equal(t.hosts, cases[i].hosts);
		assert_int_equal(t.tiers, cases[i].tiers);
		for (int k = 0; k < 3; k++)
			assert_int_equal(t.tier[k].switches, cases[i].switches[k]);
		assert_int_equal(t.tier[0].down_bps, 1000000000);
		assert_int_equal(t.tier[0].down_latency_ns, 600);
		assert_int_equal(t.tier[0].switch_latency_ns, 400);
	}
}

static void check_refused(const char *spec, int rc, const char *message)
{
	struct weft_err err = {""};
	struct weft_topo t;

	assert_int_equal(weft_topo_preset(spec, 1000000000, &t, &err), rc);
	assert_string_equal(err.msg, message);
}

static void weft_topo_preset__refuses(void **state)
{
	check_refused(
		"ring:4", -ENOENT,
		"'ring:4' is neither a file nor a preset; presets are leafspine, fattree, tree, star, stripe, vl2");
	check_refused("stripe:4:4:4:5:2", -EINVAL,
		      "'stripe:4:4:4:5:2': WIDE is at most SPINES, and CABLES at most 255");
	check_refused("stripe:64:64:4:9:2", -EINVAL, "'stripe:64:64:4:9:2': too many links with several cables");
	check_refused("vl2:16:7:4:20", -EINVAL, "'vl2:16:7:4:20': AGGS is even, and TORS divides into its pairs");
	check_refused("vl2:15:8:4:20", -EINVAL, "'vl2:15:8:4:20': AGGS is even, and TORS divides into its pairs");
	check_refused("fattree", -EINVAL, "'fattree': the form is fattree:K[:LEAF_OS[:SPINE_OS]]");
	check_refused("fattree:8:1:1:1", -EINVAL, "'fattree:8:1:1:1': the form is fattree:K[:LEAF_OS[:SPINE_OS]]");
	check_refused("fattree:8:3", -EINVAL, "'fattree:8:3': K/2 uplinks do not divide by the oversubscription");
	check_refused("fattree:8:1:8", -EINVAL, "'fattree:8:1:8': K/2 uplinks do not divide by the oversubscription");
	check_refused("tree:4096:4096:4096:1:1", -EINVAL, "topology: the number of hosts must be 1..65536");
	check_refused("leafspine:2:2:2:4096", -EINVAL, "topology, tier 1: a link is 1..256 cables; a host has one");
	check_refused("star:1:2:3:4:5", -EINVAL, "'star:1:2:3:4:5': the form is star:HOSTS");
	check_refused("fattree:5", -EINVAL, "'fattree:5': K must be even");
	check_refused("fattree:1000", -EINVAL, "fattree:1000: K must be a number in 1..64");
	check_refused("leafspine:4:0:4", -EINVAL, "leafspine:4:0:4: SPINES must be a number in 1..4096");
	check_refused("leafspine:4:x:4", -EINVAL, "leafspine:4:x:4: SPINES must be a number in 1..4096");
	check_refused("leafspine:4096:1:4096", -EINVAL, "topology: the number of hosts must be 1..65536");
}

static void weft_topo_preset__refuses_speed(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("star:2", 0, &t, NULL), -EINVAL);
}

/* The 8:1 tree that is also there as a file. */
static void weft_topo_preset__is_the_file(void **state)
{
	struct weft_topo file, preset;
	char as_file[1024], as_preset[1024];
	size_t len = 0;
	char *text = config_read("topologies/ft1024_800g_tor8os.topo", &len);

	assert_int_equal(weft_topo_parse(text, len, "file", &file, NULL), 0);
	assert_int_equal(weft_topo_preset("fattree:16:8", UINT64_C(800000000000), &preset, NULL), 0);
	weft_topo_print(&file, as_file, sizeof as_file);
	weft_topo_print(&preset, as_preset, sizeof as_preset);
	assert_string_equal(as_file, as_preset);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_topo_preset__shapes),
		cmocka_unit_test(weft_topo_preset__refuses),
		cmocka_unit_test(weft_topo_preset__is_the_file),
		cmocka_unit_test(weft_topo_preset__refuses_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
