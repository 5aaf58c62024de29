/* SPDX-License-Identifier: BSD-3-Clause */
/* Every congestion control with every load balancer and every choice of switches: all bytes arrive, with an ACK per
 * packet and with coalesced ones, or there is a reason why not to try. */
#include <stdio.h>

#include <string.h>

#include "sim_scenario.h"

static bool is_listed(const char *msg)
{
	for (const struct option_refusal *r = options_refusals(); r->applies; r++)
		if (strstr(msg, r->why))
			return true;
	return false;
}

/* False: refused, with one of the reasons that are listed. */
static bool cross_on(const char *topology, const char *cc, const char *lb, const char *ack, const char *route)
{
	struct scenario s;
	const char *args[] = {"sim",     "--topology", topology,   "--lb",           lb,
			      "--route", route,        "--matrix", "alltoall:4:1KiB"};
	struct options o;
	struct weft_err why;
	int rc = options_parse(&o, sizeof args / sizeof *args, (char **)(uintptr_t)args, NULL, NULL, &why);
	options_free(&o);
	if (rc) {
		assert_true(is_listed(why.msg));
		return false;
	}
	SCENARIO(&s, "--topology", topology, "--matrix", "alltoall:4:12KiB", "--cc", cc, "--lb", lb, "--set", ack,
		 "--set", "lb_all_acked=on", "--set", "queue_bytes=16000", "--route", route, "--end", "1s");
	scenario_run(&s);
	if (s.rc || s.summary.verified != s.result.flow_count)
		fail_msg("%s with %s, %s, switches %s, %s: %s", cc, lb, ack, route, topology, s.err.msg);
	scenario_end(&s);
	return true;
}

static bool cross(const char *cc, const char *lb, const char *ack, const char *route)
{
	return cross_on("leafspine:2:2:2", cc, lb, ack, route);
}

static void with_every_lb(const char *cc)
{
	for (uint32_t i = 0; weft_lb_table[i]; i++) {
		cross(cc, weft_lb_table[i]->name, "ack_every=1", "ecmp");
		cross(cc, weft_lb_table[i]->name, "ack_every=4", "ecmp");
	}
}

static void with_every_route(const char *cc)
{
	for (uint32_t r = 0; weft_route_table[r]; r++) {
		uint32_t meant = 0;
		for (uint32_t i = 0; weft_lb_table[i]; i++)
			meant += cross(cc, weft_lb_table[i]->name, "ack_every=4", weft_route_table[r]->name);
		assert_true(meant >= 2); /* one path per flow goes with everything */
	}
}

static void cross__every_choice_of_switches_with_every_lb(void **state)
{
	for (uint32_t i = 0; weft_cc_table[i]; i++)
		with_every_route(weft_cc_table[i]->name);
	for (uint32_t i = 0; weft_rcc_table[i]; i++)
		with_every_route(weft_rcc_table[i]->name);
}

/* Four leaves of one host, in two pods with two spines each below two cores each. */
static void cross__every_choice_of_switches_in_three_tiers(void **state)
{
	for (uint32_t r = 0; weft_route_table[r]; r++) {
		uint32_t meant = 0;
		for (uint32_t i = 0; weft_lb_table[i]; i++) {
			const char *lb = weft_lb_table[i]->name, *route = weft_route_table[r]->name;
			meant += cross_on("tree:2:2:1:2:2", "smartt", lb, "ack_every=4", route);
			cross_on("tree:2:2:1:2:2", "newreno", lb, "ack_every=1", route);
		}
		assert_true(meant >= 2);
	}
}

static void cross__every_sender_with_every_lb(void **state)
{
	for (uint32_t i = 0; weft_cc_table[i]; i++)
		with_every_lb(weft_cc_table[i]->name);
}

/* Alone and beside every sender's algorithm. */
static void cross__every_receiver_with_every_lb(void **state)
{
	for (uint32_t r = 0; weft_rcc_table[r]; r++) {
		with_every_lb(weft_rcc_table[r]->name);
		for (uint32_t i = 0; weft_cc_table[i]; i++) {
			char both[64];
			snprintf(both, sizeof both, "%s+%s", weft_rcc_table[r]->name, weft_cc_table[i]->name);
			with_every_lb(both);
		}
	}
}

static double degraded(const char *all_acked)
{
	static const char topology[] = FT128, matrix[] = MATRIX("perm_128n_2M");
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--lb", "reps", "--set", "ack_every=16",
			"--set", all_acked, "--fault", "0us degrade cable:leaf:0:1 25%", "--end", "5ms");
	double inflation = s.summary.inflation;
	scenario_end(&s);
	return inflation;
}

/* REPS sec. 4.5.2: an ACK that speaks for all its packets makes up for the ACKs that are missing. */
static void lb_all_acked__helps_reps_with_coalesced_acks(void **state)
{
	double one = degraded("lb_all_acked=off"), all = degraded("lb_all_acked=on");
	assert_at_most(all, 0.97 * one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cross__every_sender_with_every_lb),
		cmocka_unit_test(cross__every_receiver_with_every_lb),
		cmocka_unit_test(cross__every_choice_of_switches_with_every_lb),
		cmocka_unit_test(cross__every_choice_of_switches_in_three_tiers),
		cmocka_unit_test(lb_all_acked__helps_reps_with_coalesced_acks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
