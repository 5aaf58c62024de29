/* SPDX-License-Identifier: BSD-3-Clause */
/* What the steps of a timeline do to a fabric. */
#include <string.h>

#include "timeline_box.h"
#include "weft/spi/lb.h"

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
	fail_msg("there are no packets");
}

static struct weft_net *net_of(const char *preset)
{
	struct weft_topo topo = topo_of(preset);
	struct weft_net_conf conf = {.seed = 1, .mtu_bytes = 4260, .free_pkt = no_pkt};
	struct weft_net *net;
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, NULL), 0);
	return net;
}

static struct weft_port_info port_named(const struct weft_net *net, const char *name)
{
	struct weft_port_info info;
	for (uint32_t i = 0; !weft_net_port_info(net, i, &info); i++)
		if (!strcmp(info.name, name))
			return info;
	fail_msg("no port %s", name);
	return info;
}

static uint32_t ports_down(const struct weft_net *net)
{
	struct weft_port_info info;
	uint32_t n = 0;
	for (uint32_t i = 0; !weft_net_port_info(net, i, &info); i++)
		n += !info.up;
	return n;
}

/* Ports down after each of the given times. */
static void check_down(const char *preset, const char *const *specs, const weft_ns *at, const uint32_t *down,
		       uint32_t n)
{
	struct weft_net *net = net_of(preset);
	struct timeline t = {0};
	uint32_t next = 0;
	for (; *specs; specs++)
		add(&t, *specs);
	resolve(&t, preset, 1, 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(timeline_apply(&t, &next, at[i], net, NULL), 0);
		if (ports_down(net) != down[i])
			fail_msg("%u ports are down at %u ns, not %u", ports_down(net), (unsigned)at[i], down[i]);
	}
	assert_true(timeline_next_ns(&t, next) == WEFT_NEVER);
	timeline_free(&t);
	weft_net_destroy(net);
}

static void apply__every_target(void **state)
{
	static const char *const specs[] = {
		"10ns fail cable:leaf:0:1 until 15ns",
		"20ns fail uplink:spine:0:1 until 25ns",
		"30ns fail downlink:leaf:3:0 until 35ns",
		"40ns fail host:3 until 45ns",
		"50ns fail switch:core:3 until 55ns", /* four pods, both ways */
		"60ns fail switch:leaf:2 until 65ns", /* two hosts and two spines */
		"70ns fail random:leaf:50% until 75ns",
		"80ns fail host:0",
		"90ns fail switch:spine:1",
		"91ns restore host:0",
		"92ns restore switch:spine:1",
		NULL,
	};
	static const weft_ns at[] = {9, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 90, 91, 92};
	static const uint32_t down[] = {0, 2, 0, 1, 0, 1, 0, 2, 0, 8, 0, 8, 0, 16, 0, 2, 10, 8, 0};
	check_down("fattree:4", specs, at, down, sizeof at / sizeof *at);
}

/* The end of a fault undoes that fault, `restore` everything. */
static void apply__ends_and_restores(void **state)
{
	struct weft_net *net = net_of("leafspine:2:2:2");
	struct timeline t = {0};
	uint32_t next = 0;
	add(&t, "10ns degrade cable:leaf:0:1 25%");
	add(&t, "20ns fail cable:leaf:0:1 until 30ns");
	add(&t, "40ns degrade cable:leaf:0:1 10 until 50ns");
	add(&t, "60ns fail uplink:leaf:0:1");
	add(&t, "60ns degrade uplink:leaf:0:1 50%");
	add(&t, "70ns restore cable:leaf:0:1");
	resolve(&t, "leafspine:2:2:2", 1, WEFT_NEVER);
	static const struct {
		weft_ns at;
		uint64_t bps;
		bool up;
	} expect[] = {
		{9, GBPS100, true},       {10, GBPS100 / 4, true}, {20, GBPS100 / 4, false}, {30, GBPS100 / 4, true},
		{40, GBPS100 / 10, true}, {50, GBPS100 / 4, true}, {60, GBPS100 / 2, false}, {70, GBPS100, true},
	};
	for (unsigned i = 0; i < sizeof expect / sizeof *expect; i++) {
		assert_int_equal(timeline_apply(&t, &next, expect[i].at, net, NULL), 0);
		struct weft_port_info up = port_named(net, "leaf0:up1"), down = port_named(net, "spine1:down0");
		assert_true(up.bps == expect[i].bps);
		assert_int_equal(up.up, expect[i].up);
		assert_true(port_named(net, "leaf0:up0").bps == GBPS100);
		if (expect[i].at < 60)
			assert_true(down.bps == up.bps && down.up == up.up);
		else
			assert_true(down.bps == (expect[i].at < 70 ? GBPS100 / 4 : GBPS100) && down.up);
	}
	timeline_free(&t);
	weft_net_destroy(net);
}

/* Turns that routing tells host 0 of the paths to host 2; 0: alike. */
static uint32_t turns_told(struct weft_net *net)
{
	const struct weft_lb_turns *turns;
	assert_int_equal(weft_net_turns(net, 0, 2, &turns), 0);
	return turns ? turns->count : 0;
}

struct link_state {
	weft_ns at;
	bool up;
	uint64_t bps;
	uint32_t turns;
};

/* The first uplink of leaf 0, and what routing knows of it, after each of the times. */
static void check_link(const char *const *specs, weft_ns reconverge, const struct link_state *expect, uint32_t n)
{
	struct weft_net *net = net_of("leafspine:2:2:2");
	struct timeline t = {0};
	uint32_t next = 0;
	for (; *specs; specs++)
		add(&t, *specs);
	resolve(&t, "leafspine:2:2:2", 1, reconverge);
	for (const struct link_state *e = expect; e < expect + n; e++) {
		assert_int_equal(timeline_apply(&t, &next, e->at, net, NULL), 0);
		struct weft_port_info info = port_named(net, "leaf0:up0");
		uint32_t turns = turns_told(net);
		if (info.up != e->up || info.bps != e->bps || turns != e->turns)
			fail_msg("at %u ns: up %d, %.1f Gb/s, %u turns", (unsigned)e->at, info.up,
				 (double)info.bps / 1e9, turns);
	}
	assert_true(timeline_next_ns(&t, next) == WEFT_NEVER);
	timeline_free(&t);
	weft_net_destroy(net);
}

/* Of faults of one link that overlap, the end of one leaves the others, however they name the link. */
static void apply__ends_one_of_several_failures(void **state)
{
	static const char *const specs[] = {
		"10ns fail cable:leaf:0:0 until 100ns",
		"20ns fail uplink:leaf:0:0 until 30ns",
		"40ns fail random:leaf:100% until 50ns",
		"60ns fail cable:leaf:0:0 until 120ns",
		"70ns restore cable:leaf:0:0",
		"80ns fail cable:leaf:0:0 until 200ns",
		"210ns fail switch:spine:0 until 240ns",
		"220ns fail switch:spine:0 until 230ns",
		NULL,
	};
	static const struct link_state expect[] = {
		{10, false, GBPS100, 0},  {30, false, GBPS100, 1},  {50, false, GBPS100, 0}, {60, false, GBPS100, 1},
		{70, true, GBPS100, 1},   {80, false, GBPS100, 0},  {90, false, GBPS100, 1}, {100, false, GBPS100, 1},
		{120, false, GBPS100, 1}, {135, false, GBPS100, 1}, {200, true, GBPS100, 1}, {210, false, GBPS100, 0},
		{230, false, GBPS100, 1}, {240, true, GBPS100, 1},  {250, true, GBPS100, 0},
	};
	check_link(specs, 10, expect, sizeof expect / sizeof *expect);
}

/* The newest rate that has not ended counts, for packets and for routing, which does not know of degraded links. */
static void apply__ends_one_of_several_rates(void **state)
{
	static const char *const specs[] = {
		"10ns renegotiate cable:leaf:0:0 25% until 100ns",
		"20ns degrade uplink:leaf:0:0 10 until 40ns",
		"30ns renegotiate switch:spine:0 50% until 60ns",
		NULL,
	};
	static const struct link_state expect[] = {
		{10, true, GBPS100 / 4, 0}, {20, true, GBPS100 / 10, 5}, {30, true, GBPS100 / 2, 5},
		{35, true, GBPS100 / 2, 3}, {40, true, GBPS100 / 2, 3},  {60, true, GBPS100 / 4, 3},
		{65, true, GBPS100 / 4, 5}, {100, true, GBPS100, 5},     {105, true, GBPS100, 0},
	};
	check_link(specs, 5, expect, sizeof expect / sizeof *expect);
}

/* The link slows down at once, routing knows later, and also when it is whole again; of a degraded one it never does.
 */
static void apply__tells_routing_of_renegotiated_rates(void **state)
{
	struct weft_net *net = net_of("leafspine:2:2:2");
	struct timeline t = {0};
	uint32_t next = 0;
	add(&t, "10ns renegotiate uplink:leaf:0:1 25% until 30ns");
	add(&t, "50ns renegotiate uplink:leaf:0:1 50");
	add(&t, "70ns restore cable:leaf:0:1");
	add(&t, "90ns degrade uplink:leaf:0:1 25% until 110ns");
	resolve(&t, "leafspine:2:2:2", 1, 10);
	static const struct {
		weft_ns at;
		uint64_t bps;
		uint32_t turns;
	} expect[] = {
		{10, GBPS100 / 4, 0}, {20, GBPS100 / 4, 5},  {30, GBPS100, 5},  {40, GBPS100, 0},
		{50, GBPS100 / 2, 0}, {60, GBPS100 / 2, 3},  {70, GBPS100, 3},  {80, GBPS100, 0},
		{90, GBPS100 / 4, 0}, {100, GBPS100 / 4, 0}, {110, GBPS100, 0},
	};
	for (unsigned i = 0; i < sizeof expect / sizeof *expect; i++) {
		assert_int_equal(timeline_apply(&t, &next, expect[i].at, net, NULL), 0);
		assert_true(port_named(net, "leaf0:up1").bps == expect[i].bps);
		assert_int_equal(turns_told(net), expect[i].turns);
	}
	assert_true(timeline_next_ns(&t, next) == WEFT_NEVER);
	timeline_free(&t);
	weft_net_destroy(net);
}

static void apply__degrades_a_switch(void **state)
{
	struct weft_net *net = net_of("leafspine:2:2:2");
	struct timeline t = {0};
	uint32_t next = 0;
	add(&t, "0us degrade switch:spine:0 10");
	resolve(&t, "leafspine:2:2:2", 1, WEFT_NEVER);
	assert_int_equal(timeline_apply(&t, &next, 0, net, NULL), 0);
	assert_true(port_named(net, "leaf0:up0").bps == GBPS100 / 10);
	assert_true(port_named(net, "spine0:down1").bps == GBPS100 / 10);
	assert_true(port_named(net, "leaf0:up1").bps == GBPS100);
	timeline_free(&t);
	weft_net_destroy(net);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(apply__tells_routing_of_renegotiated_rates),
		cmocka_unit_test(apply__every_target),
		cmocka_unit_test(apply__ends_and_restores),
		cmocka_unit_test(apply__ends_one_of_several_failures),
		cmocka_unit_test(apply__ends_one_of_several_rates),
		cmocka_unit_test(apply__degrades_a_switch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
