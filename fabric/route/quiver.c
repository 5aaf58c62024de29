/* SPDX-License-Identifier: BSD-3-Clause */
#include "quiver.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "divisor.h"
#include "hash.h"
#include "weft/mem.h"

/* Bottlenecks from one source that a switch notes, so that each labels its links once; further ones do for every path,
 * which can only tell more paths apart. */
enum { CAPS_MAX = 16 };

#define CAP_SOURCE UINT64_MAX /* before the first link: its factor is infinite (section 3.4.3) */

static const struct weft_mem libc_mem;

struct caps {
	uint64_t cap[CAPS_MAX];
	uint32_t count;
	uint32_t epoch; /* the pair it is about */
};

struct quiver {
	struct quiver_conf conf;
	uint32_t words;    /* of a set of leaves */
	uint32_t *out;     /* by node: its first link, and the end */
	uint64_t *score;   /* by link */
	uint64_t *reach;   /* by node: the leaves it has a path to */
	uint64_t *sources; /* by node: the leaves that send over it to the current destination */
	struct caps *caps; /* by node; only with QUIVER_ALL */
	uint32_t caps_epoch;
};

static uint64_t *set_of(const struct quiver *q, uint64_t *sets, uint32_t node)
{
	assert(node < q->conf.nodes);
	return &sets[(size_t)node * q->words];
}

static bool has(const struct quiver *q, uint64_t *sets, uint32_t node, uint32_t leaf)
{
	return set_of(q, sets, node)[leaf / 64] >> leaf % 64 & 1;
}

static bool is_below(const struct quiver *q, uint32_t node, uint32_t leaf)
{
	assert(node < q->conf.nodes && leaf < q->conf.leaves);
	return leaf - q->conf.node[node].low < q->conf.node[node].span;
}

/* The link leads from a switch that has packets for `leaf` to one that the routing sends them to. */
static bool leads_to(const struct quiver *q, uint32_t link, uint32_t leaf)
{
	const struct quiver_link *l = &q->conf.link[link];

	if (is_below(q, l->from, leaf))
		return l->to < l->from && is_below(q, l->to, leaf) && has(q, q->reach, l->to, leaf);
	return l->to > l->from && has(q, q->reach, l->to, leaf);
}

static void add_reach(struct quiver *q, uint32_t link, bool up)
{
	const struct quiver_link *l = &q->conf.link[link];
	const struct quiver_node *n = &q->conf.node[l->from];
	uint64_t *to = set_of(q, q->reach, l->from);
	const uint64_t *from = set_of(q, q->reach, l->to);

	/* Up for what is not below, down for what is. */
	for (uint32_t i = 0; i < q->words; i++) {
		uint64_t below = 0;
		for (uint32_t bit = 0; bit < 64; bit++)
			below |= (uint64_t)(64 * i + bit - n->low < n->span) << bit;
		to[i] |= from[i] & (up ? ~below : below);
	}
}

static void compute_reach(struct quiver *q)
{
	const struct quiver_conf *c = &q->conf;

	for (uint32_t leaf = 0; leaf < c->leaves; leaf++)
		set_of(q, q->reach, leaf)[leaf / 64] |= UINT64_C(1) << leaf % 64;
	for (uint32_t i = 0; i < c->links; i++)
		if (c->link[i].to < c->link[i].from)
			add_reach(q, i, false);
	for (uint32_t node = c->nodes; node-- > 0;)
		for (uint32_t i = q->out[node]; i < q->out[node + 1]; i++)
			if (c->link[i].to > node)
				add_reach(q, i, true);
}

/* ---- labels by pairs ---- */

/* A link's label towards `leaf` is the set of sources at its beginning; the sets move on over it. */
static void label_link(struct quiver *q, uint32_t link, uint32_t leaf)
{
	const struct quiver_link *l = &q->conf.link[link];
	const uint64_t *from = set_of(q, q->sources, l->from);
	uint64_t *to = set_of(q, q->sources, l->to), label = leaf + 1, any = 0;

	for (uint32_t i = 0; i < q->words; i++) {
		any |= from[i];
		to[i] |= from[i];
		label = hash_word(label, from[i]);
	}
	if (any)
		q->score[link] += label;
}

static void label_links(struct quiver *q, uint32_t node, uint32_t leaf)
{
	for (uint32_t i = q->out[node]; i < q->out[node + 1]; i++)
		if (leads_to(q, i, leaf))
			label_link(q, i, leaf);
}

/* Switches that send up come from below, then those that send down from above. */
static void label_pairs(struct quiver *q, uint32_t leaf)
{
	const struct quiver_conf *c = &q->conf;

	memset(q->sources, 0, (size_t)c->nodes * q->words * sizeof *q->sources);
	for (uint32_t src = 0; src < c->leaves; src++)
		if (src != leaf)
			set_of(q, q->sources, src)[src / 64] |= UINT64_C(1) << src % 64;
	for (uint32_t node = 0; node < c->nodes; node++)
		if (!is_below(q, node, leaf))
			label_links(q, node, leaf);
	for (uint32_t node = c->nodes; node-- > c->leaves;)
		if (is_below(q, node, leaf))
			label_links(q, node, leaf);
}

/* ---- labels by pairs and factors ---- */

/* The ratio, in a form in which equal ones are equal. */
static uint64_t factor(uint64_t in_bps, uint64_t out_bps)
{
	if (in_bps == CAP_SOURCE || in_bps == out_bps)
		return in_bps == out_bps;
	assert(in_bps && out_bps);
	uint64_t common = divisor(in_bps, out_bps);
	return hash_word(in_bps / common, out_bps / common);
}

static uint64_t slower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Notes the rate at which packets of this pair come to the switch. False: it was noted before. */
static bool note_cap(struct quiver *q, uint32_t node, uint64_t cap)
{
	struct caps *c = &q->caps[node];

	if (c->epoch != q->caps_epoch)
		c->count = 0;
	c->epoch = q->caps_epoch;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->cap[i] == cap)
			return false;
	assert(c->count <= CAPS_MAX);
	if (c->count < CAPS_MAX)
		c->cap[c->count++] = cap;
	return true;
}

/* Labels all that lies behind `node` for the pair of `pair`; as deep as a path is long. */
static void label_factors(struct quiver *q, uint32_t node, uint32_t leaf, uint64_t cap, uint64_t pair)
{
	if (node == leaf || !note_cap(q, node, cap))
		return;
	for (uint32_t i = q->out[node]; i < q->out[node + 1]; i++) {
		const struct quiver_link *l = &q->conf.link[i];
		if (!leads_to(q, i, leaf))
			continue;
		q->score[i] += hash_word(pair, factor(cap, l->bps));
		label_factors(q, l->to, leaf, slower(cap, l->bps), pair);
	}
}

static void label_all(struct quiver *q, uint32_t leaf)
{
	for (uint32_t src = 0; src < q->conf.leaves; src++) {
		if (src == leaf)
			continue;
		q->caps_epoch++;
		label_factors(q, src, leaf, CAP_SOURCE, (uint64_t)src << 32 | leaf);
	}
}

/* ---- life ---- */

static int alloc_all(struct quiver *q)
{
	const struct quiver_conf *c = &q->conf;
	size_t sets = (size_t)c->nodes * q->words;

	q->out = weft_mem_alloc(&libc_mem, (c->nodes + 1) * sizeof *q->out);
	q->score = weft_mem_alloc(&libc_mem, (c->links + 1) * sizeof *q->score);
	q->reach = weft_mem_alloc(&libc_mem, sets * sizeof *q->reach);
	q->sources = weft_mem_alloc(&libc_mem, sets * sizeof *q->sources);
	if (c->factor == QUIVER_ALL)
		q->caps = weft_mem_alloc(&libc_mem, c->nodes * sizeof *q->caps);
	return q->out && q->score && q->reach && q->sources && (q->caps || c->factor != QUIVER_ALL) ? 0 : -ENOMEM;
}

int quiver_create(const struct quiver_conf *conf, struct quiver **out)
{
	struct quiver *q = weft_mem_alloc(&libc_mem, sizeof *q);

	if (!q)
		return -ENOMEM;
	*q = (struct quiver){.conf = *conf, .words = (conf->leaves + 63) / 64};
	if (alloc_all(q)) {
		quiver_destroy(q);
		return -ENOMEM;
	}
	for (uint32_t node = 0, i = 0; node <= conf->nodes; node++) {
		while (i < conf->links && conf->link[i].from < node)
			i++;
		q->out[node] = i;
	}
	assert(q->out[conf->nodes] == conf->links);
	compute_reach(q);
	for (uint32_t leaf = 0; leaf < conf->leaves; leaf++) {
		if (conf->factor == QUIVER_ALL)
			label_all(q, leaf);
		else
			label_pairs(q, leaf);
	}
	*out = q;
	return 0;
}

void quiver_destroy(struct quiver *q)
{
	weft_mem_free(&libc_mem, q->out);
	weft_mem_free(&libc_mem, q->score);
	weft_mem_free(&libc_mem, q->reach);
	weft_mem_free(&libc_mem, q->sources);
	weft_mem_free(&libc_mem, q->caps);
	weft_mem_free(&libc_mem, q);
}

uint64_t quiver_score(const struct quiver *q, uint32_t link)
{
	assert(link < q->conf.links);
	return q->score[link];
}

/* ---- decomposition ---- */

/* Room for one more; NULL: no memory, the old array stays. */
static void *grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	uint32_t more = *room ? 2 * *room : 16;
	void *grown = weft_mem_alloc(&libc_mem, more * size);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, array, count * size);
	weft_mem_free(&libc_mem, array);
	*room = more;
	return grown;
}

/* The part with this score, a new one if there is none; UINT32_MAX: no memory. */
static uint32_t find_part(struct quiver_parts *p, uint64_t score)
{
	for (uint32_t i = 0; i < p->parts; i++)
		if (p->part[i].score == score)
			return i;
	struct quiver_part *grown = grow(p->part, p->parts, &p->part_room, sizeof *grown);
	if (!grown)
		return UINT32_MAX;
	p->part = grown;
	p->part[p->parts] = (struct quiver_part){.score = score, .last_hop = UINT32_MAX};
	return p->parts++;
}

static int add_path(struct quiver_parts *p, uint64_t score, uint64_t bps, uint32_t first)
{
	uint32_t part = find_part(p, score);

	if (part == UINT32_MAX)
		return -ENOMEM;
	assert(part < p->parts && bps > 0 && bps != CAP_SOURCE);
	p->part[part].bps += bps;
	p->part[part].paths++;
	if (p->part[part].last_hop == first)
		return 0;
	p->part[part].last_hop = first;
	struct quiver_hop *grown = grow(p->hop, p->hops, &p->hop_room, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	p->hop = grown;
	p->hop[p->hops++] = (struct quiver_hop){part, first};
	return 0;
}

/* A path so far. */
struct walk {
	const struct quiver *q;
	struct quiver_parts *parts;
	enum quiver_grouping by;
	uint32_t leaf;
	uint32_t first; /* its first link */
};

/* A path's score are its links' scores, in order; with QUIVER_OWN each with the path's own factor there. */
static uint64_t next_score(const struct walk *w, uint64_t score, uint32_t link, uint64_t cap)
{
	score = hash_word(score, w->q->score[link]);
	if (w->q->conf.factor == QUIVER_OWN)
		score = hash_word(score, factor(cap, w->q->conf.link[link].bps));
	return score;
}

static int walk_on(struct walk *w, uint32_t node, uint64_t score, uint64_t cap)
{
	const struct quiver *q = w->q;
	int rc = 0;

	if (node == w->leaf)
		return add_path(w->parts, w->by == QUIVER_BY_HOP ? w->first : score, cap, w->first);
	for (uint32_t i = q->out[node]; i < q->out[node + 1] && !rc; i++) {
		if (!leads_to(q, i, w->leaf))
			continue;
		if (cap == CAP_SOURCE)
			w->first = i;
		rc = walk_on(w, q->conf.link[i].to, next_score(w, score, i, cap), slower(cap, q->conf.link[i].bps));
	}
	return rc;
}

int quiver_decompose(const struct quiver *q, uint32_t node, uint32_t leaf, enum quiver_grouping by,
		     struct quiver_parts *parts)
{
	struct walk w = {.q = q, .parts = parts, .by = by, .leaf = leaf};

	assert(node < q->conf.nodes && leaf < q->conf.leaves);
	parts->parts = parts->hops = 0;
	return node == leaf ? 0 : walk_on(&w, node, 0, CAP_SOURCE);
}

void quiver_parts_free(struct quiver_parts *parts)
{
	weft_mem_free(&libc_mem, parts->part);
	weft_mem_free(&libc_mem, parts->hop);
	*parts = (struct quiver_parts){0};
}
