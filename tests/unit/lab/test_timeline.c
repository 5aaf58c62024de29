/* SPDX-License-Identifier: BSD-3-Clause */
#include "timeline_box.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

static void add__reads_every_form(void **state)
{
	struct timeline t = {0};
	add(&t, "100us fail cable:leaf:0:2");
	add(&t, "  0us   degrade uplink:1:3:4 12.5 until 1.5ms ");
	add(&t, "1ms degrade downlink:SPINE:3:4 25%");
	add(&t, "7ns ber host:5 1e-6");
	add(&t, "2s restore switch:core:7");
	add(&t, "1us fail random:leaf:12.5%:3 until 2us");
	add(&t, "3us renegotiate cable:leaf:0:1 40%");
	assert_int_equal(t.fault_count, 7);
	const struct timeline_fault *f = t.faults;
	assert_int_equal(f[0].at_ns, 100000);
	assert_true(f[0].action == TIMELINE_FAIL && f[0].until_ns == WEFT_NEVER);
	assert_true(f[0].target.kind == TIMELINE_CABLE && f[0].target.tier == 0 && f[0].target.up == 2);
	assert_true(f[1].action == TIMELINE_DEGRADE && f[1].bps == GBPS100 / 8 && f[1].until_ns == 1500000);
	assert_true(f[1].target.kind == TIMELINE_UPLINK && f[1].target.tier == 1 && f[1].target.sw == 3);
	assert_true(f[1].at_ns == 0 && f[1].target.up == 4);
	assert_true(f[2].bps == 0 && f[2].rate_ppm == 250000 && f[2].target.kind == TIMELINE_DOWNLINK);
	assert_true(f[2].target.tier == 1);
	assert_true(f[3].action == TIMELINE_BER && f[3].ber_e18 == UINT64_C(1000000000000));
	assert_true(f[3].target.kind == TIMELINE_HOST && f[3].target.host == 5 && f[3].at_ns == 7);
	assert_true(f[4].action == TIMELINE_RESTORE && f[4].target.kind == TIMELINE_SWITCH);
	assert_true(f[4].target.tier == 2 && f[4].target.sw == 7);
	assert_true(f[5].target.kind == TIMELINE_RANDOM && f[5].target.share_ppm == 125000);
	assert_int_equal(f[5].target.draw, 3);
	assert_true(f[6].action == TIMELINE_RENEGOTIATE && f[6].rate_ppm == 400000);
	timeline_free(&t);
}

/* Every refusal shows the spec, and the word that is wrong. */
static void add__refuses(void **state)
{
	static const struct {
		const char *spec, *word;
	} bad[] = {
		{"", "TIME"},
		{"100us fail", "TARGET"},
		{"soon fail host:1", "'soon'"},
		{"100 fail host:1", "'100'"},
		{"-1us fail host:1", "'-1us'"},
		{"1us break host:1", "'break'"},
		{"1us fail node:1", "'node:1'"},
		{"1us fail cable:leaf:0", "cable:TIER:SWITCH:UPLINK"},
		{"1us fail cable:leaf:0:1:2:3:4", "cable:TIER:SWITCH:UPLINK"},
		{"1us fail switch:leaf", "switch:TIER:SWITCH"},
		{"1us fail cable:top:0:1", "'top'"},
		{"1us fail cable:3:0:1", "'3'"},
		{"1us fail cable:leaf:x:1", "'x'"},
		{"1us fail cable:leaf:0:4294967296", "'4294967296'"},
		{"1us fail host:", "''"},
		{"1us fail random:leaf:10", "'10'"},
		{"1us fail random:leaf:0%", "'0%'"},
		{"1us fail random:leaf:101%", "'101%'"},
		{"1us fail random:leaf:10%:z", "'z'"},
		{"1us degrade host:1", "'degrade'"},
		{"1us degrade host:1 slow", "'slow'"},
		{"1us renegotiate host:1", "'renegotiate'"},
		{"1us renegotiate host:1 0%", "'0%'"},
		{"1us degrade host:1 0", "'0'"},
		{"1us ber host:1", "'ber'"},
		{"1us ber host:1 2", "'2'"},
		{"1us ber host:1 1e-19", "'1e-19'"},
		{"1us ber host:1 until 2us", "'until'"},
		{"1us fail host:1 25", "'25'"},
		{"1us fail host:1 until", "until"},
		{"1us fail host:1 until never", "'never'"},
		{"2us fail host:1 until 2us", "2us"},
		{"1us restore host:1 until 2us", "'until'"},
		{"1us degrade host:1 25 until 2us please", "'please'"},
		{"1us fail host:111111111111111111111111111111111111111111111111111111", "too long"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct timeline t = {0};
		struct weft_err err = {""};
		assert_int_equal(timeline_parse(&t, bad[i].spec, &err), -EINVAL);
		if (!strstr(err.msg, bad[i].word) || !strstr(err.msg, bad[i].spec))
			fail_msg("%s: %s", bad[i].spec, err.msg);
		assert_int_equal(t.fault_count, 0);
		timeline_free(&t);
	}
}

static void resolve__names_what_exists(void **state)
{
	static const struct {
		const char *preset, *spec, *says;
	} bad[] = {
		{"leafspine:4:2:4", "1us fail cable:leaf:4:0", "there is no leaf 4: they are 0 to 3"},
		{"leafspine:4:2:4", "1us fail uplink:leaf:3:2", "there is no uplink 2: they are 0 to 1"},
		{"leafspine:4:2:4", "1us fail switch:spine:2", "there is no spine 2: they are 0 to 1"},
		{"leafspine:4:2:4", "1us fail cable:spine:0:0", "have no uplinks"},
		{"leafspine:4:2:4", "1us fail random:spine:50%", "have no uplinks"},
		{"leafspine:4:2:4", "1us fail switch:core:0", "only leaf and spine"},
		{"leafspine:4:2:4", "1us fail host:16", "there is no host 16: they are 0 to 15"},
		{"leafspine:4:2:4", "1us fail random:leaf:5%", "of 8 cables"},
		{"star:4", "1us fail cable:leaf:0:0", "have no uplinks"},
		{"star:4", "1us fail switch:spine:0", "only leaf"},
		{"fattree:4", "1us fail switch:core:4", "there is no core 4: they are 0 to 3"},
		{"fattree:4", "1us fail cable:core:0:0", "have no uplinks"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct weft_topo topo = topo_of(bad[i].preset);
		struct timeline t = {0};
		struct weft_err err = {""};
		add(&t, bad[i].spec);
		assert_int_equal(timeline_resolve(&t, &topo, 1, WEFT_NEVER, &err), -EINVAL);
		if (!strstr(err.msg, bad[i].says) || !strstr(err.msg, bad[i].spec))
			fail_msg("%s: %s", bad[i].spec, err.msg);
		timeline_free(&t);
	}
}

/* By time, ends first, then as given; far more than the lab's pending calls. */
static void resolve__orders(void **state)
{
	struct timeline t = {0};
	char spec[64];
	add(&t, "20us fail host:1 until 30us");
	add(&t, "10us fail host:1 until 20us");
	for (int i = 0; i < 200; i++) {
		snprintf(spec, sizeof spec, "%dus fail host:2 until %dus", 1000 - i, 1001 - i);
		add(&t, spec);
	}
	resolve(&t, "star:4", 1, WEFT_NEVER);
	assert_int_equal(t.step_count, 404);
	const struct timeline_step *s = t.steps;
	assert_true(s[0].fault == 1 && !s[0].end);
	assert_true(s[1].fault == 1 && s[1].end && s[1].at_ns == 20000);
	assert_true(s[2].fault == 0 && !s[2].end);
	for (uint32_t i = 1; i < t.step_count; i++)
		assert_true(s[i - 1].at_ns <= s[i].at_ns);
	assert_true(timeline_next_ns(&t, 0) == 10000 && timeline_next_ns(&t, 404) == WEFT_NEVER);
	timeline_free(&t);
}

/* Routing learns what fails and heals, later; slow and faulty links it keeps. */
static void resolve__reconverges(void **state)
{
	struct timeline t = {0};
	add(&t, "10us fail host:1 until 12us");
	add(&t, "11us degrade host:2 50%");
	add(&t, "11us ber host:2 1e-6");
	resolve(&t, "star:4", 1, WEFT_US(5));
	assert_int_equal(t.step_count, 6);
	assert_true(t.steps[4].learn && !t.steps[4].end && t.steps[4].at_ns == 15000);
	assert_true(t.steps[5].learn && t.steps[5].end && t.steps[5].at_ns == 17000);
	timeline_free(&t);
}

/* Of a rate that both ends have agreed on, too. */
static void resolve__learns_renegotiated_rates(void **state)
{
	struct timeline t = {0};
	add(&t, "10us renegotiate host:1 50% until 20us");
	resolve(&t, "star:4", 1, WEFT_US(3));
	assert_int_equal(t.step_count, 4);
	assert_true(!t.steps[0].learn && t.steps[1].learn && t.steps[1].at_ns == 13000 && !t.steps[1].end);
	assert_true(!t.steps[2].learn && t.steps[3].learn && t.steps[3].at_ns == 23000 && t.steps[3].end);
	timeline_free(&t);
	add(&t, "10us renegotiate host:1 50%");
	resolve(&t, "star:4", 1, WEFT_NEVER);
	assert_int_equal(t.step_count, 1);
	timeline_free(&t);
}

static bool has_cable(const struct timeline_target *t, uint32_t cable)
{
	for (uint32_t i = 0; i < t->cable_count; i++)
		if (t->cables[i] == cable)
			return true;
	return false;
}

static uint32_t common(const struct timeline_target *a, const struct timeline_target *b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->cable_count; i++)
		n += has_cable(b, a->cables[i]);
	return n;
}

static void resolve__draws_cables(void **state)
{
	struct timeline t = {0}, other_seed = {0};
	add(&t, "1us fail random:leaf:10%");
	add(&t, "2us restore random:leaf:10%");
	add(&t, "3us fail random:leaf:20%");
	add(&t, "3us fail random:leaf:10%:1");
	add(&t, "3us fail random:leaf:100%");
	add(&other_seed, "1us fail random:leaf:10%");
	resolve(&t, "leafspine:16:16:2", 7, WEFT_NEVER);
	resolve(&other_seed, "leafspine:16:16:2", 8, WEFT_NEVER);
	const struct timeline_fault *f = t.faults;
	assert_int_equal(f[0].target.cable_count, 26); /* of 256 */
	assert_int_equal(f[2].target.cable_count, 51);
	assert_int_equal(common(&f[0].target, &f[1].target), 26);
	assert_int_equal(common(&f[0].target, &f[2].target), 26);
	assert_true(common(&f[0].target, &f[3].target) < 15);
	assert_true(common(&f[0].target, &other_seed.faults[0].target) < 15);
	for (uint32_t cable = 0; cable < 256; cable++)
		assert_true(has_cable(&f[4].target, cable));
	timeline_free(&t);
	timeline_free(&other_seed);
}

/* ---- as options ---- */

static int parse(struct options *o, const char *option, const char *value, struct weft_err *err)
{
	char *argv[] = {(char *)"sim", (char *)option, (char *)value};
	return options_parse(o, 3, argv, NULL, NULL, err);
}

static void options__fault(void **state)
{
	struct weft_err err = {""};
	struct options o;
	assert_int_equal(parse(&o, "--fault", "1us fail cable:leaf:0:0", &err), 0);
	assert_int_equal(o.lab.faults.step_count, 1);
	assert_true(o.reconverge_ns == WEFT_NEVER);
	options_free(&o);
	assert_int_equal(parse(&o, "--fault", "1us fail cable:leaf:99:0", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "there is no leaf 99"));
	options_free(&o);
	assert_int_equal(parse(&o, "--fault", "1us fail", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "fault"));
	options_free(&o);
}

static void options__reconverge(void **state)
{
	struct weft_err err = {""};
	struct options o;
	assert_int_equal(parse(&o, "--reconverge", "0us", &err), 0);
	assert_true(o.reconverge_ns == 0);
	options_free(&o);
	assert_int_equal(parse(&o, "--reconverge", "never", &err), 0);
	assert_true(o.reconverge_ns == WEFT_NEVER);
	options_free(&o);
	assert_int_equal(parse(&o, "--reconverge", "soon", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "reconverge"));
	options_free(&o);
}

/* Leaves of a stripe of one spine: 2 cables to spine i, one to the other three. */
static void resolve__counts_unlike_cables(void **state)
{
	struct timeline t = {0};
	add(&t, "0us fail random:leaf:100%");
	resolve(&t, "stripe:4:4:2:1:2", 1, WEFT_NEVER);
	assert_int_equal(t.faults[0].target.cable_count, 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_in_range(t.faults[0].target.cables[i] % t.faults[0].target.uplinks, 0, 4);
	timeline_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__reads_every_form),      cmocka_unit_test(add__refuses),
		cmocka_unit_test(resolve__names_what_exists), cmocka_unit_test(resolve__orders),
		cmocka_unit_test(resolve__reconverges),       cmocka_unit_test(resolve__learns_renegotiated_rates),
		cmocka_unit_test(resolve__draws_cables),      cmocka_unit_test(options__fault),
		cmocka_unit_test(options__reconverge),        cmocka_unit_test(resolve__counts_unlike_cables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
