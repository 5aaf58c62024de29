/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable dies in the middle of a permutation and routing never learns of it. The trace of its two links tells when the
 * connections stop using it: within 100 us (REPS, abstract), counted from when a first timeout can be known. */
#include "sim_scenario.h"

enum { CUT_US = 600, KNOWN_US = 100, RTO_BRTTS = 7 };

struct tree {
	const char *topology, *matrix;
	uint32_t tier, sw, up; /* the cable that dies */
};

static const struct tree two_tiers[] = {
	{LS16, MATRIX("perm_16n_16M"), 0, 0, 0},
	{LS16, MATRIX("perm_16n_16M"), 0, 3, 2},
};
static const struct tree three_tiers[] = {
	{"fattree:8", "permutation:128:4MiB", 0, 2, 1},
	{"fattree:8", "permutation:128:4MiB", 1, 1, 0},
};

/* What the trace of the dead cable shows: packets into it, both ways, data and ACKs. */
struct trace {
	struct weft_link_id link[2];
	weft_ps cut, known;
	uint64_t before; /* `known` */
	uint64_t after;
};

static void note(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct trace *t = arg;
	if (now <= t->cut)
		return;
	t->before += now <= t->known;
	t->after += now > t->known;
}

static void cut(struct lab *lab, void *arg)
{
	const struct trace *t = arg;
	weft_net_link_set_up(lab_net(lab), t->link[0], false);
	weft_net_link_set_up(lab_net(lab), t->link[1], false);
}

/* At most `late` packets enter the cable after the time; all flows end. */
static void leaves_the_path(const struct tree *tree, const char *const options[], uint64_t late)
{
	struct scenario s;
	struct trace t = {.cut = WEFT_US(CUT_US) * 1000};
	SCENARIO(&s, "--topology", tree->topology, "--matrix", tree->matrix, "--end", "20ms", "--lb", options[0],
		 "--route", options[1], "--set", options[2], "--set", options[3]);
	struct weft_net *net = lab_net(s.lab);
	t.known = t.cut + (RTO_BRTTS * weft_net_brtt_ns(net) + WEFT_US(KNOWN_US)) * 1000;
	weft_net_tap(net, note, &t);
	for (int down = 0; down < 2; down++) {
		assert_int_equal(weft_net_link_find(net, tree->tier, tree->sw, tree->up, down, &t.link[down]), 0);
		weft_net_tap_port(net, t.link[down].index);
	}
	assert_int_equal(lab_at(s.lab, WEFT_US(CUT_US), cut, &t), 0);
	scenario_run(&s);
	scenario_all_verified(&s);
	assert_true(t.before > 0);
	if (t.after > late)
		fail_msg("%s, %s, %s, %s: %llu packets too late", options[0], options[1], options[2], options[3],
			 (unsigned long long)t.after);
	scenario_end(&s);
}

static void every_choice(const struct tree *tree, const char *ack, const char *all_acked, uint64_t late)
{
	leaves_the_path(tree, (const char *const[]){"reps", "ecmp", ack, all_acked}, late);
	leaves_the_path(tree, (const char *const[]){"reps", "digits", ack, all_acked}, late);
	leaves_the_path(tree, (const char *const[]){"reps2", "ecmp", ack, all_acked}, late);
	leaves_the_path(tree, (const char *const[]){"prime", "ecmp", ack, all_acked}, late);
	leaves_the_path(tree, (const char *const[]){"prime", "digits", ack, all_acked}, late);
	leaves_the_path(tree, (const char *const[]){"prime2", "digits", ack, all_acked}, late);
}

static void dead_path__ack_per_packet(void **state)
{
	every_choice(&two_tiers[0], "ack_every=1", "lb_all_acked=off", 0);
	every_choice(&two_tiers[1], "ack_every=1", "lb_all_acked=off", 0);
}

static void dead_path__four_packets_an_ack(void **state)
{
	every_choice(&two_tiers[0], "ack_every=4", "lb_all_acked=off", 0);
	every_choice(&two_tiers[1], "ack_every=4", "lb_all_acked=on", 0);
}

/* Eight entropies that came back are 128 packets of the past, five windows: two of them may be older than the failure.
 */
static void dead_path__sixteen_packets_an_ack(void **state)
{
	every_choice(&two_tiers[0], "ack_every=16", "lb_all_acked=on", 2);
	every_choice(&two_tiers[1], "ack_every=16", "lb_all_acked=off", 2);
}

static void dead_path__three_tiers(void **state)
{
	every_choice(&three_tiers[0], "ack_every=4", "lb_all_acked=off", 0);
	every_choice(&three_tiers[1], "ack_every=4", "lb_all_acked=on", 0);
	every_choice(&three_tiers[1], "ack_every=1", "lb_all_acked=off", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dead_path__ack_per_packet),
		cmocka_unit_test(dead_path__four_packets_an_ack),
		cmocka_unit_test(dead_path__sixteen_packets_an_ack),
		cmocka_unit_test(dead_path__three_tiers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
