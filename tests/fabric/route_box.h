/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of how switches choose: a fabric without packets, and a packet that is nowhere. */
#ifndef WEFT_TEST_ROUTE_BOX_H
#define WEFT_TEST_ROUTE_BOX_H

#include "cmocka_all.h"
#include "lan.h"
#include "net_impl.h"
#include "route_impl.h"

enum { BOX_BPS_GBPS = 100 };

/* A fabric whose switches choose by `name`, with the parameters at `tune`, NULL for defaults. */
static inline void box_open(struct lan *lan, const char *topology, const char *name, const void *tune, uint64_t seed)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};

	assert_int_equal(weft_route_find(name, &conf.route, &err), 0);
	conf.route_tune = tune;
	conf.seed = seed;
	lan_open(lan, topology, BOX_BPS_GBPS * UINT64_C(1000000000), conf);
}

/* The port that a packet from host `src` takes at switch `sw` (all tiers in one row), where it came in at the first
 * port down. */
static inline uint32_t box_forward(const struct lan *lan, uint32_t sw, uint32_t dst, struct weft_pkt pkt)
{
	pkt.dst = weft_net_host_ip(dst);
	return route_forward(&lan->net->tree, lan->net->tree.cold[lan->net->tree.switches[sw].first_down].reverse, dst,
			     &pkt, lan->net->evq.now);
}

static inline uint32_t box_choose(const struct lan *lan, uint32_t sw, uint32_t src, uint32_t dst, uint16_t entropy)
{
	return box_forward(lan, sw, dst, (struct weft_pkt){.src = weft_net_host_ip(src), .entropy = entropy});
}

/* The same as a number among the switch's uplinks. */
static inline uint32_t box_choose_up(const struct lan *lan, uint32_t sw, uint32_t src, uint32_t dst, uint16_t entropy)
{
	return box_choose(lan, sw, src, dst, entropy) - lan->net->tree.switches[sw].first_up;
}

/* The runs are fixed: `limit` is what chi square exceeds once in 10,000 honest runs, 29.9 for eight ways. */
static inline void check_uniform(const uint32_t *count, uint32_t n, uint32_t samples, double limit)
{
	double chi2 = 0, expect = (double)samples / n;

	for (uint32_t i = 0; i < n; i++)
		chi2 += (count[i] - expect) * (count[i] - expect) / expect;
	assert_true(chi2 < limit);
}

/* Routing stops (or ends stopping) to use the cable `up` of leaf 0. */
static inline void box_avoid_up(struct lan *lan, uint32_t up, bool avoid)
{
	struct weft_link_id id;
	assert_int_equal(weft_net_link_find(lan->net, 0, 0, up, false, &id), 0);
	weft_net_avoid_link(lan->net, id, avoid);
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

#endif
