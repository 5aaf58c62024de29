/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "lan.h"
#include "net_impl.h"

#define BPS      UINT64_C(100000000000)
#define SPAN_PS  UINT64_C(1000000000) /* of the runs, 1 ms: 2,800 credits of a host */
#define CYCLE_PS UINT64_C(356320)     /* of 4,260 bytes of data, 84 of a credit and 110 of an acknowledgement */
#define DATA_PS  UINT64_C(340800)     /* of the data alone */

enum { LIMIT = 8, ACK_BYTES = 110 };

static struct weft_net_conf credit_conf(const char *route)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err;

	conf.tune.credit_queue = LIMIT;
	assert_int_equal(weft_route_find(route, &conf.route, &err), 0);
	return conf;
}

/* A credit calls for a full packet, on its path. */
static void answer_credits(struct lan_host *host, const struct weft_pkt *pkt, weft_ps now)
{
	if (pkt->flags & WEFT_PKT_CREDIT)
		lan_send(host->lan, now,
			 (struct lan_send){
				 .src = host->id, .dst = pkt->src - weft_net_host_ip(0), .entropy = pkt->entropy});
}

/* Credits from `first`..`end`-1 to hosts `ahead` of them, every `gap`, until SPAN_PS; then all that is under way. */
static void run_credits(struct lan *lan, uint32_t first, uint32_t end, weft_ps gap, uint32_t ahead)
{
	uint32_t hosts = weft_net_hosts(lan->net), n = 0;

	for (weft_ps now = 0; now < SPAN_PS; now += gap, n++) {
		weft_net_run(lan->net, now);
		for (uint32_t h = first; h < end; h++)
			lan_send(lan, now,
				 (struct lan_send){.src = h,
						   .dst = (h + ahead + (ahead ? 0 : 1 + n % (hosts - 1))) % hosts,
						   .entropy = (uint16_t)(n * 7919 + h),
						   .credit = true});
	}
	weft_net_run(lan->net, WEFT_NEVER - 1);
}

static void check_conserved(const struct lan *lan)
{
	struct weft_credit_counts all = {0};

	for (uint32_t port = 0; port < weft_net_port_count(lan->net); port++) {
		struct weft_port_counts c;
		weft_net_port_counts(lan->net, port, &c);
		assert_int_equal(c.credits.injected, c.credits.sent + c.credits.dropped);
		all.injected += c.credits.injected;
		all.sent += c.credits.sent;
		all.dropped += c.credits.dropped;
		all.marked += c.credits.marked;
	}
	struct weft_net_stats s = lan_stats(lan);
	assert_memory_equal(&all, &s.credits, sizeof all);
}

static struct weft_credit_counts port_credits(const struct lan *lan, uint32_t port)
{
	struct weft_port_counts c;

	weft_net_port_counts(lan->net, port, &c);
	return c.credits;
}

/* The same at twice the rate their share allows, each credit answered with data and that with an acknowledgement: no
 * packet is lost but credits. */
static struct weft_net_stats run_scheduled(struct lan *lan, uint32_t first, uint32_t end, uint32_t ahead)
{
	lan->on_deliver = answer_credits;
	for (uint32_t h = first; h < end; h++) {
		lan->hosts[h].ack_bytes = ACK_BYTES;
		lan->hosts[h].ack_from = 1;
	}
	run_credits(lan, first, end, CYCLE_PS / 2, ahead);
	struct weft_net_stats s = lan_stats(lan);
	assert_int_equal(s.dropped_data + s.dropped_control + s.dropped_route + s.trimmed, 0);
	check_conserved(lan);
	return s;
}

/* A host makes three times as many credits as its link may carry: one per cycle leaves, to the last. */
static void credit__an_overloaded_queue_passes_its_share(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	run_credits(&lan, 0, 1, CYCLE_PS / 3, 1);
	uint64_t share = SPAN_PS / CYCLE_PS;
	struct weft_credit_counts nic = port_credits(&lan, 0);
	assert_in_range(nic.sent, share + LIMIT, share + LIMIT + 1);
	assert_int_equal(lan.hosts[1].credits, nic.sent);
	assert_int_equal(nic.injected - nic.sent, lan.freed);
	check_conserved(&lan);
	lan_close(&lan);
}

/* The same while data keeps the link busy: the credit that finds it so is late, the next is not. */
static void credit__the_share_holds_behind_data(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	lan_queue(&lan, (struct lan_send){.src = 0, .dst = 1, .count = 2900});
	run_credits(&lan, 0, 1, CYCLE_PS / 3, 1);
	uint64_t share = SPAN_PS / CYCLE_PS;
	assert_in_range(lan.hosts[1].credits, share + LIMIT, share + LIMIT + 2);
	assert_int_equal(lan.hosts[1].data, 2900);
	lan_close(&lan);
}

/* Credits of two hosts meet at a third one's port: half of them are lost there, and half of the others marked. */
static void credit__marks_follow_the_losses(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:3", BPS, credit_conf("ecmp"));
	for (weft_ps now = 0; now < 4 * SPAN_PS; now += CYCLE_PS) {
		weft_net_run(lan.net, now);
		lan_send(&lan, now, (struct lan_send){.src = 0, .dst = 2, .credit = true});
		lan_send(&lan, now + 1, (struct lan_send){.src = 1, .dst = 2, .credit = true});
	}
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_credit_counts down = port_credits(&lan, 3 + 2);
	assert_in_range(down.dropped * 1000 / down.injected, 495, 505);
	assert_in_range(down.marked * 1000 / down.sent, 485, 515);
	assert_int_equal(lan.hosts[2].marked, down.marked);
	assert_int_equal(lan_stats(&lan).marked, 0);
	check_conserved(&lan);
	lan_close(&lan);
}

/* At 4/3 of the share a quarter is lost, and with N_cdt = 16 as well as 4 a quarter marked. */
static void credit__marks_follow_with_any_refresh(void **state)
{
	for (uint16_t refresh = 4; refresh <= 64; refresh *= 4) {
		struct weft_net_conf conf = credit_conf("ecmp");
		struct lan lan;

		conf.tune.credit_refresh = refresh;
		lan_open(&lan, "star:2", BPS, conf);
		run_credits(&lan, 0, 1, CYCLE_PS * 3 / 4, 1);
		struct weft_credit_counts nic = port_credits(&lan, 0);
		assert_in_range(nic.dropped * 1000 / nic.injected, 240, 260);
		assert_in_range(nic.marked * 1000 / nic.sent, 220, 280);
		lan_close(&lan);
	}
}

/* Without losses nothing is marked, and credits that are not ECN-capable never are. */
static void credit__marks_only_what_may_be(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	run_credits(&lan, 0, 1, CYCLE_PS + 1, 1);
	assert_int_equal(lan_stats(&lan).credits.dropped, 0);
	assert_int_equal(lan_stats(&lan).credits.marked, 0);
	lan_close(&lan);
	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .credit = true, .no_ect = true, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[1].credits, LIMIT);
	assert_int_equal(lan.hosts[1].marked, 0);
	lan_close(&lan);
}

/* One receiver, 15 senders, credits at twice the rate: it is the receiver's own NIC that shapes them. What waits for
 * the receiver's link is what comes early, from near senders, beside what comes late: their round trips differ by four
 * hops of 1 us, and a full packet and a credit on two links. */
static void credit__many_to_one(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:4:4:4", BPS, credit_conf("symmetric"));
	struct weft_net_stats s = run_scheduled(&lan, 3, 4, 0);
	assert_int_equal(lan.hosts[3].data, port_credits(&lan, 3).sent);
	assert_int_equal(s.credits.dropped, port_credits(&lan, 3).dropped);
	uint64_t spread_ps = 4 * 1000000 + 2 * (DATA_PS + 6720);
	assert_in_range(s.max_queue_bytes, LAN_MTU, (spread_ps / CYCLE_PS + 2) * LAN_MTU);
	lan_close(&lan);
}

/* Two hosts send each other all that their link can carry, with acknowledgements: both directions carry data, credits
 * and acknowledgements, and nothing waits but behind one packet. */
static void credit__two_crossing_directions(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("symmetric"));
	struct weft_net_stats s = run_scheduled(&lan, 0, 2, 1);
	assert_in_range(lan.hosts[0].data, SPAN_PS / CYCLE_PS, SPAN_PS / CYCLE_PS + LIMIT + 1);
	assert_in_range(lan.hosts[1].data, SPAN_PS / CYCLE_PS, SPAN_PS / CYCLE_PS + LIMIT + 1);
	assert_in_range(s.max_queue_bytes, 0, 3 * LAN_MTU);
	lan_close(&lan);
}

/* All hosts send to all others in turn, at twice the rate, over spines that have half the leaves' rate: credits meet in
 * every queue. A credit waits at most LIMIT cycles at each of the queues behind the one that shaped it, three of its
 * four at most; that and the paths' difference is by how much data can come together. */
static void credit__all_to_all_oversubscribed(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:4:2:4", BPS, credit_conf("symmetric"));
	struct weft_net_stats s = run_scheduled(&lan, 0, 16, 0);
	assert_true(s.credits.dropped > s.credits.injected / 10);
	uint64_t spread_ps = 3 * LIMIT * CYCLE_PS + 4 * 1000000 + 2 * (DATA_PS + 6720);
	assert_in_range(s.max_queue_bytes, LAN_MTU, (spread_ps / CYCLE_PS + 2) * LAN_MTU);
	lan_close(&lan);
}

/* A cable that is slower in one direction limits the credits in both. */
static void credit__follows_the_slower_direction(void **state)
{
	for (uint32_t down = 0; down < 2; down++) {
		struct weft_link_id id;
		struct lan lan;

		lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
		assert_int_equal(weft_net_host_link(lan.net, 0, down, &id), 0);
		weft_net_link_set_bps(lan.net, id, BPS / 10);
		run_credits(&lan, 0, 1, CYCLE_PS, 1);
		uint64_t share = SPAN_PS / (10 * CYCLE_PS);
		assert_in_range(lan.hosts[1].credits, share + LIMIT, share + LIMIT + 2);
		weft_net_link_set_bps(lan.net, id, BPS);
		assert_int_equal(lan.net->credits[0].q.interval, CYCLE_PS << CREDIT_QUEUE_SHIFT);
		lan_close(&lan);
	}
}

/* A spine at a hundredth of its rate: its BDP is two packets, but what waited for credits on other links may come
 * together. */
static void credit__slow_links_have_room(void **state)
{
	struct weft_net_conf conf = credit_conf("symmetric");
	struct weft_link_id id;
	struct lan lan;

	lan_open(&lan, "leafspine:4:2:4", BPS, conf);
	for (uint32_t n = 0; weft_net_switch_link(lan.net, 1, 0, n, &id) == 0; n++)
		weft_net_link_set_bps(lan.net, id, BPS / 100);
	assert_int_equal(lan.net->tree.ports[id.index].limit_bytes, 4 * LIMIT * LAN_MTU);
	run_scheduled(&lan, 0, 16, 0);
	lan_close(&lan);
	conf.tune.queue_bytes = 2 * LAN_MTU;
	lan_open(&lan, "leafspine:4:2:4", BPS, conf);
	assert_int_equal(lan.net->tree.ports[id.index].limit_bytes, 2 * LAN_MTU);
	lan_close(&lan);
}

static void credit__share_by_configuration(void **state)
{
	struct weft_net_conf conf = credit_conf("ecmp");
	struct lan lan;

	conf.tune.credit_data_bytes = 1538;
	conf.tune.credit_ack_bytes = 78;
	lan_open(&lan, "star:2", BPS, conf);
	assert_int_equal(lan.net->credits[0].q.interval, UINT64_C(136000) << CREDIT_QUEUE_SHIFT);
	assert_int_equal(lan.net->credits[0].q.refresh, 4);
	lan_close(&lan);
}

/* Full data queues take nothing from credits, full credit queues nothing from data and control. */
static void credit__isolated(void **state)
{
	struct weft_net_conf conf = credit_conf("ecmp");
	struct lan lan;

	conf.tune.queue_bytes = 4 * LAN_MTU;
	lan_open(&lan, "star:3", BPS, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 40});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 40});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = LIMIT, .credit = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_true(lan_stats(&lan).dropped_data > 20);
	assert_int_equal(lan.hosts[2].credits, LIMIT);
	lan_send(&lan, lan.net->evq.now, (struct lan_send){.src = 0, .dst = 2, .count = 100, .credit = true});
	lan_send(&lan, lan.net->evq.now, (struct lan_send){.src = 0, .dst = 2, .count = 3});
	lan_send(&lan, lan.net->evq.now,
		 (struct lan_send){.src = 0, .dst = 2, .count = 3, .control = true, .wire_bytes = 110});
	uint64_t data = lan.hosts[2].data, dropped = lan_stats(&lan).dropped_data;
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, data + 3);
	assert_int_equal(lan.hosts[2].control, 2 * LIMIT + 3);
	assert_int_equal(lan_stats(&lan).dropped_data, dropped);
	assert_int_equal(lan_stats(&lan).dropped_control, 0);
	lan_close(&lan);
}

static void credit__lost_with_the_link(void **state)
{
	struct weft_link_id id;
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = LIMIT, .credit = true});
	weft_net_run(lan.net, 3 * CYCLE_PS);
	assert_int_equal(weft_net_host_link(lan.net, 0, false, &id), 0);
	weft_net_link_set_up(lan.net, id, false);
	struct weft_credit_counts nic = port_credits(&lan, 0);
	assert_int_equal(nic.waiting, 0);
	assert_int_equal(nic.injected, LIMIT);
	assert_int_equal(nic.dropped, 0);
	assert_int_equal(lan_stats(&lan).dropped_down, LIMIT - nic.sent);
	weft_net_link_set_up(lan.net, id, true);
	lan_send(&lan, 5 * CYCLE_PS, (struct lan_send){.src = 0, .dst = 1, .credit = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[1].credits, nic.sent + 1);
	lan_close(&lan);
}

/* Without queues for them credits are control, and none is lost. */
static void credit__off(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", BPS, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 100, .credit = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[1].credits, 100);
	assert_int_equal(lan_stats(&lan).credits.injected, 0);
	lan_close(&lan);
}

struct seen {
	uint32_t sent, dropped, delivered;
};

static void look(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct seen *seen = arg;

	assert_true(pkt->flags & WEFT_PKT_CREDIT);
	seen->sent += event == WEFT_TAP_SENT;
	seen->dropped += event == WEFT_TAP_DROPPED;
	seen->delivered += event == WEFT_TAP_DELIVERED;
}

static void credit__shown_to_a_tap(void **state)
{
	struct seen seen = {0};
	struct lan lan;

	lan_open(&lan, "star:2", BPS, credit_conf("ecmp"));
	weft_net_tap(lan.net, look, &seen);
	weft_net_tap_port(lan.net, 0);
	weft_net_tap_port(lan.net, 1);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = LIMIT + 5, .credit = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(seen.sent, LIMIT);
	assert_int_equal(seen.dropped, 5);
	assert_int_equal(seen.delivered, LIMIT);
	lan_close(&lan);
}

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
	fail_msg("nothing was sent");
}

static void credit__not_with_pfc(void **state)
{
	struct weft_net_conf conf = credit_conf("ecmp");
	struct weft_topo topo;
	struct weft_net *net;
	struct weft_err err = {""};

	conf.tune.pfc = true;
	conf.tune.pfc_xoff_pct = 100;
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_topo_preset("star:2", BPS, &topo, &err), 0);
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "credit queues with PFC"));
}

/* What comes without credit may fill four packets of a queue, the one in service among them, that has room for a
 * hundred. */
static void queue_enqueue__unscheduled_has_four_packets(void **state)
{
	for (int unscheduled = 0; unscheduled < 2; unscheduled++) {
		struct lan lan;
		struct weft_net_conf conf = lan_conf();
		conf.tune.queue_bytes = 100 * LAN_MTU;
		lan_open(&lan, "star:3", BPS, conf);
		for (uint32_t src = 0; src < 2; src++)
			lan_send(&lan, 0,
				 (struct lan_send){.src = src, .dst = 2, .count = 50, .unscheduled = unscheduled});
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(lan.hosts[2].data + lan_stats(&lan).dropped_data, 100);
		assert_int_equal(lan_stats(&lan).max_queue_bytes, (unscheduled ? 4 : 51) * LAN_MTU);
		lan_close(&lan);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(credit__an_overloaded_queue_passes_its_share),
		cmocka_unit_test(credit__the_share_holds_behind_data),
		cmocka_unit_test(credit__marks_follow_the_losses),
		cmocka_unit_test(credit__marks_follow_with_any_refresh),
		cmocka_unit_test(credit__marks_only_what_may_be),
		cmocka_unit_test(credit__many_to_one),
		cmocka_unit_test(credit__two_crossing_directions),
		cmocka_unit_test(credit__all_to_all_oversubscribed),
		cmocka_unit_test(credit__follows_the_slower_direction),
		cmocka_unit_test(credit__slow_links_have_room),
		cmocka_unit_test(credit__share_by_configuration),
		cmocka_unit_test(credit__isolated),
		cmocka_unit_test(credit__lost_with_the_link),
		cmocka_unit_test(credit__off),
		cmocka_unit_test(credit__shown_to_a_tap),
		cmocka_unit_test(credit__not_with_pfc),
		cmocka_unit_test(queue_enqueue__unscheduled_has_four_packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
