/* SPDX-License-Identifier: BSD-3-Clause */
/* One switch whose neighbours are elsewhere: here, in the test. */
#include <errno.h>

#include "cmocka_all.h"
#include "lan.h"
#include "route_impl.h"

#define GBPS50 UINT64_C(50000000000)

enum {
	SER_PS = LAN_MTU * 8 * 20, /* of a full packet at 50 Gb/s */
	HOP_PS = 1000000,          /* link of 600 ns, switch of 400 ns */
	LINK_PS = 600000,
	HELD_MAX = 64
};

/* A leaf, and what it sent to the spines. */
struct part {
	struct lan lan;
	struct held {
		struct weft_pkt *pkt;
		uint32_t port;
		weft_ps at;
	} held[HELD_MAX];
	uint32_t count;
};

static void hold(void *arg, uint32_t port, struct weft_pkt *pkt, weft_ps now)
{
	struct part *p = arg;

	assert_true(p->count < HELD_MAX);
	p->held[p->count++] = (struct held){pkt, port, now};
}

/* Leaf 0, hosts 0 and 1. */
static void part_open(struct part *p, const char *topology, const struct weft_route_ops *route)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};

	p->count = 0;
	conf.route = route;
	lan_open(&p->lan, topology, GBPS50, conf);
	if (weft_net_part(p->lan.net, 0, 0, hold, p, &err))
		fail_msg("%s", err.msg);
}

/* The link that comes to leaf 0 from its n-th spine. */
static struct weft_link_id from_spine(const struct part *p, uint32_t n)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(p->lan.net, 0, 0, n, true, &id), 0);
	return id;
}

static void run(struct part *p)
{
	assert_true(weft_net_run(p->lan.net, WEFT_NEVER - 1) == WEFT_NEVER);
}

/* Out when it would be at the spine; back, its host gets it like any other. */
static void weft_net_part__out_and_back(void **state)
{
	struct part p;

	part_open(&p, "leafspine:2:2:2", NULL);
	lan_send(&p.lan, 0, (struct lan_send){.src = 0, .dst = 2});
	run(&p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.held[0].at, 2 * (SER_PS + HOP_PS));
	p.held[0].pkt->dst = weft_net_host_ip(1);
	assert_int_equal(weft_net_inject(p.lan.net, from_spine(&p, 1), p.held[0].pkt, p.held[0].at), p.held[0].at);
	run(&p);
	assert_int_equal(p.lan.hosts[1].data, 1);
	assert_int_equal(p.lan.hosts[1].last_at, p.held[0].at + SER_PS + LINK_PS);
	lan_close(&p.lan);
}

/* Hosts of one leaf talk without the others. */
static void weft_net_part__stays_below_the_leaf(void **state)
{
	struct part p;

	part_open(&p, "leafspine:2:2:2", NULL);
	lan_send(&p.lan, 0, (struct lan_send){.src = 0, .dst = 1});
	run(&p);
	assert_int_equal(p.count, 0);
	assert_int_equal(p.lan.hosts[1].last_at, 2 * SER_PS + HOP_PS + LINK_PS);
	lan_close(&p.lan);
}

/* The others stay elsewhere when routing learns of a fault and of its end. */
static void weft_net_part__outlasts_reroutes(void **state)
{
	struct part p;

	part_open(&p, "leafspine:2:2:2", NULL);
	for (int avoid = 1; avoid >= 0; avoid--) {
		weft_net_avoid_link(p.lan.net, from_spine(&p, 0), avoid);
		assert_int_equal(weft_net_reroute(p.lan.net), 0);
		lan_send(&p.lan, 0, (struct lan_send){.src = 0, .dst = 2});
		run(&p);
		assert_int_equal(p.count, 2 - avoid);
		sim_slab_put(p.lan.slab, p.held[1 - avoid].pkt);
	}
	assert_int_equal(p.lan.hosts[2].data, 0);
	lan_close(&p.lan);
}

/* Every way of choosing sends over all uplinks; each packet is at the link that the port's counter tells of. */
static void weft_net_part__chooses_as_ever(void **state)
{
	static const struct weft_route_ops *const routes[] = {&route_ecmp, &route_drill, &route_rr};

	for (unsigned r = 0; r < sizeof routes / sizeof *routes; r++) {
		uint32_t ways = 0;
		struct part p;
		part_open(&p, "leafspine:2:4:2", routes[r]);
		lan_send(&p.lan, 0, (struct lan_send){.src = 0, .dst = 3, .count = 40, .spray = true});
		run(&p);
		assert_int_equal(p.count, 40);
		for (uint32_t i = 0; i < 4; i++) {
			struct weft_link_id id;
			uint64_t sent, bytes, seen = 0;
			assert_int_equal(weft_net_link_find(p.lan.net, 0, 0, i, false, &id), 0);
			for (uint32_t k = 0; k < p.count; k++)
				seen += p.held[k].port == id.index;
			weft_net_link_counts(p.lan.net, id, &sent, &bytes);
			assert_int_equal(sent, seen);
			ways += seen > 0;
		}
		assert_int_equal(ways, 4);
		for (uint32_t k = 0; k < p.count; k++)
			sim_slab_put(p.lan.slab, p.held[k].pkt);
		lan_close(&p.lan);
	}
}

/* A bunch that comes at one moment has the spacing of its link again. */
static void weft_net_inject__keeps_the_links_rate(void **state)
{
	const weft_ps at = 1000 * (weft_ps)HOP_PS;
	struct part p;

	part_open(&p, "leafspine:2:2:2", NULL);
	lan_send(&p.lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 5});
	run(&p);
	assert_int_equal(p.count, 5);
	for (uint32_t i = 0; i < p.count; i++) {
		p.held[i].pkt->dst = weft_net_host_ip(1);
		assert_int_equal(weft_net_inject(p.lan.net, from_spine(&p, 0), p.held[i].pkt, at), at + i * SER_PS);
	}
	run(&p);
	assert_int_equal(p.lan.hosts[1].data, 5);
	assert_int_equal(p.lan.hosts[1].last_at, at + 5 * SER_PS + LINK_PS);
	assert_int_equal(lan_stats(&p.lan).max_queue_bytes, 0);
	lan_close(&p.lan);
}

static void check_refused(const struct weft_net_conf *conf, uint32_t tier, uint32_t sw, int rc, const char *message)
{
	struct weft_err err = {""};
	struct part p = {.count = 0};

	lan_open(&p.lan, "leafspine:2:2:2", GBPS50, *conf);
	assert_int_equal(weft_net_part(p.lan.net, tier, sw, hold, &p, &err), rc);
	assert_string_equal(err.msg, message);
	lan_close(&p.lan);
}

static void weft_net_part__refuses(void **state)
{
	struct weft_net_conf plain = lan_conf(), conga = plain, pfc = plain;

	conga.route = &route_conga;
	pfc.tune.pfc = true;
	pfc.tune.pfc_xoff_pct = 100;
	check_refused(&plain, 1, 2, -ENOENT, "fabric: there is no switch 2 in tier 1");
	check_refused(&plain, 2, 0, -ENOENT, "fabric: there is no switch 0 in tier 2");
	check_refused(&conga, 0, 0, -EINVAL, "fabric: conga needs all switches in one fabric");
	check_refused(&pfc, 0, 0, -EINVAL, "fabric: PFC pauses what is in one fabric, not in several");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_net_part__out_and_back),
		cmocka_unit_test(weft_net_part__stays_below_the_leaf),
		cmocka_unit_test(weft_net_part__outlasts_reroutes),
		cmocka_unit_test(weft_net_part__chooses_as_ever),
		cmocka_unit_test(weft_net_inject__keeps_the_links_rate),
		cmocka_unit_test(weft_net_part__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
