/* SPDX-License-Identifier: BSD-3-Clause */
/* The .topo text format, read and written. Radices count cables there, links (bundles) in struct weft_topo. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "topo_check.h"

/* Values of one section of the file: a tier, or the head. */
struct section {
	uint64_t value[TOPO_KEYS];
	uint32_t line[TOPO_KEYS]; /* where it was given; 0: not */
};

struct topo_reader {
	struct lines l;
	struct section sec[WEFT_TOPO_TIERS_MAX + 1]; /* by tier, then TOPO_HEAD */
	uint32_t cur;                                /* section being read */
	uint32_t link_count;
	uint32_t link_line[WEFT_TOPO_LINKS_MAX];
	struct weft_topo_link link[WEFT_TOPO_LINKS_MAX];
};

struct key_desc {
	const char *name;
	bool in_head, in_tier;
	bool required;
	uint64_t min, max;
};

static const struct key_desc key_descs[TOPO_KEYS] = {
	[TOPO_NODES] = {"Nodes", true, false, true, 0, WEFT_TOPO_HOSTS_MAX},
	[TOPO_TIERS] = {"Tiers", true, false, true, 0, WEFT_TOPO_TIERS_MAX},
	[TOPO_PODSIZE] = {"Podsize", true, false, true, 0, WEFT_TOPO_HOSTS_MAX},
	[TOPO_TIER] = {"Tier", true, true, false, 0, WEFT_TOPO_TIERS_MAX - 1},
	[TOPO_SPEED] = {"Downlink_speed_Gbps", false, true, true, 0, TOPO_BPS_MAX},
	[TOPO_RADIX_DOWN] = {"Radix_Down", false, true, true, 0, WEFT_TOPO_HOSTS_MAX},
	[TOPO_RADIX_UP] = {"Radix_Up", false, true, false, 0, WEFT_TOPO_HOSTS_MAX},
	[TOPO_DOWN_LATENCY] = {"Downlink_Latency_ns", false, true, true, 0, TOPO_LATENCY_MAX_NS},
	[TOPO_SWITCH_LATENCY] = {"Switch_Latency_ns", false, true, false, 0, TOPO_LATENCY_MAX_NS},
	[TOPO_OVERSUBSCRIBED] = {"Oversubscribed", false, true, false, 0, WEFT_TOPO_HOSTS_MAX},
	[TOPO_BUNDLE] = {"Bundle", false, true, false, 1, TOPO_BUNDLE_MAX},
	[TOPO_MESH] = {"Mesh", false, true, false, 0, 1},
	[TOPO_LINK] = {"Link", false, true, false, 0, 0},
	/* The depth of queues is a setting of a run, not of a tree: read and not used. */
	[TOPO_QUEUE_UP] = {"Queue_up", false, true, false, 0, UINT64_MAX},
	[TOPO_QUEUE_DOWN] = {"Queue_down", false, true, false, 0, UINT64_MAX},
};

static int unknown_key(const struct topo_reader *r)
{
	struct token t = r->l.tok[0];
	bool head = r->cur == TOPO_HEAD;
	char valid[160];
	size_t n = 0;

	for (int k = 0; k < TOPO_KEYS; k++)
		if (head ? key_descs[k].in_head : key_descs[k].in_tier)
			n += (size_t)snprintf(valid + n, sizeof valid - n, " %s", key_descs[k].name);
	return lines_error(&r->l, "'%.*s' is none of:%s", (int)(t.len < 24 ? t.len : 24), t.s, valid);
}

/* Gb/s with up to nine decimals. */
static bool parse_gbps(struct token t, uint64_t *bps)
{
	uint64_t whole, unit = 100000000;
	struct token rest;

	if (!token_u64(t, &whole, &rest) || whole > TOPO_BPS_MAX / 1000000000)
		return false;
	*bps = whole * UINT64_C(1000000000);
	if (rest.len == 0)
		return true;
	if (rest.s[0] != '.' || rest.len < 2)
		return false;
	for (size_t i = 1; i < rest.len; i++, unit /= 10) {
		if (rest.s[i] < '0' || rest.s[i] > '9' || unit == 0)
			return false;
		*bps += (uint64_t)(rest.s[i] - '0') * unit;
	}
	return true;
}

static int read_value(struct topo_reader *r, enum topo_key key, uint64_t *v)
{
	const struct lines *l = &r->l;

	if (l->count > 2)
		return lines_error(l, "%s takes one value", key_descs[key].name);
	if (key != TOPO_SPEED)
		return lines_u64(l, 1, key_descs[key].name, key_descs[key].min, key_descs[key].max, v);
	if (l->count < 2 || !parse_gbps(l->tok[1], v))
		return lines_error(l, "%s: a number of Gb/s is missing", key_descs[key].name);
	return 0;
}

/* Link SWITCH UP CABLES [GBPS]: a link below this tier that is not like the others. */
static int read_link(struct topo_reader *r)
{
	const struct lines *l = &r->l;
	uint32_t sw = 0, up = 0, cables = 0;
	uint64_t bps = 0;

	if (r->cur == 0)
		return lines_error(l, "the links to hosts are all alike");
	if (r->link_count == WEFT_TOPO_LINKS_MAX)
		return lines_error(l, "at most %d links can differ", WEFT_TOPO_LINKS_MAX);
	if (l->count > 5)
		return lines_error(l, "Link takes SWITCH UP CABLES [GBPS]");
	int rc = lines_u32(l, 1, "SWITCH", 0, WEFT_TOPO_HOSTS_MAX, &sw);
	if (!rc)
		rc = lines_u32(l, 2, "UP", 0, UINT16_MAX, &up);
	if (!rc)
		rc = lines_u32(l, 3, "CABLES", 1, UINT8_MAX, &cables);
	if (!rc && l->count == 5 && (!parse_gbps(l->tok[4], &bps) || bps == 0))
		rc = lines_error(l, "GBPS: a number of Gb/s is missing");
	if (rc)
		return rc;
	assert(r->link_count < WEFT_TOPO_LINKS_MAX && r->cur <= TOPO_HEAD);
	r->link_line[r->link_count] = l->line;
	r->link[r->link_count++] = (struct weft_topo_link){
		.bps = bps, .sw = sw, .up = (uint16_t)up, .tier = (uint8_t)(r->cur - 1), .cables = (uint8_t)cables};
	return 0;
}

static int read_line(struct topo_reader *r)
{
	uint64_t v = 0;
	int k = 0;

	while (k < TOPO_KEYS && !lines_is(&r->l, 0, key_descs[k].name))
		k++;
	if (k == TOPO_KEYS || !(r->cur == TOPO_HEAD ? key_descs[k].in_head : key_descs[k].in_tier))
		return unknown_key(r);
	if (k == TOPO_LINK)
		return read_link(r);
	int rc = read_value(r, k, &v);
	if (rc)
		return rc;
	if (k == TOPO_TIER)
		r->cur = (uint32_t)v;
	struct section *sec = &r->sec[r->cur];
	if (sec->line[k])
		return lines_error(&r->l, "%s was given in line %u already", key_descs[k].name, sec->line[k]);
	sec->value[k] = v;
	sec->line[k] = r->l.line;
	return 0;
}

static int missing_keys(const struct topo_reader *r, uint32_t s)
{
	const struct section *sec = &r->sec[s];
	bool head = s == TOPO_HEAD;
	uint32_t line = head ? r->l.line : sec->line[TOPO_TIER];

	if (!head && !line)
		return lines_error_at(&r->l, r->l.line, "section Tier %u is missing", s);
	for (int k = 0; k < TOPO_KEYS; k++)
		if ((head ? key_descs[k].in_head : key_descs[k].in_tier) && key_descs[k].required && !sec->line[k])
			return lines_error_at(&r->l, line, "%s is missing", key_descs[k].name);
	return 0;
}

static int check_sections(const struct topo_reader *r)
{
	const struct section *head = &r->sec[TOPO_HEAD];
	int rc = missing_keys(r, TOPO_HEAD);

	if (rc)
		return rc;
	uint64_t tiers = head->value[TOPO_TIERS];
	if (tiers < 2)
		return lines_error_at(&r->l, head->line[TOPO_TIERS], "Tiers must be 2 or 3");
	for (uint32_t i = 0; i < WEFT_TOPO_TIERS_MAX && !rc; i++) {
		if (i < tiers)
			rc = missing_keys(r, i);
		else if (r->sec[i].line[TOPO_TIER])
			rc = lines_error_at(&r->l, r->sec[i].line[TOPO_TIER], "Tier %u of a tree with %u tiers", i,
					    (unsigned)tiers);
	}
	return rc;
}

static uint32_t bundle_of(const struct topo_reader *r, uint32_t tier)
{
	assert(tier < WEFT_TOPO_TIERS_MAX);
	return r->sec[tier].line[TOPO_BUNDLE] ? (uint32_t)r->sec[tier].value[TOPO_BUNDLE] : 1;
}

/* Cables to links: `bundle` cables each. */
static int links_of(const struct topo_reader *r, const struct section *sec, enum topo_key key, uint32_t bundle,
		    uint32_t *out)
{
	uint64_t cables = sec->value[key];

	assert(bundle > 0);
	if (cables % bundle != 0)
		return lines_error_at(&r->l, sec->line[key], "%s %u does not divide into bundles of %u",
				      key_descs[key].name, (unsigned)cables, bundle);
	*out = (uint32_t)(cables / bundle);
	return 0;
}

static int fill_tier(const struct topo_reader *r, uint32_t i, bool top, struct weft_topo_tier *tier)
{
	const struct section *sec = &r->sec[i];

	*tier = (struct weft_topo_tier){.down_bps = sec->value[TOPO_SPEED],
					.down_latency_ns = sec->value[TOPO_DOWN_LATENCY],
					.switch_latency_ns = sec->value[TOPO_SWITCH_LATENCY],
					.bundle = bundle_of(r, i)};
	int rc = links_of(r, sec, TOPO_RADIX_DOWN, tier->bundle, &tier->radix_down);
	if (rc)
		return rc;
	return links_of(r, sec, TOPO_RADIX_UP, top ? 1 : bundle_of(r, i + 1), &tier->radix_up);
}

/* The ratio is redundant in the file: it has to agree with the radices, in whole numbers. */
static int check_oversubscribed(const struct topo_reader *r, uint32_t i)
{
	const struct section *sec = &r->sec[i];
	uint64_t up = sec->value[TOPO_RADIX_UP];

	if (!sec->line[TOPO_OVERSUBSCRIBED] || up == 0 ||
	    sec->value[TOPO_RADIX_DOWN] / up == sec->value[TOPO_OVERSUBSCRIBED])
		return 0;
	return lines_error_at(
		&r->l, sec->line[TOPO_OVERSUBSCRIBED], "Oversubscribed %u, but Radix_Down / Radix_Up is %u / %u",
		(unsigned)sec->value[TOPO_OVERSUBSCRIBED], (unsigned)sec->value[TOPO_RADIX_DOWN], (unsigned)up);
}

static int fill_topo(const struct topo_reader *r, struct weft_topo *t)
{
	const uint64_t *head = r->sec[TOPO_HEAD].value;
	int rc = 0;

	*t = (struct weft_topo){.hosts = (uint32_t)head[TOPO_NODES],
				.tiers = (uint32_t)head[TOPO_TIERS],
				.pod_hosts = (uint32_t)head[TOPO_PODSIZE],
				.mesh = (uint32_t)r->sec[2].value[TOPO_MESH],
				.link_count = r->link_count};
	memcpy(t->link, r->link, r->link_count * sizeof *r->link);
	for (uint32_t i = 0; i < t->tiers && !rc; i++) {
		rc = fill_tier(r, i, i + 1 == t->tiers, &t->tier[i]);
		if (!rc)
			rc = check_oversubscribed(r, i);
		if (!rc && i < 2 && r->sec[i].value[TOPO_MESH])
			rc = lines_error_at(&r->l, r->sec[i].line[TOPO_MESH], "only Tier 2 can be a mesh");
	}
	return rc;
}

/* Which line a refusal is about: the property's, or that of the section it is missing in. */
static uint32_t fault_line(const struct topo_reader *r, const struct topo_fault *f)
{
	const uint32_t *line = r->sec[f->tier].line;

	assert(f->tier <= TOPO_HEAD && f->key < TOPO_KEYS);
	if (f->key == TOPO_LINK)
		return r->link_line[f->link];
	return line[f->key] ? line[f->key] : line[TOPO_TIER];
}

int weft_topo_parse(const char *text, size_t len, const char *name, struct weft_topo *topo, struct weft_err *err)
{
	struct topo_reader r = {.cur = TOPO_HEAD};
	struct topo_fault f;
	int rc;

	lines_init(&r.l, text, len, name, err);
	while ((rc = lines_next(&r.l)) > 0) {
		rc = read_line(&r);
		if (rc)
			return rc;
	}
	if (!rc)
		rc = check_sections(&r);
	if (!rc)
		rc = fill_topo(&r, topo);
	if (!rc && topo_check(topo, &f))
		rc = lines_error_at(&r.l, fault_line(&r, &f), "%s", f.reason);
	return rc;
}

struct printer {
	char *buf;
	size_t size;
	int len; /* of the whole text, as snprintf */
};

#define PRINT(p, ...)                                                                                                  \
	((p)->len += snprintf((size_t)(p)->len < (p)->size ? (p)->buf + (p)->len : NULL,                               \
			      (size_t)(p)->len < (p)->size ? (p)->size - (size_t)(p)->len : 0, __VA_ARGS__))

static void print_gbps(struct printer *p, uint64_t bps)
{
	PRINT(p, "%" PRIu64, bps / 1000000000);
	if (bps % 1000000000)
		PRINT(p, ".%09" PRIu64, bps % 1000000000);
}

static void print_link(struct printer *p, const struct weft_topo *t, const struct weft_topo_link *l)
{
	PRINT(p, "Link %u %u %u", l->sw, l->up, l->cables ? l->cables : t->tier[l->tier + 1].bundle);
	if (l->bps)
		PRINT(p, " ");
	if (l->bps)
		print_gbps(p, l->bps);
	PRINT(p, "\n");
}

static void print_tier(struct printer *p, const struct weft_topo *t, uint32_t i)
{
	const struct weft_topo_tier *tier = &t->tier[i];
	uint32_t down = tier->radix_down * tier->bundle;
	uint32_t up = i + 1 < t->tiers ? tier->radix_up * t->tier[i + 1].bundle : 0;

	PRINT(p, "\nTier %u\n", i);
	if (up)
		PRINT(p, "Oversubscribed %u\n", down / up);
	PRINT(p, "Downlink_speed_Gbps ");
	print_gbps(p, tier->down_bps);
	PRINT(p, "\nRadix_Down %u\n", down);
	if (up)
		PRINT(p, "Radix_Up %u\n", up);
	PRINT(p, "Downlink_Latency_ns %" PRIu64 "\nSwitch_Latency_ns %" PRIu64 "\n", tier->down_latency_ns,
	      tier->switch_latency_ns);
	if (tier->bundle > 1)
		PRINT(p, "Bundle %u\n", tier->bundle);
	if (i == 2 && t->mesh)
		PRINT(p, "Mesh 1\n");
	for (uint32_t k = 0; k < t->link_count; k++)
		if (t->link[k].tier + 1u == i)
			print_link(p, t, &t->link[k]);
}

int weft_topo_print(const struct weft_topo *topo, char *buf, size_t size)
{
	struct printer p = {buf, size, 0};

	PRINT(&p, "Nodes %u\nTiers %u\nPodsize %u\n", topo->hosts, topo->tiers, topo->pod_hosts);
	for (uint32_t i = 0; i < topo->tiers; i++)
		print_tier(&p, topo, i);
	return p.len;
}
