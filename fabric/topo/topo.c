/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "topo_check.h"

static int refuse(struct topo_fault *f, uint32_t tier, enum topo_key key)
{
	assert(key < TOPO_KEYS && tier <= TOPO_HEAD);
	f->tier = tier;
	f->key = key;
	return -EINVAL;
}

#define REFUSE(f, tier, key, ...) (snprintf((f)->reason, sizeof(f)->reason, __VA_ARGS__), refuse(f, tier, key))

static int check_links(const struct weft_topo *t, uint32_t i, struct topo_fault *f)
{
	const struct weft_topo_tier *tier = &t->tier[i];
	bool top = i + 1 == t->tiers;

	if (tier->down_bps < TOPO_BPS_MIN || tier->down_bps > TOPO_BPS_MAX)
		return REFUSE(f, i, TOPO_SPEED, "link speed must be 0.001..10000 Gb/s");
	if (tier->down_latency_ns > TOPO_LATENCY_MAX_NS)
		return REFUSE(f, i, TOPO_DOWN_LATENCY, "latency must be at most %d ns", TOPO_LATENCY_MAX_NS);
	if (tier->switch_latency_ns > TOPO_LATENCY_MAX_NS)
		return REFUSE(f, i, TOPO_SWITCH_LATENCY, "latency must be at most %d ns", TOPO_LATENCY_MAX_NS);
	if (tier->radix_down == 0 || tier->radix_down > WEFT_TOPO_HOSTS_MAX)
		return REFUSE(f, i, TOPO_RADIX_DOWN, "a switch needs 1..%d links down", WEFT_TOPO_HOSTS_MAX);
	if (top ? tier->radix_up != 0 : tier->radix_up == 0)
		return REFUSE(f, i, TOPO_RADIX_UP,
			      top ? "the top tier has no links up" : "a switch below the top needs links up");
	if (tier->radix_up > WEFT_TOPO_HOSTS_MAX)
		return REFUSE(f, i, TOPO_RADIX_UP, "at most %d links up", WEFT_TOPO_HOSTS_MAX);
	if (tier->bundle == 0 || tier->bundle > TOPO_BUNDLE_MAX || (i == 0 && tier->bundle != 1))
		return REFUSE(f, i, TOPO_BUNDLE, "a link is 1..%d cables; a host has one", TOPO_BUNDLE_MAX);
	return 0;
}

static int check_hosts(const struct weft_topo *t, struct topo_fault *f)
{
	uint32_t per_leaf = t->tier[0].radix_down;

	if (t->pod_hosts == 0 || t->hosts % t->pod_hosts != 0)
		return REFUSE(f, TOPO_HEAD, TOPO_PODSIZE, "%u hosts do not divide into pods of %u", t->hosts,
			      t->pod_hosts);
	if (t->tiers < 3 && t->pod_hosts != t->hosts)
		return REFUSE(f, TOPO_HEAD, TOPO_PODSIZE, "with %u tiers all %u hosts are one pod, not pods of %u",
			      t->tiers, t->hosts, t->pod_hosts);
	if (t->pod_hosts % per_leaf != 0)
		return REFUSE(f, 0, TOPO_RADIX_DOWN, "%u hosts of a pod do not divide into leaves of %u", t->pod_hosts,
			      per_leaf);
	if (t->tiers == 1 && per_leaf != t->hosts)
		return REFUSE(f, 0, TOPO_RADIX_DOWN, "one switch for %u hosts has %u links", t->hosts, per_leaf);
	return 0;
}

static int check_core(const struct weft_topo *t, uint32_t pods, struct topo_fault *f)
{
	uint64_t below = (uint64_t)pods * t->tier[0].radix_up;

	if (t->mesh && t->tier[2].radix_down != below)
		return REFUSE(f, 2, TOPO_RADIX_DOWN, "each core switch of a mesh reaches %u spines, but there are %llu",
			      t->tier[2].radix_down, (unsigned long long)below);
	if (!t->mesh && t->tier[2].radix_down != pods)
		return REFUSE(f, 2, TOPO_RADIX_DOWN, "each core switch reaches %u pods, but there are %u",
			      t->tier[2].radix_down, pods);
	return 0;
}

static int check_wiring(const struct weft_topo *t, struct topo_fault *f)
{
	uint32_t leaves = t->pod_hosts / t->tier[0].radix_down;
	uint32_t pods = t->hosts / t->pod_hosts;

	if (t->mesh && t->tiers != 3)
		return REFUSE(f, t->tiers - 1, TOPO_MESH, "only the third tier of three can be a mesh");
	if (t->tiers >= 2 && t->tier[1].radix_down != leaves)
		return REFUSE(f, 1, TOPO_RADIX_DOWN, "each switch reaches %u leaves, but %s %u", t->tier[1].radix_down,
			      t->tiers == 2 ? "there are" : "a pod has", leaves);
	return t->tiers == 3 ? check_core(t, pods, f) : 0;
}

static void derive_switches(struct weft_topo *t)
{
	uint32_t pods = t->hosts / t->pod_hosts;

	t->tier[0].switches = t->hosts / t->tier[0].radix_down;
	if (t->tiers >= 2)
		t->tier[1].switches = pods * t->tier[0].radix_up;
	if (t->tiers == 3)
		t->tier[2].switches = t->tier[1].radix_up * (t->mesh ? 1 : t->tier[0].radix_up);
}

static int check_link(const struct weft_topo *t, const struct weft_topo_link *l, struct topo_fault *f)
{
	if (l->tier + 1u >= t->tiers)
		return REFUSE(f, TOPO_HEAD, TOPO_NODES, "a link from tier %u, but there are %u tiers", l->tier,
			      t->tiers);
	if (l->sw >= t->tier[l->tier].switches || l->up >= t->tier[l->tier].radix_up)
		return REFUSE(f, l->tier + 1u, TOPO_LINK, "no link %u of switch %u below: they are 0..%u of 0..%u",
			      l->up, l->sw, t->tier[l->tier].radix_up - 1, t->tier[l->tier].switches - 1);
	if (l->bps && (l->bps < TOPO_BPS_MIN || l->bps > TOPO_BPS_MAX))
		return REFUSE(f, l->tier + 1u, TOPO_LINK, "link speed must be 0.001..10000 Gb/s");
	if (weft_topo_link_find(t, l->tier, l->sw, l->up) != l)
		return REFUSE(f, l->tier + 1u, TOPO_LINK, "link %u of switch %u below is given twice", l->up, l->sw);
	return 0;
}

static int check_unlike(const struct weft_topo *t, struct topo_fault *f)
{
	int rc = 0;

	f->link = 0;
	if (t->link_count > WEFT_TOPO_LINKS_MAX)
		return REFUSE(f, t->tiers - 1, TOPO_LINK, "at most %d links can differ", WEFT_TOPO_LINKS_MAX);
	for (uint32_t i = 0; i < t->link_count && !rc; i++) {
		f->link = i;
		rc = check_link(t, &t->link[i], f);
	}
	return rc;
}

static int check_ports(const struct weft_topo *t, struct topo_fault *f)
{
	uint64_t ports = t->hosts;

	for (uint32_t i = 1; i < t->tiers; i++)
		ports += 2ull * t->tier[i].switches * t->tier[i].radix_down * t->tier[i].bundle;
	for (uint32_t i = 0; i < t->link_count; i++)
		ports += 2ull * t->link[i].cables;
	if (ports > WEFT_TOPO_PORTS_MAX)
		return REFUSE(f, TOPO_HEAD, TOPO_NODES, "%llu switch ports, at most %d are supported",
			      (unsigned long long)ports, WEFT_TOPO_PORTS_MAX);
	return 0;
}

int topo_check(struct weft_topo *t, struct topo_fault *f)
{
	int rc = 0;

	if (t->hosts == 0 || t->hosts > WEFT_TOPO_HOSTS_MAX)
		return REFUSE(f, TOPO_HEAD, TOPO_NODES, "the number of hosts must be 1..%d", WEFT_TOPO_HOSTS_MAX);
	if (t->tiers == 0 || t->tiers > WEFT_TOPO_TIERS_MAX)
		return REFUSE(f, TOPO_HEAD, TOPO_TIERS, "the number of tiers must be 1..%d", WEFT_TOPO_TIERS_MAX);
	for (uint32_t i = 0; i < t->tiers && !rc; i++)
		rc = check_links(t, i, f);
	if (!rc)
		rc = check_hosts(t, f);
	if (!rc)
		rc = check_wiring(t, f);
	if (rc)
		return rc;
	derive_switches(t);
	rc = check_unlike(t, f);
	return rc ? rc : check_ports(t, f);
}

int weft_topo_check(struct weft_topo *topo, struct weft_err *err)
{
	struct topo_fault f;

	if (topo_check(topo, &f) == 0)
		return 0;
	if (f.tier == TOPO_HEAD)
		return weft_err_set(err, -EINVAL, "topology: %s", f.reason);
	return weft_err_set(err, -EINVAL, "topology, tier %u: %s", f.tier, f.reason);
}

uint32_t weft_topo_uplinks(const struct weft_topo *topo, uint32_t tier)
{
	uint32_t most = tier + 1 < topo->tiers ? topo->tier[tier].radix_up * topo->tier[tier + 1].bundle : 0;

	for (uint32_t i = 0; i < topo->link_count; i++) {
		uint32_t own = topo->link[i].tier == tier ? weft_topo_switch_uplinks(topo, tier, topo->link[i].sw) : 0;
		most = own > most ? own : most;
	}
	return most;
}

void weft_topo_digits(const struct weft_topo *topo, struct weft_lb_digits *digits)
{
	assert(topo->tiers <= WEFT_LB_PARTS + 1);
	uint32_t uplinks[WEFT_LB_PARTS] = {0};

	for (uint32_t i = 0; i + 1 < topo->tiers; i++)
		uplinks[i] = weft_topo_uplinks(topo, i);
	weft_lb_digits_init(digits, uplinks);
}

bool weft_topo_leaf_oversubscribed(const struct weft_topo *topo)
{
	if (topo->tiers < 2)
		return false;
	uint64_t hosts_bps = topo->tier[0].radix_down * topo->tier[0].down_bps;
	uint32_t leaves = topo->link_count ? topo->tier[0].switches : 1; /* without links of their own all are alike */
	for (uint32_t leaf = 0; leaf < leaves; leaf++)
		if (hosts_bps > weft_topo_group_up_bps(topo, 0, leaf))
			return true;
	return false;
}

uint32_t weft_topo_switch_uplinks(const struct weft_topo *topo, uint32_t tier, uint32_t sw)
{
	assert(tier < topo->tiers);
	if (tier + 1 >= topo->tiers)
		return 0;
	uint32_t bundle = topo->tier[tier + 1].bundle, cables = topo->tier[tier].radix_up * bundle;
	for (uint32_t i = 0; i < topo->link_count; i++) {
		const struct weft_topo_link *l = &topo->link[i];
		if (l->tier == tier && l->sw == sw && l->cables)
			cables += l->cables - bundle;
	}
	return cables;
}

/* What the links up of the switches first..end-1 of `tier` that differ from the others add to these. */
static int64_t unlike_bps(const struct weft_topo *topo, uint32_t tier, uint64_t first, uint64_t end)
{
	const struct weft_topo_tier *above = &topo->tier[tier + 1];
	int64_t plain = (int64_t)(above->down_bps * above->bundle), more = 0;

	for (uint32_t i = 0; i < topo->link_count; i++) {
		const struct weft_topo_link *l = &topo->link[i];
		uint64_t bps = l->bps ? l->bps : above->down_bps;
		if (l->tier == tier && l->sw >= first && l->sw < end)
			more += (int64_t)(bps * (l->cables ? l->cables : above->bundle)) - plain;
	}
	return more;
}

uint64_t weft_topo_group_up_bps(const struct weft_topo *topo, uint32_t tier, uint32_t group)
{
	assert(tier + 1 < topo->tiers);
	const struct weft_topo_tier *above = &topo->tier[tier + 1];
	uint64_t switches = tier == 0 ? 1 : topo->tier[1].switches / (topo->hosts / topo->pod_hosts);
	uint64_t plain = switches * topo->tier[tier].radix_up * above->bundle * above->down_bps;

	return plain + (uint64_t)unlike_bps(topo, tier, group * switches, (group + 1) * switches);
}

const struct weft_topo_link *weft_topo_link_find(const struct weft_topo *topo, uint32_t tier, uint32_t sw, uint32_t up)
{
	for (uint32_t i = 0; i < topo->link_count; i++) {
		const struct weft_topo_link *l = &topo->link[i];
		if (l->tier == tier && l->sw == sw && l->up == up)
			return l;
	}
	return NULL;
}

uint32_t weft_topo_groups_down(const struct weft_topo *topo, uint32_t tier)
{
	assert(tier < topo->tiers);
	return topo->mesh && tier == 2 ? topo->hosts / topo->pod_hosts : topo->tier[tier].radix_down;
}

const char *weft_topo_tier_name(uint32_t tier)
{
	static const char *const names[WEFT_TOPO_TIERS_MAX] = {"leaf", "spine", "core"};

	assert(tier < WEFT_TOPO_TIERS_MAX);
	return names[tier];
}

void weft_topo_set_bps(struct weft_topo *topo, uint64_t bps)
{
	for (uint32_t i = 0; i < topo->tiers; i++)
		topo->tier[i].down_bps = bps;
	for (uint32_t i = 0; i < topo->link_count; i++)
		topo->link[i].bps = 0;
}

uint64_t weft_topo_clamp_bps(uint64_t bps)
{
	return bps < TOPO_BPS_MIN ? TOPO_BPS_MIN : bps > TOPO_BPS_MAX ? TOPO_BPS_MAX : bps;
}
