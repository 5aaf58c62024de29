/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies by name. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "topo.h"

enum { PRESET_FIELDS_MAX = 5, PRESET_LINK_NS = 600, PRESET_SWITCH_NS = 400 };

struct preset {
	const char *name;
	uint32_t required, fields, max; /* how many numbers, each 1..max; the others are 1 if not given */
	const char *field[PRESET_FIELDS_MAX];
	const char *(*build)(const uint32_t *v, struct weft_topo *t); /* NULL, or why there is no such tree */
};

static const char *build_leafspine(const uint32_t *v, struct weft_topo *t)
{
	uint32_t leaves = v[0], spines = v[1], per_leaf = v[2];

	t->tiers = 2;
	t->hosts = t->pod_hosts = leaves * per_leaf;
	t->tier[0].radix_down = per_leaf;
	t->tier[0].radix_up = spines;
	t->tier[1].radix_down = leaves;
	t->tier[1].bundle = v[3];
	return NULL;
}

/* Products too large for 32 bits do not pass for smaller ones. */
static uint32_t hosts_product(uint64_t a, uint64_t b)
{
	return a * b <= WEFT_TOPO_HOSTS_MAX ? (uint32_t)(a * b) : UINT32_MAX;
}

static const char *build_tree(const uint32_t *v, struct weft_topo *t)
{
	uint32_t pods = v[0], leaves = v[1], per_leaf = v[2];

	t->tiers = 3;
	t->pod_hosts = hosts_product(leaves, per_leaf);
	t->hosts = hosts_product(pods, t->pod_hosts);
	t->tier[0].radix_down = per_leaf;
	t->tier[0].radix_up = v[3];
	t->tier[1].radix_down = leaves;
	t->tier[1].radix_up = v[4];
	t->tier[2].radix_down = pods;
	return NULL;
}

/* Al-Fares, Loukissas, Vahdat (SIGCOMM 2008): K pods of K/2 leaves with K/2 hosts each; with fewer uplinks, and what is
 * above them, where it is oversubscribed. */
static const char *build_fattree(const uint32_t *v, struct weft_topo *t)
{
	uint32_t half = v[0] / 2, leaf_os = v[1], spine_os = v[2];

	if (v[0] % 2)
		return "K must be even";
	if (half % leaf_os || half % spine_os)
		return "K/2 uplinks do not divide by the oversubscription";
	const uint32_t tree[] = {v[0], half, half, half / leaf_os, half / spine_os};
	return build_tree(tree, t);
}

/* Imbalanced striping as in DRILL section 4 (figure 13): leaf i has more cables to the spines i, i + 1, ..., modulo
 * their number, than to the others. */
static const char *build_stripe(const uint32_t *v, struct weft_topo *t)
{
	const uint32_t plain[] = {v[0], v[1], v[2], 1};
	uint32_t spines = v[1], wide = v[3], cables = v[4];

	if (wide > spines || cables > UINT8_MAX)
		return "WIDE is at most SPINES, and CABLES at most 255";
	if ((uint64_t)v[0] * wide > WEFT_TOPO_LINKS_MAX)
		return "too many links with several cables";
	build_leafspine(plain, t);
	for (uint32_t leaf = 0; leaf < v[0]; leaf++)
		for (uint32_t i = 0; i < wide; i++)
			t->link[t->link_count++] = (struct weft_topo_link){
				.sw = leaf, .up = (uint16_t)((leaf + i) % spines), .cables = (uint8_t)cables};
	return NULL;
}

/* VL2 (SIGCOMM 2009, section 4.1): a ToR has links to both aggregation switches of a pair, and every aggregation switch
 * one to every intermediate switch. */
static const char *build_vl2(const uint32_t *v, struct weft_topo *t)
{
	uint32_t tors = v[0], aggs = v[1];

	if (aggs % 2 || tors % (aggs / 2))
		return "AGGS is even, and TORS divides into its pairs";
	const uint32_t tree[] = {aggs / 2, tors / (aggs / 2), v[3], 2, v[2]};
	build_tree(tree, t);
	t->tier[2].radix_down = aggs;
	t->mesh = 1;
	return NULL;
}

static const char *build_star(const uint32_t *v, struct weft_topo *t)
{
	t->tiers = 1;
	t->hosts = t->pod_hosts = t->tier[0].radix_down = v[0];
	return NULL;
}

enum { LEAFSPINE, FATTREE, TREE, STAR, STRIPE, VL2, PRESETS };

const struct weft_topo_kind weft_topo_kinds[] = {
	[LEAFSPINE] = {"leafspine:LEAVES:SPINES:HOSTS[:BUNDLE]",
		       "two tiers, HOSTS per leaf, BUNDLE cables from each leaf to each spine"},
	[FATTREE] = {"fattree:K[:LEAF_OS[:SPINE_OS]]",
		     "three tiers, K^3/4 hosts; oversubscribed LEAF_OS:1 at the leaves, SPINE_OS:1 above"},
	[TREE] = {"tree:PODS:LEAVES:HOSTS:LEAF_UPLINKS:SPINE_UPLINKS",
		  "three tiers of any size: LEAVES per pod, HOSTS per leaf"},
	[STAR] = {"star:HOSTS", "one switch"},
	[STRIPE] = {"stripe:LEAVES:SPINES:HOSTS:WIDE:CABLES",
		    "leafspine; leaf i has CABLES cables to WIDE spines from spine i on"},
	[VL2] = {"vl2:TORS:AGGS:INTERMEDIATES:HOSTS",
		 "three tiers: a ToR on a pair of aggregation switches, these on all intermediates"},
	[PRESETS] = {NULL, NULL},
};

static const struct preset presets[PRESETS] = {
	[LEAFSPINE] = {"leafspine", 3, 4, 4096, {"LEAVES", "SPINES", "HOSTS", "BUNDLE"}, build_leafspine},
	[FATTREE] = {"fattree", 1, 3, 64, {"K", "LEAF_OS", "SPINE_OS"}, build_fattree},
	[TREE] = {"tree", 5, 5, 4096, {"PODS", "LEAVES", "HOSTS", "LEAF_UPLINKS", "SPINE_UPLINKS"}, build_tree},
	[STAR] = {"star", 1, 1, 4096, {"HOSTS"}, build_star},
	[STRIPE] = {"stripe", 5, 5, 4096, {"LEAVES", "SPINES", "HOSTS", "WIDE", "CABLES"}, build_stripe},
	[VL2] = {"vl2", 4, 4, 4096, {"TORS", "AGGS", "INTERMEDIATES", "HOSTS"}, build_vl2},
};

static const struct preset *find_preset(struct token name)
{
	for (int i = 0; i < PRESETS; i++)
		if (token_is(name, presets[i].name))
			return &presets[i];
	return NULL;
}

static int read_fields(const char *spec, const struct preset *p, const struct token *tok, uint32_t count, uint32_t *v,
		       struct weft_err *err)
{
	assert(p->fields <= PRESET_FIELDS_MAX && p->required <= p->fields);
	int rc = 0;

	for (uint32_t i = 0; i < p->fields && !rc; i++) {
		v[i] = 1;
		if (i < count)
			rc = spec_u32(spec, tok[i], p->field[i], 1, p->max, &v[i], err);
	}
	return rc;
}

/* What all presets have in common, and what this one says. */
static const char *build(const struct preset *p, const uint32_t *v, uint64_t link_bps, struct weft_topo *topo)
{
	memset(topo, 0, sizeof *topo);
	for (uint32_t i = 0; i < WEFT_TOPO_TIERS_MAX; i++)
		topo->tier[i].bundle = 1;
	const char *reason = p->build(v, topo);
	assert(topo->tiers <= WEFT_TOPO_TIERS_MAX && topo->link_count <= WEFT_TOPO_LINKS_MAX);
	for (uint32_t i = 0; i < topo->tiers; i++) {
		topo->tier[i].down_latency_ns = PRESET_LINK_NS;
		topo->tier[i].switch_latency_ns = PRESET_SWITCH_NS;
	}
	weft_topo_set_bps(topo, link_bps);
	return reason;
}

static int refuse_name(const char *spec, struct weft_err *err)
{
	char all[200];
	int len = 0;

	for (int i = 0; i < PRESETS; i++)
		len += snprintf(all + len, sizeof all - (size_t)len, "%s%s", i ? ", " : "", presets[i].name);
	return weft_err_set(err, -ENOENT, "'%.40s' is neither a file nor a preset; presets are %s", spec, all);
}

int weft_topo_preset(const char *spec, uint64_t link_bps, struct weft_topo *topo, struct weft_err *err)
{
	struct token tok[PRESET_FIELDS_MAX + 1];
	uint32_t v[PRESET_FIELDS_MAX], count = spec_split(spec, tok, PRESET_FIELDS_MAX + 1) - 1;
	const struct preset *p = find_preset(tok[0]);

	if (!p)
		return refuse_name(spec, err);
	if (count < p->required || count > p->fields)
		return weft_err_set(err, -EINVAL, "'%.80s': the form is %s", spec, weft_topo_kinds[p - presets].usage);
	int rc = read_fields(spec, p, tok + 1, count, v, err);
	if (rc)
		return rc;
	const char *reason = build(p, v, link_bps, topo);
	return reason ? weft_err_set(err, -EINVAL, "'%.80s': %s", spec, reason) : weft_topo_check(topo, err);
}
