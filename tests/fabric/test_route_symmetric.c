/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "route_box.h"

enum { HOPS_MAX = 8 };

/* Cables of a path in order, each as the lower of its two ports. */
struct walk {
	uint32_t hops;
	uint32_t cable[HOPS_MAX];
	uint32_t port[HOPS_MAX];
};

/* Where packets from `src` to `dst` with this entropy go. hops 0: nowhere. */
static struct walk walk(const struct lan *lan, uint32_t src, uint32_t dst, uint16_t entropy)
{
	struct weft_pkt pkt = {.src = weft_net_host_ip(src), .dst = weft_net_host_ip(dst), .entropy = entropy};
	struct walk w = {0};
	uint32_t port = src;

	while (port != PORT_NONE) {
		uint32_t reverse = lan->net->tree.cold[port].reverse;
		assert_true(w.hops < HOPS_MAX);
		w.port[w.hops] = port;
		w.cable[w.hops++] = port < reverse ? port : reverse;
		if (lan->net->tree.ports[port].flags & PORT_LAST_HOP)
			return w;
		port = route_forward(&lan->net->tree, port, dst, &pkt, lan->net->evq.now);
	}
	return (struct walk){0};
}

static void check_backwards(const struct lan *lan, uint32_t a, uint32_t b, uint16_t entropy)
{
	struct walk there = walk(lan, a, b, entropy), back = walk(lan, b, a, entropy);

	assert_int_equal(there.hops, back.hops);
	for (uint32_t i = 0; i < there.hops; i++)
		assert_int_equal(there.cable[i], back.cable[back.hops - 1 - i]);
}

/* All pairs of hosts, with `entropies` each. */
static void check_all(const struct lan *lan, uint32_t entropies)
{
	uint32_t hosts = weft_net_hosts(lan->net);

	for (uint32_t a = 0; a < hosts; a++)
		for (uint32_t b = 0; b < a; b++)
			for (uint32_t e = 0; e < entropies; e++)
				check_backwards(lan, a, b, (uint16_t)(e * 7919 + a));
}

/* One direction alone of a cable is avoided: `up` of a switch, or with `down` the way back. */
static void avoid(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool down)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, tier, sw, up, down, &id), 0);
	weft_net_avoid_link(lan->net, id, true);
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

/* No path goes over what is avoided, and there is one, with each of `entropies`. */
static void check_reaches(const struct lan *lan, uint32_t src, uint32_t dst, uint32_t entropies)
{
	for (uint32_t e = 0; e < entropies; e++) {
		struct walk w = walk(lan, src, dst, (uint16_t)e);
		assert_true(w.hops > 0);
		for (uint32_t i = 0; i < w.hops; i++)
			assert_int_equal(lan->net->tree.cold[w.port[i]].avoided, 0);
	}
}

static void symmetric__every_pair(void **state)
{
	static const char *const shapes[] = {"star:6",    "leafspine:4:4:4",  "leafspine:3:2:4:3", "leafspine:2:5:3",
					     "fattree:4", "stripe:4:4:2:1:2", "tree:4:4:24:3:4",   "tree:2:2:4:3:2"};

	for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		for (uint64_t seed = 1; seed < 4; seed++) {
			struct lan lan;
			box_open(&lan, shapes[i], "symmetric", NULL, seed);
			check_all(&lan, weft_net_hosts(lan.net) > 100 ? 3 : 64);
			lan_close(&lan);
		}
}

/* Hashes of ecmp have a salt per switch: the same check finds that out. */
static void symmetric__ecmp_is_not(void **state)
{
	struct lan lan;
	uint32_t same = 0;

	box_open(&lan, "leafspine:4:4:4", "ecmp", NULL, 1);
	for (uint32_t e = 0; e < 400; e++)
		same += walk(&lan, 0, 15, (uint16_t)e).cable[1] == walk(&lan, 15, 0, (uint16_t)e).cable[2];
	assert_in_range(same, 60, 140);
	lan_close(&lan);
}

static void symmetric__uplinks_are_used_alike(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0}, cores[16] = {0};

	box_open(&lan, "leafspine:4:4:8:2", "symmetric", NULL, 1);
	for (uint32_t i = 0; i < 64000; i++)
		count[box_choose_up(&lan, 0, i % 8, 8 + i % 24, (uint16_t)(i / 4))]++;
	check_uniform(count, 8, 64000, 29.9);
	lan_close(&lan);
	box_open(&lan, "fattree:8", "symmetric", NULL, 1);
	for (uint32_t i = 0; i < 64000; i++) {
		struct walk w = walk(&lan, i % 16, 112 + i % 13, (uint16_t)(i / 4));
		cores[lan.net->tree.ports[w.port[2]].peer - lan.net->tree.tier_first[2]]++;
	}
	check_uniform(cores, 16, 64000, 44.3);
	lan_close(&lan);
}

static void symmetric__an_entropy_keeps_its_path(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:4:4", "symmetric", NULL, 1);
	uint32_t up = box_choose_up(&lan, 0, 0, 15, 77);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(box_choose_up(&lan, 0, 0, 15, 77), up);
	lan_close(&lan);
}

/* A cable of leaf 1 is avoided in the direction that only its own packets take, then another in the direction that only
 * the others' packets take; and a third between spine and core. */
static void symmetric__after_reroute(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:4:4", "symmetric", NULL, 1);
	avoid(&lan, 0, 1, 2, false);
	check_all(&lan, 64);
	check_reaches(&lan, 4, 0, 200);
	check_reaches(&lan, 0, 4, 200);
	avoid(&lan, 0, 1, 0, true);
	avoid(&lan, 0, 2, 3, true);
	check_all(&lan, 64);
	check_reaches(&lan, 4, 8, 200);
	lan_close(&lan);

	box_open(&lan, "fattree:4", "symmetric", NULL, 1);
	avoid(&lan, 1, 0, 1, false);
	avoid(&lan, 0, 5, 0, true);
	check_all(&lan, 64);
	check_reaches(&lan, 0, 15, 200);
	check_reaches(&lan, 15, 0, 200);
	lan_close(&lan);
}

/* Bundles of three that have lost other cables at either end, one of them two: the spine can be taken as long as there
 * is one. */
static void symmetric__uneven_bundles(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:3:2:4:3", "symmetric", NULL, 1);
	avoid(&lan, 0, 0, 0, false);
	avoid(&lan, 0, 0, 1, true);
	avoid(&lan, 0, 1, 2, true);
	avoid(&lan, 0, 2, 3, false);
	avoid(&lan, 0, 2, 4, false);
	avoid(&lan, 0, 2, 5, true);
	check_all(&lan, 64);
	check_reaches(&lan, 0, 4, 200);
	check_reaches(&lan, 4, 0, 200);
	check_reaches(&lan, 8, 0, 200); /* leaf 2 has the first spine alone */
	lan_close(&lan);
}

/* Links of unlike cables: two of one leaf's spines have twice and three times as many to it. */
static void symmetric__unlike_links(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_topo topo;
	struct weft_err err;
	struct lan lan;

	assert_int_equal(weft_topo_preset("leafspine:3:4:4", UINT64_C(100000000000), &topo, &err), 0);
	topo.link_count = 2;
	topo.link[0] = (struct weft_topo_link){.tier = 0, .sw = 1, .up = 0, .cables = 2};
	topo.link[1] = (struct weft_topo_link){.tier = 0, .sw = 1, .up = 3, .cables = 3};
	conf.route = &route_symmetric;
	lan_open_topo(&lan, &topo, conf);
	assert_int_equal(lan.net->tree.switches[1].up_cables, 7);
	check_all(&lan, 64);
	avoid(&lan, 0, 1, 4, false);
	avoid(&lan, 0, 2, 1, true);
	check_all(&lan, 64);
	check_reaches(&lan, 4, 8, 200);
	lan_close(&lan);
}

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
	fail_msg("nothing was sent");
}

/* Over the core of a mesh both of a pod's spines are behind one switch: the hash of the way up would have to be known.
 */
static void symmetric__no_mesh(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_topo topo;
	struct weft_net *net;
	struct weft_err err = {""};

	conf.route = &route_symmetric;
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_topo_preset("vl2:8:4:3:6", UINT64_C(100000000000), &topo, &err), 0);
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "needs a tree"));
}

/* What is left is used alike, and whose path is left keeps it. */
static void symmetric__reroute_moves_only_what_must(void **state)
{
	struct lan lan;
	uint32_t before[4096], count[4] = {0};

	box_open(&lan, "leafspine:4:4:4", "symmetric", NULL, 1);
	for (uint32_t e = 0; e < 4096; e++)
		before[e] = box_choose_up(&lan, 0, 0, 15, (uint16_t)e);
	box_avoid_up(&lan, 1, true);
	for (uint32_t e = 0; e < 4096; e++) {
		uint32_t up = box_choose_up(&lan, 0, 0, 15, (uint16_t)e);
		if (before[e] != 1)
			assert_int_equal(up, before[e]);
		else
			count[up]++;
	}
	assert_int_equal(count[1], 0);
	check_uniform((uint32_t[]){count[0], count[2], count[3]}, 3, count[0] + count[2] + count[3], 18.4);
	box_avoid_up(&lan, 1, false);
	for (uint32_t e = 0; e < 4096; e++)
		assert_int_equal(box_choose_up(&lan, 0, 0, 15, (uint16_t)e), before[e]);
	lan_close(&lan);
}

/* All but one of many uplinks are avoided: more draws than are made would be needed. */
static void symmetric__one_way_is_found(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:2:64:2", "symmetric", NULL, 1);
	for (uint32_t up = 0; up < 64; up++)
		if (up != 37 && up != 40)
			avoid(&lan, 0, 0, up, up & 1);
	check_all(&lan, 64);
	check_reaches(&lan, 0, 3, 200);
	avoid(&lan, 0, 0, 37, false);
	avoid(&lan, 0, 0, 40, false);
	assert_int_equal(walk(&lan, 0, 3, 5).hops, 0);
	assert_int_equal(walk(&lan, 3, 0, 5).hops, 0);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(symmetric__every_pair),
		cmocka_unit_test(symmetric__ecmp_is_not),
		cmocka_unit_test(symmetric__uplinks_are_used_alike),
		cmocka_unit_test(symmetric__an_entropy_keeps_its_path),
		cmocka_unit_test(symmetric__after_reroute),
		cmocka_unit_test(symmetric__uneven_bundles),
		cmocka_unit_test(symmetric__unlike_links),
		cmocka_unit_test(symmetric__no_mesh),
		cmocka_unit_test(symmetric__reroute_moves_only_what_must),
		cmocka_unit_test(symmetric__one_way_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
