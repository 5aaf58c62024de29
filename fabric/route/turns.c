/* SPDX-License-Identifier: BSD-3-Clause */
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#include "divisor.h"
#include "route_impl.h"
#include "weft/mem.h"

enum {
	SHARES_MAX = 1 << 16, /* that weights are made multiples of; beyond they are rounded */
	MEGA = 1000000,
};

static const struct weft_mem libc_mem;

/* ---- turns by weight ---- */

struct due {
	uint64_t at; /* of the period, 2^-52 */
	uint16_t ev;
};

static int earlier(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->ev < y->ev ? -1 : x->ev > y->ev;
}

/* The sum of all weights, and what they have in common. */
static unsigned __int128 sum_of(const struct turns_way *ways, uint32_t count, uint64_t *common)
{
	unsigned __int128 sum = 0;

	*common = 0;
	for (uint32_t i = 0; i < count; i++) {
		assert(ways[i].weight > 0);
		sum += ways[i].weight;
		*common = divisor(ways[i].weight, *common);
	}
	return sum;
}

/* Turns of this weight. */
static uint32_t turns_of(uint64_t weight, unsigned __int128 sum, uint64_t common, uint32_t limit)
{
	if (sum / common <= limit)
		return (uint32_t)(weight / common);
	uint32_t rounded = (uint32_t)(((unsigned __int128)weight * limit + sum / 2) / sum);
	return rounded ? rounded : 1;
}

/* The k-th of n turns is due in the middle of the k-th n-th of the period. */
static uint32_t add_turns(struct due *due, uint32_t n, uint16_t ev)
{
	for (uint64_t k = 0; k < n; k++)
		due[k] = (struct due){((2 * k + 1) << 51) / n, ev};
	return n;
}

struct weft_lb_turns *turns_create(const struct turns_way *ways, uint32_t count)
{
	uint32_t limit = count > TURNS_MAX ? count : TURNS_MAX, n = 0;
	uint64_t common;
	unsigned __int128 sum = sum_of(ways, count, &common);
	/* Rounding adds one per path at most. */
	struct due *due = weft_mem_alloc(&libc_mem, (size_t)(limit + count) * sizeof *due);
	struct weft_lb_turns *t = NULL;

	if (!due)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		n += add_turns(due + n, turns_of(ways[i].weight, sum, common, limit), ways[i].ev);
	assert(n >= count && n <= limit + count);
	qsort(due, n, sizeof *due, earlier);
	t = weft_mem_alloc(&libc_mem, sizeof *t + n * sizeof *t->ev);
	if (t) {
		t->count = n;
		for (uint32_t i = 0; i < n; i++)
			t->ev[i] = due[i].ev;
	}
	weft_mem_free(&libc_mem, due);
	return t;
}

/* ---- paths ---- */

/* A path up, which digits name. */
struct path {
	uint64_t bps;      /* of all paths over the same switches */
	uint64_t num, den; /* the share in it that its cables have in their links' rates */
	uint16_t ev;
};

/* All paths to a leaf. */
struct finder {
	const struct net_tree *tree;
	uint32_t leaf;
	struct weft_lb_digits digits;
	struct path *path;
	uint32_t paths, room;
	uint32_t all; /* that there would be if all switches had the uplinks that digits have values for */
};

/* What the ways down from `sw` carry that come to it at `bps`: the slowest links of all of them, summed up. */
static uint64_t down_bps(const struct finder *f, uint32_t sw, uint64_t bps)
{
	const struct net_tree *tree = f->tree;
	const struct net_switch *s = &tree->switches[sw];
	uint32_t count, cables, below = f->leaf * tree->topo.tier[0].radix_down - s->low;
	uint64_t sum = 0;

	assert(sw < tree->switch_count);
	if (sw == f->leaf)
		return bps;
	uint32_t port = switch_child(tree, s, (uint32_t)(below * s->child_recip >> 32), &count), end = port + count;
	while (port < end) {
		uint32_t peer = tree->ports[port].peer;
		uint64_t link_bps;
		port = route_same_peer(tree, port, end, &cables, &link_bps);
		if (cables)
			sum += down_bps(f, peer, link_bps < bps ? link_bps : bps);
	}
	return sum;
}

static int add_path(struct finder *f, const struct path *path)
{
	if (f->paths == f->room) {
		uint32_t room = f->room ? 2 * f->room : 64;
		struct path *grown = weft_mem_alloc(&libc_mem, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		for (uint32_t i = 0; i < f->paths; i++)
			grown[i] = f->path[i];
		weft_mem_free(&libc_mem, f->path);
		f->path = grown;
		f->room = room;
	}
	assert(f->paths < f->room && path->bps > 0);
	f->path[f->paths++] = *path;
	return 0;
}

/* The path on over `port`, of a link with all cables' rate together. */
static struct path path_on(const struct finder *f, const struct path *so_far, uint32_t port, uint64_t link_bps,
			   const struct net_switch *s, uint32_t tier)
{
	/* In Mb/s the shares of all tiers multiply without an overflow. */
	uint64_t num = f->tree->known_bps[port] / MEGA, den = link_bps / MEGA, common = divisor(num, den);

	return (struct path){.bps = link_bps < so_far->bps ? link_bps : so_far->bps,
			     .num = so_far->num * (num / common),
			     .den = so_far->den * (den / common),
			     .ev = (uint16_t)(so_far->ev | (port - s->first_up) << f->digits.shift[tier])};
}

/* All paths that go on from `sw` of `tier`, reached as `so_far` says. A tree is as deep as it has tiers. */
static int find(struct finder *f, uint32_t sw, uint32_t tier, uint32_t all, const struct path *so_far)
{
	const struct net_tree *tree = f->tree;
	const struct net_switch *s = &tree->switches[sw];
	struct path next = *so_far;
	int rc = 0;

	if (f->leaf * tree->topo.tier[0].radix_down - s->low < s->span) {
		f->all = all;
		next.bps = down_bps(f, sw, so_far->bps);
		return next.bps ? add_path(f, &next) : 0;
	}
	if (tier >= WEFT_LB_PARTS)
		return 0; /* of a tree the last tier has all leaves below */
	uint32_t end = s->first_up + s->up_cables, cables, values = f->digits.values[tier];
	for (uint32_t first = s->first_up, group_end; first < end && !rc; first = group_end) {
		uint64_t bps;
		group_end = route_same_peer(tree, first, end, &cables, &bps);
		for (uint32_t port = first; port < group_end && !rc; port++) {
			if (route_avoided(tree, port))
				continue;
			next = path_on(f, so_far, port, bps, s, tier);
			rc = find(f, tree->ports[port].peer, tier + 1, all * (values ? values : 1), &next);
		}
	}
	return rc;
}

/* The least number that makes all paths' shares whole ones. */
static uint64_t shares_of(const struct finder *f)
{
	uint64_t shares = 1;

	for (uint32_t i = 0; i < f->paths; i++) {
		uint64_t times = f->path[i].den / divisor(f->path[i].den, shares);
		if (times > SHARES_MAX / shares)
			return SHARES_MAX;
		shares *= times;
	}
	return shares;
}

/* Sets their weights; true: all paths are there, and alike. */
static bool weigh(const struct finder *f, struct turns_way *ways)
{
	uint64_t shares = shares_of(f), common = 0;
	bool alike = f->paths == f->all;

	for (uint32_t i = 0; i < f->paths; i++)
		common = divisor(f->path[i].bps, common);
	for (uint32_t i = 0; i < f->paths; i++) {
		const struct path *p = &f->path[i];
		uint64_t weight = (uint64_t)((unsigned __int128)(p->bps / common * shares) * p->num / p->den);
		ways[i] = (struct turns_way){weight ? weight : 1, p->ev};
		alike &= ways[i].weight == ways[0].weight;
	}
	return alike;
}

/* *out NULL: paths are alike, or there is none. */
static int turns_find(const struct net_tree *tree, uint32_t src_leaf, uint32_t dst_leaf, struct weft_lb_turns **out)
{
	struct finder f = {.tree = tree, .leaf = dst_leaf};
	const struct path start = {UINT64_MAX, 1, 1, 0};
	struct turns_way *ways = NULL;

	*out = NULL;
	weft_topo_digits(&tree->topo, &f.digits);
	int rc = find(&f, src_leaf, 0, 1, &start);
	if (!rc && f.paths) {
		ways = weft_mem_alloc(&libc_mem, f.paths * sizeof *ways);
		if (!ways)
			rc = -ENOMEM;
		else if (!weigh(&f, ways)) {
			*out = turns_create(ways, f.paths);
			rc = *out ? 0 : -ENOMEM;
		}
	}
	weft_mem_free(&libc_mem, ways);
	weft_mem_free(&libc_mem, f.path);
	return rc;
}

/* ---- kept until routing changes ---- */

struct net_turns {
	uint32_t leaves;
	struct weft_lb_turns **row[]; /* by leaf of the source, then of the destination; NULL: nobody asked */
};

static const struct weft_lb_turns alike; /* stands for no turns */

static void row_free(struct weft_lb_turns **row, uint32_t leaves)
{
	for (uint32_t i = 0; row && i < leaves; i++)
		if (row[i] != &alike)
			weft_mem_free(&libc_mem, row[i]);
	weft_mem_free(&libc_mem, row);
}

void turns_free(struct net_turns *turns)
{
	for (uint32_t i = 0; turns && i < turns->leaves; i++)
		row_free(turns->row[i], turns->leaves);
	weft_mem_free(&libc_mem, turns);
}

/* Where the turns between two leaves are kept; NULL: no memory. */
static struct weft_lb_turns **kept_at(struct net_tree *tree, uint32_t src_leaf, uint32_t dst_leaf)
{
	uint32_t leaves = tree->topo.tier[0].switches;

	if (!tree->turns) {
		tree->turns = weft_mem_alloc(&libc_mem, sizeof *tree->turns + leaves * sizeof *tree->turns->row);
		if (!tree->turns)
			return NULL;
		tree->turns->leaves = leaves;
	}
	assert(src_leaf < leaves && dst_leaf < leaves);
	struct weft_lb_turns ***row = &tree->turns->row[src_leaf];
	if (!*row)
		*row = weft_mem_alloc(&libc_mem, leaves * sizeof **row);
	return *row ? *row + dst_leaf : NULL;
}

int route_turns(struct net_tree *tree, uint32_t src, uint32_t dst, const struct weft_lb_turns **out)
{
	uint32_t per_leaf = tree->topo.tier[0].radix_down, src_leaf = src / per_leaf, dst_leaf = dst / per_leaf;

	*out = NULL;
	if (src >= tree->topo.hosts || dst >= tree->topo.hosts || src_leaf == dst_leaf || !route_unlike(tree))
		return 0;
	struct weft_lb_turns **kept = kept_at(tree, src_leaf, dst_leaf);
	int rc = !kept ? -ENOMEM : *kept ? 0 : turns_find(tree, src_leaf, dst_leaf, kept);
	if (rc)
		return rc;
	if (!*kept)
		*kept = (struct weft_lb_turns *)(uintptr_t)&alike;
	*out = *kept == &alike ? NULL : *kept;
	return 0;
}
