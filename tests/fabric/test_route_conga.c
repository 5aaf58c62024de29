/* SPDX-License-Identifier: BSD-3-Clause */
#include "route_conga.h"

#include <errno.h>
#include <stdio.h>

#include "route_box.h"

#define US     UINT64_C(1000000) /* in ps */
#define GBPS10 UINT64_C(10000000000)

static struct conga_state *state_of(const struct lan *lan, uint32_t sw)
{
	return lan->net->tree.choice.state[sw];
}

static void open_conga(struct lan *lan, const struct weft_topo *topo, const struct conga_tune *tune)
{
	struct weft_net_conf conf = lan_conf();

	conf.route = &route_conga;
	conf.route_tune = tune;
	conf.tune.queue_bytes = 1 << 24;
	lan_open_topo(lan, topo, conf);
}

static struct weft_topo leafspine(uint32_t spines, uint32_t hosts)
{
	char spec[32];
	struct weft_topo t;

	snprintf(spec, sizeof spec, "leafspine:2:%u:%u", spines, hosts);
	assert_int_equal(weft_topo_preset(spec, GBPS10, &t, NULL), 0);
	return t;
}

/* Time goes on without any event. */
static void wait_until(struct lan *lan, weft_ps at)
{
	weft_net_wake(lan->net, 0, at);
	weft_net_run(lan->net, at);
}

/* Sends at `percent` of a host's link for a millisecond, answered by ACKs, and waits for the last. */
static void send_for_a_ms(struct lan *lan, weft_ps *now, uint32_t percent, uint16_t entropy)
{
	weft_ps gap = LAN_MTU * UINT64_C(800) * 100 / percent, end = *now + 1000 * US;

	for (; *now < end; *now += gap) {
		weft_net_run(lan->net, *now);
		lan_send(
			lan, *now,
			(struct lan_send){.src = 0, .dst = lan->net->tree.topo.tier[0].radix_down, .entropy = entropy});
	}
	weft_net_run(lan->net, *now);
}

/* One path: what the other leaf sees, and feeds back, is the share of the link's rate in eighths. */
static void conga__metrics_follow_the_load(void **state)
{
	static const uint32_t percent[] = {30, 55, 80, 100}, least[] = {1, 3, 5, 7};

	for (uint32_t i = 0; i < 4; i++) {
		struct weft_topo t = leafspine(1, 2);
		weft_ps now = 0;
		struct lan lan;
		open_conga(&lan, &t, NULL);
		lan.hosts[2].ack_bytes = 100;
		send_for_a_ms(&lan, &now, percent[i], 1);
		assert_in_range(state_of(&lan, 1)->heard[0].value, least[i], least[i] + 1);
		assert_in_range(state_of(&lan, 0)->to[1].value, least[i], least[i] + 1);
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(state_of(&lan, 0)->headers[0].count, 0); /* every packet gave its own back */
		lan_close(&lan);
	}
}

/* Twenty packets at once, of which one is on its way: a rate of what was sent does not know of the others yet. */
static void conga__what_waits_can_count(void **state)
{
	for (uint8_t waiting = 0; waiting < 2; waiting++) {
		const struct conga_tune tune = {3, 160, 500, 1024, 10000, waiting};
		struct weft_topo t = leafspine(1, 2);
		struct lan lan;
		t.link_count = 1; /* a slow link up: they wait there */
		t.link[0] = (struct weft_topo_link){.sw = 0, .up = 0, .bps = GBPS10 / 10};
		open_conga(&lan, &t, &tune);
		lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 20});
		weft_net_run(lan.net, 80 * US);
		uint64_t bytes = state_of(&lan, 0)->dre[2].bytes; /* behind two ports to hosts */
		assert_in_range(bytes, waiting ? 15 * LAN_MTU : 0, waiting ? 20 * LAN_MTU : 3 * LAN_MTU);
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(lan_data(&lan), 20);
		assert_in_range(state_of(&lan, 1)->heard[0].value, waiting ? 7 : 1, waiting ? 7 : 3);
		lan_close(&lan);
	}
}

static void conga__metrics_fade(void **state)
{
	struct weft_topo t = leafspine(2, 2);
	struct conga_metric *m;
	struct lan lan;

	open_conga(&lan, &t, NULL);
	m = &state_of(&lan, 0)->to[2]; /* leaf 1, uplink 0 */
	*m = (struct conga_metric){1, 7, 0};
	/* Both uplinks are idle here: the other one is better until 7 has become 0, after three times 10 ms. */
	for (uint32_t ms = 5; ms < 30; ms += 10) {
		wait_until(&lan, 1000 * US * ms);
		for (uint16_t e = 0; e < 8; e++)
			assert_int_equal(box_choose_up(&lan, 0, 0, 2, (uint16_t)(100 * ms + e)), 1);
	}
	wait_until(&lan, 1000 * US * 31);
	uint32_t zeros = 0;
	for (uint16_t e = 0; e < 16; e++)
		zeros += box_choose_up(&lan, 0, 0, 2, (uint16_t)(5000 + e)) == 0;
	assert_in_range(zeros, 1, 15);
	lan_close(&lan);
}

/* A flow stays where it is without a gap, however congested; after one it moves only to a better path. */
static void conga__flowlets_move_after_gaps(void **state)
{
	struct weft_topo t = leafspine(4, 2);
	weft_ps now = US;
	struct lan lan;

	open_conga(&lan, &t, NULL);
	wait_until(&lan, now);
	uint32_t up = box_choose_up(&lan, 0, 0, 2, 1);
	struct conga_metric *to = &state_of(&lan, 0)->to[4];
	to[up] = (struct conga_metric){now, 5, 0};
	for (uint32_t i = 0; i < 20; i++) {
		wait_until(&lan, now += 400 * US);
		assert_int_equal(box_choose_up(&lan, 0, 0, 2, 1), up);
	}
	wait_until(&lan, now += 501 * US);
	to[up].at = now;
	uint32_t next = box_choose_up(&lan, 0, 0, 2, 1);
	assert_int_not_equal(next, up);
	for (uint32_t i = 0; i < 20; i++) {
		wait_until(&lan, now += 501 * US);
		assert_int_equal(box_choose_up(&lan, 0, 0, 2, 1), next); /* as good as the others */
	}
	lan_close(&lan);
}

/* The feedback names one uplink after the other, first those whose metric changed. */
static void conga__feedback_takes_turns(void **state)
{
	struct weft_topo t = leafspine(4, 2);
	struct lan lan;

	open_conga(&lan, &t, NULL);
	struct conga_metric *from = &state_of(&lan, 1)->heard[0], *to = &state_of(&lan, 0)->to[4];
	for (uint32_t i = 0; i < 4; i++)
		from[i] = (struct conga_metric){1, (uint8_t)(i + 1), i == 2};
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(to[2].value, 3);
	assert_int_equal(to[0].at | to[1].at | to[3].at, 0);
	assert_int_equal(from[2].changed, 0);
	lan_send(&lan, lan.hosts[0].last_at, (struct lan_send){.src = 2, .dst = 0, .count = 2});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(to[3].value, 4);
	assert_int_equal(to[0].value, 1);
	assert_int_equal(to[1].at, 0);
	lan_close(&lan);
}

/* Four hosts send to the four others for 40 ms, 6.8 Gb/s together. */
static void send_across(struct lan *lan)
{
	weft_ps now = 0;

	for (uint32_t h = 4; h < 8; h++)
		lan->hosts[h].ack_bytes = 100;
	for (uint32_t i = 0; i < 4000; i++, now += 10 * US) {
		weft_net_run(lan->net, now);
		lan_send(lan, now, (struct lan_send){.src = i % 4, .dst = 4 + i % 4, .count = 2});
	}
	weft_net_run(lan->net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(lan), 4000 * 2);
}

/* Behind the second spine the link to leaf 1 has a quarter of the rate. ECMP would send half of the four hosts'
 * flowlets there, 3.4 Gb/s; metrics soon forgotten send it a share near its part of the capacity, a fifth. */
static void conga__avoids_the_slow_path(void **state)
{
	const struct conga_tune tune = {3, 160, 20, 1024, 200, 0};
	struct weft_topo t = leafspine(2, 4);
	struct lan lan;

	t.link_count = 1;
	t.link[0] = (struct weft_topo_link){.sw = 1, .up = 1, .bps = GBPS10 / 4};
	open_conga(&lan, &t, &tune);
	send_across(&lan);
	const struct net_port *up = &lan.net->tree.ports[lan.net->tree.switches[0].first_up];
	uint64_t fast = up[0].sent_bytes, slow = up[1].sent_bytes;
	assert_true(slow > 0 && fast > 2 * slow && fast < 8 * slow);
	lan_close(&lan);
}

/* ---- three tiers: spines decide, too ---- */

static struct weft_topo preset(const char *spec)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset(spec, GBPS10, &t, NULL), 0);
	return t;
}

/* The switch `n` of `tier`. */
static struct conga_state *tier_state(const struct lan *lan, uint32_t tier, uint32_t n)
{
	return state_of(lan, lan->net->tree.tier_first[tier] + n);
}

/* What host 0 sends through one path, with the links at `tier` (of the switch below) slowed down to a quarter. */
static void send_over_slow_link(struct lan *lan, uint8_t tier, uint32_t sw)
{
	struct weft_topo t = preset("tree:2:1:2:1:1");
	weft_ps now = 0;

	t.link_count = 1;
	t.link[0] = (struct weft_topo_link){.tier = tier, .sw = sw, .up = 0, .bps = GBPS10 / 4};
	open_conga(lan, &t, NULL);
	lan->hosts[2].ack_bytes = 100;
	send_for_a_ms(lan, &now, 20, 1); /* two gigabits per second: 1 of 8 at 10, 6 at 2.5 */
	weft_net_run(lan->net, WEFT_NEVER - 1);
	for (uint32_t level = 0; level < CONGA_LEVELS; level++)
		assert_int_equal(state_of(lan, 0)->headers[level].count, 0);
}

/* Leaves hear of the most congested link of the whole path, spines of that between them alone. */
static void conga__every_level_has_a_metric(void **state)
{
	static const struct {
		uint8_t tier, sw;
		bool between_spines;
	} slow[] = {{0, 0, false}, {1, 0, true}, {1, 1, true}, {0, 1, false}};

	for (uint32_t i = 0; i < 4; i++) {
		struct lan lan;
		send_over_slow_link(&lan, slow[i].tier, slow[i].sw);
		assert_in_range(tier_state(&lan, 0, 1)->heard[0].value, 5, 7);
		assert_in_range(tier_state(&lan, 0, 0)->to[1].value, 5, 7);
		uint8_t heard = tier_state(&lan, 1, 1)->heard[0].value, to = tier_state(&lan, 1, 0)->to[1].value;
		assert_in_range(heard, slow[i].between_spines ? 5 : 1, slow[i].between_spines ? 7 : 2);
		assert_in_range(to, slow[i].between_spines ? 5 : 1, slow[i].between_spines ? 7 : 2);
		lan_close(&lan);
	}
}

/* Nothing of this is known to the spine of a packet that stays in its pod. */
static void conga__spines_know_nothing_of_their_pod(void **state)
{
	struct weft_topo t = preset("tree:2:2:2:1:1");
	struct lan lan;

	open_conga(&lan, &t, NULL);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 50});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(&lan), 50);
	assert_true(tier_state(&lan, 0, 1)->heard[0].at > 0);
	for (uint32_t pod = 0; pod < 2; pod++)
		assert_int_equal(tier_state(&lan, 1, 0)->heard[pod].at, 0);
	lan_close(&lan);
}

/* Flowlets at a spine, and metrics by pod: what is congested on the way to one pod is not to another. */
static void conga__spines_choose_by_flowlet_and_pod(void **state)
{
	struct weft_topo t = preset("tree:3:1:2:1:4");
	weft_ps now = US;
	struct lan lan;

	open_conga(&lan, &t, NULL);
	uint32_t spine = lan.net->tree.tier_first[1], others = 0;
	wait_until(&lan, now);
	uint32_t up = box_choose_up(&lan, spine, 0, 2, 1);
	state_of(&lan, spine)->to[1 * 4 + up] = (struct conga_metric){now, 5, 0};
	wait_until(&lan, now += 400 * US);
	assert_int_equal(box_choose_up(&lan, spine, 0, 2, 1), up);
	wait_until(&lan, now + 501 * US);
	assert_int_not_equal(box_choose_up(&lan, spine, 0, 2, 1), up);
	for (uint16_t e = 100; e < 130; e++) {
		assert_int_not_equal(box_choose_up(&lan, spine, 0, 2, e), up);
		others += box_choose_up(&lan, spine, 0, 4, e) == up;
	}
	assert_in_range(others, 1, 29);
	lan_close(&lan);
}

/* Over a mesh feedback names one of a pod's spines, and another one that it comes past leaves it alone. What is worst
 * among the spines of a pod counts. */
static void conga__mesh_feedback_finds_its_spine(void **state)
{
	struct weft_topo t = preset("vl2:4:4:3:4");
	struct lan lan;

	open_conga(&lan, &t, NULL);
	for (uint32_t spine = 2; spine < 4; spine++) /* of hosts 8 to 15, about the spines of hosts 0 to 7 */
		for (uint32_t i = 0; i < 2 * 3; i++)
			tier_state(&lan, 1, spine)->heard[i] = (struct conga_metric){1, (uint8_t)(1 + i), 0};
	for (uint16_t e = 0; e < 400; e++)
		lan_send(&lan, 0, (struct lan_send){.src = 8 + e % 8, .dst = e % 8, .wire_bytes = 200, .entropy = e});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	for (uint32_t i = 0; i < 2 * 3; i++) {
		const struct conga_metric *to = tier_state(&lan, 1, i / 3)->to;
		assert_int_equal(to[2 * 3 + i % 3].value, 1 + i); /* from spine 2 */
		assert_int_equal(to[3 * 3 + i % 3].value, 1 + i);
	}
	uint32_t spine = lan.net->tree.tier_first[1];
	for (uint32_t i = 0; i < 3; i++)
		state_of(&lan, spine)->to[(2 + i % 2) * 3 + i].value = i == 1 ? 0 : 6;
	state_of(&lan, spine)->to[2 * 3 + 1].value = 0;
	for (uint16_t e = 1000; e < 1010; e++)
		assert_int_equal(box_choose_up(&lan, spine, 0, 8, e), 1);
	lan_close(&lan);
}

/* The link of the far spine to the second core has a quarter of the rate, which only the near spine's choice can spare.
 */
static void conga__spines_avoid_the_slow_core(void **state)
{
	const struct conga_tune tune = {3, 160, 20, 1024, 200, 0};
	struct weft_topo t = preset("tree:2:1:4:1:2");
	struct lan lan;

	t.link_count = 1;
	t.link[0] = (struct weft_topo_link){.tier = 1, .sw = 1, .up = 1, .bps = GBPS10 / 4};
	open_conga(&lan, &t, &tune);
	send_across(&lan);
	const struct net_port *up = &lan.net->tree.ports[lan.net->tree.switches[lan.net->tree.tier_first[1]].first_up];
	uint64_t fast = up[0].sent_bytes, slow = up[1].sent_bytes;
	assert_true(slow > 0 && fast > 2 * slow && fast < 8 * slow);
	lan_close(&lan);
}

static void check_refused(const char *topology, const char *message)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};

	conf.route = &route_conga;
	assert_int_equal(lan_refused(topology, GBPS10, conf, &err), -EINVAL);
	assert_string_equal(err.msg, message);
}

static void conga__refuses(void **state)
{
	check_refused("star:4", "fabric: conga chooses in trees of 2 tiers or more, this one has 1");
	check_refused("leafspine:2:257:1", "fabric: conga has tags for 256 uplinks of a leaf, not for 257");
	check_refused("tree:2:1:1:1:257", "fabric: conga has tags for 256 uplinks of a spine, not for 257");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(conga__metrics_follow_the_load),
		cmocka_unit_test(conga__metrics_fade),
		cmocka_unit_test(conga__what_waits_can_count),
		cmocka_unit_test(conga__flowlets_move_after_gaps),
		cmocka_unit_test(conga__feedback_takes_turns),
		cmocka_unit_test(conga__avoids_the_slow_path),
		cmocka_unit_test(conga__every_level_has_a_metric),
		cmocka_unit_test(conga__spines_know_nothing_of_their_pod),
		cmocka_unit_test(conga__spines_choose_by_flowlet_and_pod),
		cmocka_unit_test(conga__mesh_feedback_finds_its_spine),
		cmocka_unit_test(conga__spines_avoid_the_slow_core),
		cmocka_unit_test(conga__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
