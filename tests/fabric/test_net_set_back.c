/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric whose time is set back behaves as one whose time goes on, whatever is where just then. */
#include "net.h"

#include "cmocka_all.h"
#include "lan.h"

#define GBPS50 UINT64_C(50000000000)
#define BEGIN  (UINT64_C(1) << 50) /* a thousand seconds */
#define SLICE  UINT64_C(1000000)

enum { SLICES = 120, HOSTS = 16, UNIT = 1000 };

/* Of each kind for everybody, so that queues of all sorts are full. */
static void send_all(struct lan *lan)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		const uint32_t dst = (h * 5 + 4) % 13;
		lan->hosts[h].ack_bytes = 110;
		lan_send(lan, BEGIN, (struct lan_send){.src = h, .dst = dst, .count = 60, .spray = true});
		lan_send(lan, BEGIN, (struct lan_send){.src = h, .dst = dst, .count = 10, .ordered = true});
		lan_send(lan, BEGIN, (struct lan_send){.src = h, .dst = (h + 1) % HOSTS, .count = 10, .credit = true});
		weft_net_wake(lan->net, h, BEGIN + 20 * SLICE + h);
	}
}

/* In slice number `when`; never with SLICES. */
static struct weft_net_stats scenario(struct weft_net_conf conf, uint32_t when, weft_ps *end)
{
	struct lan lan;
	weft_ps now = BEGIN, by = 0;

	lan_open(&lan, "topologies/ls16_50g.topo", GBPS50, conf);
	weft_net_run(lan.net, BEGIN - 1);
	send_all(&lan);
	for (uint32_t i = 0; i < SLICES; i++) {
		now += SLICE;
		weft_net_run(lan.net, now - by);
		if (i == when)
			by = weft_net_set_back(lan.net, now, UNIT);
	}
	assert_int_equal(by > 0, when < SLICES);
	assert_int_equal(by % UNIT, 0);
	assert_true(by <= BEGIN);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	*end = 0;
	for (uint32_t h = 0; h < HOSTS; h++) {
		assert_int_equal(lan.hosts[h].wakes, 1);
		weft_ps last = lan.hosts[h].last_at + (lan.hosts[h].last_at < BEGIN ? by : 0);
		*end = last > *end ? last : *end;
	}
	stats.digest = 0; /* it has the times in it */
	lan_close(&lan);
	return stats;
}

static void check(struct weft_net_conf conf, uint32_t first)
{
	weft_ps want_end, end;
	struct weft_net_stats want = scenario(conf, SLICES, &want_end), got;

	assert_true(want.max_queue_bytes > 0);
	for (uint32_t when = first; when < SLICES; when += when < 20 ? 1 : 7) {
		got = scenario(conf, when, &end);
		assert_memory_equal(&got, &want, sizeof got);
		assert_int_equal(end, want_end);
	}
}

static struct weft_net_conf marking(void)
{
	struct weft_net_conf conf = lan_conf();
	conf.tune.trim = WEFT_TRIM_COIN;
	conf.tune.ecn_min_pct = 20;
	conf.tune.ecn_max_pct = 80;
	return conf;
}

/* CONGA's estimators step from when a port is first looked at: until all were, they do it at other moments. */
static void weft_net_set_back__with_each_choice(void **state)
{
	for (uint32_t i = 0; weft_route_table[i]; i++) {
		struct weft_net_conf conf = marking();
		conf.route = weft_route_table[i];
		check(conf, conf.route->one_fabric ? 10 : 0);
	}
}

static void weft_net_set_back__with_each_kind_of_queue(void **state)
{
	struct weft_net_conf ordered = marking(), credits = marking(), pfc = marking();

	ordered.tune.ordered_pct = 30;
	check(ordered, 0);
	credits.tune.credit_queue = 8;
	check(credits, 0);
	pfc.tune.trim = WEFT_TRIM_OFF;
	pfc.tune.pfc = true;
	pfc.tune.pfc_xoff_pct = 20;
	pfc.tune.pfc_xon_pct = 10;
	check(pfc, 0);
}

/* What is just behind has to be told apart. */
static void weft_net_set_back__not_at_the_beginning(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:2", GBPS50, lan_conf());
	assert_int_equal(weft_net_set_back(lan.net, 1000000, 1), 0);
	weft_ps by = weft_net_set_back(lan.net, BEGIN, 1);
	assert_in_range(by, BEGIN - SLICE * 1000, BEGIN - 1);
	lan_send(&lan, BEGIN - by, (struct lan_send){.dst = 1});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(&lan), 1);
	assert_in_range(lan.hosts[1].last_at, BEGIN - by, BEGIN - by + 10 * SLICE);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_net_set_back__with_each_choice),
		cmocka_unit_test(weft_net_set_back__with_each_kind_of_queue),
		cmocka_unit_test(weft_net_set_back__not_at_the_beginning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
