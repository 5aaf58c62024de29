/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies by name. */
#include <errno.h>

#include "lines.h"
#include "topo.h"

enum { PRESET_FIELDS_MAX = 3, PRESET_LINK_NS = 600, PRESET_SWITCH_NS = 400 };

struct preset {
	const char *name, *usage;
	uint32_t fields, max; /* how many numbers, each 1..max */
	const char *field[PRESET_FIELDS_MAX];
	void (*build)(const uint32_t *v, struct weft_topo *t);
};

static void build_leafspine(const uint32_t *v, struct weft_topo *t)
{
	uint32_t leaves = v[0], spines = v[1], per_leaf = v[2];

	t->tiers = 2;
	t->hosts = t->pod_hosts = leaves * per_leaf;
	t->tier[0].radix_down = per_leaf;
	t->tier[0].radix_up = spines;
	t->tier[1].radix_down = leaves;
}

/* Al-Fares, Loukissas, Vahdat (SIGCOMM 2008): K pods of K/2 leaves with K/2 hosts each. An odd K has no such tree. */
static void build_fattree(const uint32_t *v, struct weft_topo *t)
{
	uint32_t half = v[0] % 2 ? 0 : v[0] / 2;

	t->tiers = 3;
	t->pod_hosts = half * half;
	t->hosts = v[0] * t->pod_hosts;
	t->tier[0].radix_down = t->tier[0].radix_up = half;
	t->tier[1].radix_down = t->tier[1].radix_up = half;
	t->tier[2].radix_down = v[0];
}

static void build_star(const uint32_t *v, struct weft_topo *t)
{
	t->tiers = 1;
	t->hosts = t->pod_hosts = t->tier[0].radix_down = v[0];
}

static const struct preset presets[] = {
	{"leafspine",
	 "leafspine:LEAVES:SPINES:HOSTS_PER_LEAF",
	 3,
	 4096,
	 {"LEAVES", "SPINES", "HOSTS_PER_LEAF"},
	 build_leafspine},
	{"fattree", "fattree:K", 1, 64, {"K"}, build_fattree},
	{"star", "star:HOSTS", 1, 4096, {"HOSTS"}, build_star},
};

enum { PRESETS = sizeof presets / sizeof presets[0] };

static const struct preset *find_preset(struct token name)
{
	for (int i = 0; i < PRESETS; i++)
		if (token_is(name, presets[i].name))
			return &presets[i];
	return NULL;
}

static int read_fields(const char *spec, const struct preset *p, const struct token *tok, uint32_t *v,
		       struct weft_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->fields && !rc; i++)
		rc = spec_u32(spec, tok[i + 1], p->field[i], 1, p->max, &v[i], err);
	return rc;
}

int weft_topo_preset(const char *spec, uint64_t link_bps, struct weft_topo *topo, struct weft_err *err)
{
	struct token tok[PRESET_FIELDS_MAX + 1];
	uint32_t v[PRESET_FIELDS_MAX], count = spec_split(spec, tok, PRESET_FIELDS_MAX + 1);
	const struct preset *p = find_preset(tok[0]);

	if (!p)
		return weft_err_set(err, -ENOENT, "'%.80s' is no topology; there are %s, %s and %s", spec,
				    presets[0].usage, presets[1].usage, presets[2].usage);
	if (count != p->fields + 1)
		return weft_err_set(err, -EINVAL, "'%.80s': the form is %s", spec, p->usage);
	int rc = read_fields(spec, p, tok, v, err);
	if (rc)
		return rc;
	*topo = (struct weft_topo){0};
	p->build(v, topo);
	for (uint32_t i = 0; i < topo->tiers; i++) {
		topo->tier[i].down_latency_ns = PRESET_LINK_NS;
		topo->tier[i].switch_latency_ns = PRESET_SWITCH_NS;
		topo->tier[i].bundle = 1;
	}
	weft_topo_set_bps(topo, link_bps);
	if (p->build == build_fattree && topo->hosts == 0)
		return weft_err_set(err, -EINVAL, "'%s': K must be even", spec);
	return weft_topo_check(topo, err);
}
