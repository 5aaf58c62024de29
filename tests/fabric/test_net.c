/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "lan.h"

#define GBPS50 UINT64_C(50000000000)

static void no_free(void *arg, struct weft_pkt *pkt)
{
}

static void check_refused(struct weft_net_conf conf, const char *message)
{
	struct weft_err err = {""};
	struct weft_topo topo;
	struct weft_net *net;

	assert_int_equal(weft_topo_preset("star:2", GBPS50, &topo, NULL), 0);
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_string_equal(err.msg, message);
}

static void weft_net_create__refuses(void **state)
{
	struct weft_net_conf good = lan_conf(), c;

	good.free_pkt = no_free;
	c = good;
	c.mtu_bytes = 83;
	check_refused(c, "fabric: a full packet of 83 bytes, not 84..65535");
	c = good;
	c.tune.queue_bytes = LAN_MTU - 1;
	check_refused(c, "fabric: a queue of 4259 bytes does not hold a packet of 4260");
	c = good;
	c.tune.ecn_min_pct = 20;
	check_refused(c, "fabric: marking starts at 20 % of a BDP, above its end at 0 %");
	c = good;
	c.tune.ecn_max_pct = 1001;
	c.tune.ecn_prob_pct = 50;
	check_refused(c, "fabric: marking of 50 % of the packets at 1001 % of a BDP");
	c = good;
	c.tune.pfc = true;
	c.tune.pfc_xon_pct = 80;
	check_refused(c, "fabric: PFC pauses at 0 % of a BDP and ends it at 80 % of that");
	c.tune.pfc_xoff_pct = 100;
	c.tune.pfc_xon_pct = 101;
	check_refused(c, "fabric: PFC pauses at 100 % of a BDP and ends it at 101 % of that");
	c = good;
	c.free_pkt = NULL;
	check_refused(c, "fabric: unknown trim mode, or no free_pkt callback");
}

static void weft_net_create__bad_topology(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_topo topo = {.hosts = 3};
	struct weft_err err;
	struct weft_net *net;

	conf.free_pkt = no_free;
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_string_equal(err.msg, "topology: the number of tiers must be 1..3");
}

/* A run with queueing, marking, trimming and coins; the time is given in slices of `slice`, or event by event. */
static struct weft_net_stats scenario(uint64_t seed, weft_ps slice)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;
	weft_ps now = 0;

	conf.seed = seed;
	conf.tune.trim = WEFT_TRIM_COIN;
	conf.tune.ecn_min_pct = 20;
	conf.tune.ecn_max_pct = 80;
	lan_open(&lan, "topologies/ls16_50g.topo", GBPS50, conf);
	for (uint32_t h = 0; h < 16; h++) {
		lan.hosts[h].ack_bytes = 110;
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = (h * 5 + 4) % 13, .count = 60, .spray = true});
	}
	if (slice == 0)
		while (weft_net_step(lan.net, WEFT_NEVER - 1, &now))
			;
	else
		for (weft_ps end = slice; weft_net_run(lan.net, end) != WEFT_NEVER; end += slice)
			;
	struct weft_net_stats stats = lan_stats(&lan);
	assert_true(stats.trimmed > 0 && stats.marked > 0);
	lan_close(&lan);
	return stats;
}

static void weft_net_run__same_seed_same_digest(void **state)
{
	struct weft_net_stats a = scenario(5, 1 << 30), b = scenario(5, 1 << 30);

	assert_memory_equal(&a, &b, sizeof a);
}

static void weft_net_run__other_seed_other_digest(void **state)
{
	assert_true(scenario(5, 1 << 30).digest != scenario(6, 1 << 30).digest);
}

/* Being called late, early or event by event changes nothing: departures take the events' own times. */
static void weft_net_run__late_calls(void **state)
{
	struct weft_net_stats all = scenario(5, 1 << 30), slices = scenario(5, 777777), steps = scenario(5, 0);

	assert_memory_equal(&all, &slices, sizeof all);
	assert_memory_equal(&all, &steps, sizeof all);
}

static void weft_net_run__no_such_host(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:2:2:2", GBPS50, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 4});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = UINT32_MAX}); /* 10.0.0.0 */
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0x00fffff0});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).dropped_route, 3);
	assert_int_equal(lan.freed, 3);
	lan_close(&lan);
}

static void weft_net_run__nobody_attached(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	weft_net_attach(lan.net, 1, NULL, NULL);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1});
	weft_net_wake(lan.net, 1, 1000);
	weft_net_kick(lan.net, 1, 0);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).dropped_route, 1);
	lan_close(&lan);
}

static void weft_net_run__returns_next_time(void **state)
{
	struct lan lan;
	weft_ps now;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	assert_true(weft_net_run(lan.net, 1000) == WEFT_NEVER);
	assert_false(weft_net_step(lan.net, 1000, &now));
	lan_send(&lan, 5000, (struct lan_send){.src = 0, .dst = 1});
	assert_int_equal(weft_net_run(lan.net, 4999), 5000);
	assert_false(weft_net_step(lan.net, 4999, &now));
	assert_true(weft_net_step(lan.net, 5000, &now));
	assert_int_equal(now, 5000);
	lan_close(&lan);
}

/* Kicks while the uplink is busy cost nothing and change nothing. */
static void weft_net_kick__while_busy(void **state)
{
	struct lan lan;
	weft_ps ser = LAN_MTU * 160;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1});
	weft_net_run(lan.net, ser / 2);
	for (int i = 0; i < 5; i++)
		weft_net_kick(lan.net, 0, ser / 2);
	lan_send(&lan, ser / 2, (struct lan_send){.src = 0, .dst = 1});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[1].data, 2);
	assert_int_equal(lan.hosts[1].last_at, 3 * ser + 1600000);
	lan_close(&lan);
}

static void weft_net_wake__moves(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	struct lan_host *h = &lan.hosts[0];
	weft_net_wake(lan.net, 0, 1000);
	weft_net_wake(lan.net, 0, 5000); /* later */
	weft_net_run(lan.net, 4999);
	assert_int_equal(h->wakes, 0);
	weft_net_run(lan.net, 5000);
	assert_int_equal(h->wakes, 1);
	assert_int_equal(h->wake_at, 5000);
	weft_net_wake(lan.net, 0, 1 << 30);
	weft_net_wake(lan.net, 0, 6000); /* earlier */
	weft_net_run(lan.net, 6000);
	assert_int_equal(h->wakes, 2);
	assert_int_equal(h->wake_at, 6000);
	weft_net_wake(lan.net, 0, 7000);
	weft_net_wake(lan.net, 0, WEFT_NEVER);
	assert_true(weft_net_run(lan.net, WEFT_NEVER - 1) == WEFT_NEVER);
	assert_int_equal(h->wakes, 2);
	lan_close(&lan);
}

/* Packets in queues and on wires go back to their owner. */
static void weft_net_destroy__gives_packets_back(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:3", GBPS50, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 20});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 20});
	weft_net_run(lan.net, 5000000);
	assert_true(lan.hosts[2].data > 0 && lan.hosts[2].data < 20);
	lan_close(&lan);
}

struct tap_log {
	uint32_t sent[2], got[2];
	weft_ps first_sent, last_got;
};

static void tap(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct tap_log *log = arg;
	bool sent = event == WEFT_TAP_SENT;

	assert_true(port < 2);
	assert_int_not_equal(event, WEFT_TAP_DROPPED);
	if (sent && !log->sent[0] && !log->sent[1])
		log->first_sent = now;
	(sent ? log->sent : log->got)[port]++;
	log->last_got = now;
	assert_true(pkt->head_len > 0);
}

static void weft_net_tap__sees_all(void **state)
{
	struct tap_log log = {.first_sent = 1};
	struct lan lan;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	weft_net_tap(lan.net, tap, &log);
	weft_net_tap_port(lan.net, 0);
	weft_net_tap_port(lan.net, 1);
	lan.hosts[1].ack_bytes = 110;
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 3});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(log.sent[0], 3);
	assert_int_equal(log.got[1], 3);
	assert_int_equal(log.sent[1], 3);
	assert_int_equal(log.got[0], 3);
	assert_int_equal(log.first_sent, 0);
	assert_int_equal(log.last_got, lan.hosts[0].last_at);
	lan_close(&lan);
}

struct port_log {
	uint32_t port, events[3], trimmed;
};

static void tap_port(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct port_log *log = arg;

	assert_int_equal(port, log->port);
	log->events[event]++;
	log->trimmed += !!(pkt->flags & WEFT_PKT_TRIMMED);
}

/* The switch port to host 2 gets twice what it can carry: what it sends and what it drops are all there is. */
static void weft_net_tap_port__sees_one_port(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct port_log log = {.port = 3 + 2};
	struct weft_port_counts counts;
	struct lan lan;

	conf.tune.queue_bytes = 4 * LAN_MTU;
	lan_open(&lan, "star:3", GBPS50, conf);
	weft_net_tap(lan.net, tap_port, &log);
	weft_net_tap_port(lan.net, log.port);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 20});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 20});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	weft_net_port_counts(lan.net, log.port, &counts);
	assert_true(counts.dropped > 0);
	assert_int_equal(log.events[WEFT_TAP_SENT], lan.hosts[2].data);
	assert_int_equal(log.events[WEFT_TAP_DROPPED], counts.dropped);
	assert_int_equal(log.events[WEFT_TAP_DELIVERED], 0);
	assert_int_equal(log.events[WEFT_TAP_SENT] + log.events[WEFT_TAP_DROPPED], 40);

	weft_net_tap(lan.net, NULL, NULL);
	lan_send(&lan, WEFT_MS(1) * 1000, (struct lan_send){.src = 0, .dst = 2, .count = 20});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(log.events[WEFT_TAP_SENT] + log.events[WEFT_TAP_DROPPED], 40);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_net_create__refuses),
		cmocka_unit_test(weft_net_create__bad_topology),
		cmocka_unit_test(weft_net_run__same_seed_same_digest),
		cmocka_unit_test(weft_net_run__other_seed_other_digest),
		cmocka_unit_test(weft_net_run__late_calls),
		cmocka_unit_test(weft_net_run__no_such_host),
		cmocka_unit_test(weft_net_run__nobody_attached),
		cmocka_unit_test(weft_net_run__returns_next_time),
		cmocka_unit_test(weft_net_kick__while_busy),
		cmocka_unit_test(weft_net_wake__moves),
		cmocka_unit_test(weft_net_destroy__gives_packets_back),
		cmocka_unit_test(weft_net_tap__sees_all),
		cmocka_unit_test(weft_net_tap_port__sees_one_port),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
