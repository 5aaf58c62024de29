/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "topo.h"

static void weft_topo_preset__shapes(void **state)
{
	static const struct {
		const char *spec;
		uint32_t hosts, tiers, switches[3];
	} cases[] = {
		{"leafspine:4:3:5", 20, 2, {4, 3, 0}}, {"LeafSpine:1:1:1", 1, 2, {1, 1, 0}},
		{"fattree:4", 16, 3, {8, 8, 4}},       {"fattree:16", 1024, 3, {128, 128, 64}},
		{"star:7", 7, 1, {1, 0, 0}},
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
		"'ring:4' is no topology; there are leafspine:LEAVES:SPINES:HOSTS_PER_LEAF, fattree:K and star:HOSTS");
	check_refused("fattree", -EINVAL, "'fattree': the form is fattree:K");
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_topo_preset__shapes),
		cmocka_unit_test(weft_topo_preset__refuses),
		cmocka_unit_test(weft_topo_preset__refuses_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
