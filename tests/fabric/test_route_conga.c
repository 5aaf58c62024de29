/* SPDX-License-Identifier: BSD-3-Clause */
#include "route_conga.h"

#include <errno.h>
#include <stdio.h>

#include "route_box.h"

#define US     UINT64_C(1000000) /* in ps */
#define GBPS10 UINT64_C(10000000000)

static struct conga_state *state_of(const struct lan *lan, uint32_t sw)
{
	return lan->net->choice.state[sw];
}

static void open_conga(struct lan *lan, const struct weft_topo *topo, const struct conga_tune *tune)
{
	struct weft_net_conf conf = lan_conf();

	conf.route = &route_conga;
	conf.route_tune = tune;
	conf.queue_bytes = 1 << 24;
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
		lan_send(lan, *now,
			 (struct lan_send){.src = 0, .dst = lan->net->topo.tier[0].radix_down, .entropy = entropy});
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
		assert_in_range(state_of(&lan, 1)->from_leaf[0].value, least[i], least[i] + 1);
		assert_in_range(state_of(&lan, 0)->to_leaf[1].value, least[i], least[i] + 1);
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(state_of(&lan, 0)->headers.count, 0); /* every packet gave its own back */
		lan_close(&lan);
	}
}

static void conga__metrics_fade(void **state)
{
	struct weft_topo t = leafspine(2, 2);
	struct conga_metric *m;
	struct lan lan;

	open_conga(&lan, &t, NULL);
	m = &state_of(&lan, 0)->to_leaf[2]; /* leaf 1, uplink 0 */
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
	struct conga_metric *to = &state_of(&lan, 0)->to_leaf[4];
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
	struct conga_metric *from = &state_of(&lan, 1)->from_leaf[0], *to = &state_of(&lan, 0)->to_leaf[4];
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

/* Behind the second spine the link to leaf 1 has a quarter of the rate. ECMP would send half of the four hosts'
 * flowlets there, 3.4 Gb/s; metrics soon forgotten send it a share near its part of the capacity, a fifth. */
static void conga__avoids_the_slow_path(void **state)
{
	const struct conga_tune tune = {3, 160, 20, 1024, 200};
	struct weft_topo t = leafspine(2, 4);
	weft_ps now = 0;
	struct lan lan;

	t.link_count = 1;
	t.link[0] = (struct weft_topo_link){.sw = 1, .up = 1, .bps = GBPS10 / 4};
	open_conga(&lan, &t, &tune);
	for (uint32_t h = 4; h < 8; h++)
		lan.hosts[h].ack_bytes = 100;
	for (uint32_t i = 0; i < 4000; i++, now += 10 * US) {
		weft_net_run(lan.net, now);
		lan_send(&lan, now, (struct lan_send){.src = i % 4, .dst = 4 + i % 4, .count = 2});
	}
	weft_net_run(lan.net, WEFT_NEVER - 1);
	const struct net_port *up = &lan.net->ports[lan.net->switches[0].first_up];
	uint64_t fast = up[0].sent_bytes, slow = up[1].sent_bytes;
	assert_int_equal(lan_data(&lan), 4000 * 2);
	assert_true(slow > 0 && fast > 2 * slow && fast < 8 * slow);
	lan_close(&lan);
}

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
}

static void check_refused(const char *topology, const char *message)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};
	struct weft_topo topo;
	struct weft_net *net;

	conf.route = &route_conga;
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_topo_preset(topology, GBPS10, &topo, &err), 0);
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_string_equal(err.msg, message);
}

static void conga__refuses(void **state)
{
	check_refused("fattree:4", "fabric: conga chooses in trees of 2 tiers alone, this one has 3");
	check_refused("star:4", "fabric: conga chooses in trees of 2 tiers alone, this one has 1");
	check_refused("leafspine:2:257:1", "fabric: conga has tags for 256 uplinks of a leaf, not for 257");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(conga__metrics_follow_the_load),  cmocka_unit_test(conga__metrics_fade),
		cmocka_unit_test(conga__flowlets_move_after_gaps), cmocka_unit_test(conga__feedback_takes_turns),
		cmocka_unit_test(conga__avoids_the_slow_path),     cmocka_unit_test(conga__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
