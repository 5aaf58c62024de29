/* SPDX-License-Identifier: BSD-3-Clause */
/* CONGA (SIGCOMM 2014), as the baseline of DRILL section 4: leaves send flowlets over the uplink whose path to the
 * destination's leaf is the least congested, as they see it at their own ports and hear from the other leaf. Sections
 * are CONGA's, which knows two tiers alone. With three, by DRILL's footnote 5, spines decide as leaves do, among their
 * own uplinks and by feedback of their own from the spines they send to; cores, as all switches for bundles down, hash.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "route_conga.h"
#include "weft/mem.h"

enum {
	TAGS_MAX = 256,      /* of a switch: its uplinks */
	PEERS_MAX = 65536,   /* that a header can name */
	DRE_SHIFT = 3,       /* alpha = 1/8: the paper gives tau = T_dre / alpha alone */
	DRE_STEPS_MAX = 160, /* ... after which nothing is left of any rate */
};

static const struct weft_mem libc_mem;

static uint32_t port_count(const struct net_switch *s)
{
	return s->first_up + s->up_cables - s->first_down;
}

/* Fills in what the topology says of a switch's level. */
static void set_level(const struct net_tree *tree, uint32_t sw, struct conga_state *st)
{
	const struct weft_topo *t = &tree->topo;
	uint32_t per_pod = t->tier[0].radix_up;

	st->tier = switch_tier(tree, sw);
	if (st->tier + 1 == t->tiers)
		return;
	st->tags = weft_topo_uplinks(t, st->tier);
	st->together = 1;
	st->self = sw - tree->tier_first[st->tier];
	st->peers = t->tier[st->tier].switches;
	st->leaves = st->tier ? t->tier[1].radix_down : 1;
	if (st->tier == 0)
		return;
	if (t->mesh) {
		st->together = per_pod;
	} else {
		st->self /= per_pod;
		st->peers /= per_pod;
	}
}

static size_t metrics(const struct conga_state *st)
{
	return (size_t)st->peers * st->tags;
}

static size_t conga_state(const struct net_tree *tree, uint32_t sw)
{
	const struct conga_tune *tune = tree->choice.tune;
	struct conga_state st = {.tags = 0};
	size_t bytes = sizeof st + port_count(&tree->switches[sw]) * sizeof(struct conga_dre);

	set_level(tree, sw, &st);
	if (st.tags)
		bytes += 2 * metrics(&st) * sizeof(struct conga_metric) + flow_table_bytes(tune->flowlets) +
			 st.peers / st.together * sizeof(uint32_t);
	return bytes;
}

static void place_tables(const struct net_tree *tree, uint32_t sw, struct conga_state *st)
{
	const struct conga_tune *tune = tree->choice.tune;

	st->dre = (struct conga_dre *)(st + 1);
	if (!st->tags)
		return;
	st->to = (struct conga_metric *)(st->dre + port_count(&tree->switches[sw]));
	st->heard = st->to + metrics(st);
	st->flowlets = (struct flow_table *)(st->heard + metrics(st));
	flow_table_init(st->flowlets, tune->flowlets);
	st->next_fb = (uint32_t *)((char *)st->flowlets + flow_table_bytes(tune->flowlets));
}

static int conga_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	struct conga_state *st = state;

	st->rng = (struct rng){seed};
	set_level(tree, sw, st);
	if (st->tags > TAGS_MAX)
		return weft_err_set(err, -EINVAL, "fabric: conga has tags for %d uplinks of a %s, not for %u", TAGS_MAX,
				    weft_topo_tier_name(st->tier), st->tags);
	if (st->peers > PEERS_MAX)
		return weft_err_set(err, -EINVAL, "fabric: conga supports %d %ss, not %u", PEERS_MAX,
				    weft_topo_tier_name(st->tier), st->peers);
	for (uint32_t i = 0; sw == 0 && i < CONGA_LEVELS; i++)
		u64map_init(&st->headers[i], &libc_mem);
	place_tables(tree, sw, st);
	return 0;
}

static void conga_set_back(const struct net_tree *tree, uint32_t sw, void *state, weft_ps by)
{
	struct conga_state *st = state;

	for (uint32_t i = 0; i < port_count(&tree->switches[sw]); i++)
		st->dre[i].at = ps_earlier(st->dre[i].at, by);
	if (!st->tags)
		return;
	for (size_t i = 0; i < metrics(st); i++) {
		st->to[i].at = ps_earlier(st->to[i].at, by);
		st->heard[i].at = ps_earlier(st->heard[i].at, by);
	}
	flow_table_set_back(st->flowlets, by);
}

static void conga_fini(void *state)
{
	struct conga_state *st = state;

	for (uint32_t i = 0; i < CONGA_LEVELS; i++)
		if (st->headers[i].mem)
			u64map_fini(&st->headers[i]);
}

/* ---- congestion of links ---- */

static void discount(struct conga_dre *d, uint64_t steps)
{
	if (steps > DRE_STEPS_MAX)
		d->bytes = 0;
	for (; steps && d->bytes; steps--)
		d->bytes -= (d->bytes >> DRE_SHIFT) + (d->bytes < 1 << DRE_SHIFT);
}

/* What was sent since the last look was sent up to when the port was last busy. */
static void dre_update(const struct net_tree *tree, struct conga_dre *d, uint32_t port, weft_ps now)
{
	const struct conga_tune *tune = tree->choice.tune;
	const struct net_port *p = &tree->ports[port];
	weft_ps step = UINT64_C(1000000) * tune->tau_us >> DRE_SHIFT;
	uint64_t steps = (now - d->at) / step, idle = p->busy_until < now ? (now - p->busy_until) / step : 0;

	assert(d->at <= now && d->sent <= p->sent_bytes);
	idle = idle < steps ? idle : steps;
	discount(d, steps - idle);
	d->bytes += tune->waiting ? 0 : p->sent_bytes - d->sent;
	d->sent = p->sent_bytes;
	discount(d, idle);
	d->at += steps * step;
}

static struct conga_dre *dre_of(const struct net_tree *tree, const struct route_ways *ways, uint32_t port)
{
	struct conga_state *st = ways->state;

	assert(port >= tree->switches[ways->sw].first_down);
	return &st->dre[port - tree->switches[ways->sw].first_down];
}

/* `bytes` join the port's queue. */
static void dre_add(const struct net_tree *tree, const struct route_ways *ways, uint32_t port, uint32_t bytes)
{
	struct conga_dre *d = dre_of(tree, ways, port);

	dre_update(tree, d, port, ways->now);
	d->bytes += bytes;
}

/* The share of the link's rate in 2^-Q, rounded down. */
static uint8_t link_metric(const struct net_tree *tree, const struct route_ways *ways, uint32_t port)
{
	const struct conga_tune *tune = tree->choice.tune;
	struct conga_dre *d = dre_of(tree, ways, port);
	uint64_t full = tree->cold[port].bps / 8 * tune->tau_us / 1000000, most = (UINT64_C(1) << tune->bits) - 1;

	dre_update(tree, d, port, ways->now);
	uint64_t value = (d->bytes << tune->bits) / (full ? full : 1);
	return (uint8_t)(value < most ? value : most);
}

/* A metric that nobody renews fades, so that a path that was congested is tried again (section 3.3): at the switch that
 * uses it and at the one that tells of it. */
static uint8_t aged(const struct net_tree *tree, const struct conga_metric *m, weft_ps now)
{
	const struct conga_tune *tune = tree->choice.tune;
	assert(m->at <= now);
	uint64_t ages = (now - m->at) / (UINT64_C(1000000) * tune->age_us);

	return ages < 8 ? (uint8_t)(m->value >> ages) : 0;
}

/* ---- flowlets ---- */

/* How congested the path over the uplink `tag` is towards a group of peers: at worst, where the switch can't tell which
 * of them the packet reaches. */
static uint32_t path_metric(const struct net_tree *tree, const struct conga_state *st, uint32_t group, uint32_t tag,
			    weft_ps now)
{
	const struct conga_metric *m = &st->to[(size_t)group * st->together * st->tags + tag];
	uint32_t worst = 0;

	assert(tag < st->tags && (group + 1) * st->together <= st->peers);
	for (uint32_t i = 0; i < st->together; i++, m += st->tags) {
		uint32_t value = aged(tree, m, now);
		worst = value > worst ? value : worst;
	}
	return worst;
}

/* Of the uplinks with the least congested paths the one the flow was on, if it is one of them, else any (section 3.5).
 */
static uint32_t least_congested(const struct net_tree *tree, const struct route_ways *ways, uint32_t old_port)
{
	struct conga_state *st = ways->state;
	uint32_t best = 0, ties = 0, least = UINT32_MAX, first_up = tree->switches[ways->sw].first_up;
	uint32_t group = ways->leaf / st->leaves;
	bool keep = false;

	for (uint32_t i = 0; i < ways->count; i++) {
		uint32_t port = ways_port(ways, i);
		uint32_t there = path_metric(tree, st, group, port - first_up, ways->now);
		uint32_t here = link_metric(tree, ways, port), worst = here > there ? here : there;
		if (worst > least)
			continue;
		keep = keep && worst == least;
		ties = worst < least ? 1 : ties + 1;
		if (!keep && (port == old_port || rng_below(&st->rng, ties) == 0))
			best = i;
		keep = keep || port == old_port;
		least = worst;
	}
	return best;
}

static uint32_t conga_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct conga_tune *tune = tree->choice.tune;
	struct conga_state *st = ways->state;

	assert(st->flowlets || ways->group);
	if (ways->group) /* cables down */
		return route_hash(&tree->switches[ways->sw], pkt, ways->count);
	struct flow_entry *e = flow_table_find(st->flowlets, flow_key(pkt));
	uint32_t way = e->port == PORT_NONE ? ways->count : ways_find(ways, e->port);
	if (way == ways->count || ways->now - e->seen > UINT64_C(1000000) * tune->flowlet_us)
		way = least_congested(tree, ways, e->port);
	e->port = ways_port(ways, way);
	e->seen = ways->now;
	return way;
}

/* ---- headers ---- */

static struct u64map *headers_of(const struct net_tree *tree, uint32_t level)
{
	assert(level < CONGA_LEVELS);
	return &((struct conga_state *)tree->choice.state[0])->headers[level];
}

static void header_put(const struct net_tree *tree, uint32_t level, const struct weft_pkt *pkt, struct conga_header h)
{
	void *packed;

	h.is_valid = 1;
	memcpy(&packed, &h, sizeof packed);
	u64map_put(headers_of(tree, level), (uintptr_t)pkt, packed); /* without memory it goes without */
}

static bool header_get(const struct net_tree *tree, uint32_t level, const struct weft_pkt *pkt, struct conga_header *h)
{
	void *packed = u64map_get(headers_of(tree, level), (uintptr_t)pkt);

	memcpy(h, &packed, sizeof packed);
	return packed != NULL;
}

/* The next uplink of a group of peers to tell them about, one whose metric changed before others (section 3.3). */
static void feed_back(const struct net_tree *tree, struct conga_state *st, uint32_t group, weft_ps now,
		      struct conga_header *h)
{
	uint32_t uplinks = st->together * st->tags, looks = uplinks < TAGS_MAX ? uplinks : TAGS_MAX;
	struct conga_metric *m = &st->heard[(size_t)group * uplinks];
	uint32_t next = st->next_fb[group], told = next;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t other = next + i < uplinks ? next + i : next + i - uplinks;
		if (!m[other].changed)
			continue;
		told = other;
		break;
	}
	assert(told < uplinks);
	h->has_fb = m[told].at != 0;
	h->fb_place = (uint8_t)(told / st->tags);
	h->fb_tag = (uint8_t)(told % st->tags);
	h->fb_metric = aged(tree, &m[told], now);
	m[told].changed = 0;
	st->next_fb[group] = told + 1 < uplinks ? told + 1 : 0;
}

/* The packet leaves the switch that decided at its level. */
static void begin(const struct net_tree *tree, const struct route_ways *ways, uint32_t port, uint8_t ce,
		  const struct weft_pkt *pkt)
{
	struct conga_state *st = ways->state;
	struct conga_header h = {
		.from = (uint16_t)st->self, .tag = (uint8_t)(port - tree->switches[ways->sw].first_up), .ce = ce};

	assert(st->tags && ways->group == 0);
	feed_back(tree, st, ways->leaf / st->leaves, ways->now, &h);
	header_put(tree, st->tier, pkt, h);
}

/* ... passes a switch above ... */
static void pass(const struct net_tree *tree, uint32_t level, uint8_t ce, const struct weft_pkt *pkt)
{
	struct conga_header h;

	if (!header_get(tree, level, pkt, &h) || h.ce >= ce)
		return;
	h.ce = ce;
	header_put(tree, level, pkt, h);
}

/* ... and has reached the peer. */
static void end(const struct net_tree *tree, struct conga_state *st, const struct weft_pkt *pkt, weft_ps now)
{
	struct conga_header h;

	if (!header_get(tree, st->tier, pkt, &h))
		return;
	u64map_del(headers_of(tree, st->tier), (uintptr_t)pkt);
	assert(h.from < st->peers && h.tag < st->tags);
	struct conga_metric *heard = &st->heard[(size_t)h.from * st->tags + h.tag];
	heard->changed |= heard->at == 0 || heard->value != h.ce;
	heard->value = h.ce;
	heard->at = now;
	if (h.has_fb && h.fb_place == st->self % st->together)
		st->to[(size_t)h.from * st->tags + h.fb_tag] = (struct conga_metric){now, h.fb_metric, 0};
}

static bool comes_from_above(const struct net_tree *tree, const struct route_ways *ways)
{
	return tree->cold[ways->from].dir == WEFT_PORT_DOWN;
}

/* To a host nothing is measured: there is no choice that could be better. */
static void conga_forward(const struct net_tree *tree, const struct route_ways *ways, uint32_t port,
			  const struct weft_pkt *pkt)
{
	const struct conga_tune *tune = tree->choice.tune;
	struct conga_state *st = ways->state;
	bool up = ways->group == 0, is_measured = st->tier || up;
	uint8_t ce = 0;

	if (is_measured && tune->waiting)
		dre_add(tree, ways, port, pkt->wire_bytes);
	if (is_measured)
		ce = link_metric(tree, ways, port);

	for (uint32_t level = 0; level < st->tier; level++)
		pass(tree, level, ce, pkt);
	if (up)
		begin(tree, ways, port, ce, pkt);
	else if (st->tags && comes_from_above(tree, ways))
		end(tree, st, pkt, ways->now);
}

static const struct weft_param conga_tunes[] = {
	{.key = "conga_bits",
	 .help = "Q: bits of a congestion metric",
	 .def = 3,
	 .min = 1,
	 .max = 8,
	 .offset = offsetof(struct conga_tune, bits)},
	{.key = "conga_tau_us",
	 .help = "time constant of the estimator of a link's rate, us",
	 .def = 160,
	 .min = 1,
	 .max = 1000000,
	 .offset = offsetof(struct conga_tune, tau_us)},
	{.key = "conga_flowlet_us",
	 .help = "a gap in a flow that lets it take another uplink, us",
	 .def = 500,
	 .max = 10000000,
	 .offset = offsetof(struct conga_tune, flowlet_us)},
	{.key = "conga_flowlets",
	 .help = "flowlets a switch remembers",
	 .def = 16384,
	 .min = 4,
	 .max = 1048576,
	 .offset = offsetof(struct conga_tune, flowlets)},
	{.key = "conga_age_us",
	 .help = "a path's metric is halved when no feedback came for this time, us",
	 .def = 10000,
	 .min = 1,
	 .max = 10000000,
	 .offset = offsetof(struct conga_tune, age_us)},
	{.key = "conga_waiting",
	 .help = "the estimator takes what joins a port's queue, not what was sent",
	 .max = 1,
	 .offset = offsetof(struct conga_tune, waiting),
	 .type = WEFT_PARAM_BOOL},
	{.key = NULL},
};

const struct weft_route_ops route_conga = {
	.name = "conga",
	.per_flow = true,
	.one_fabric = true,
	.tiers_min = 2,
	.help = "CONGA: flowlets on the least congested uplink, by feedback from the destination leaf (three tiers: "
		"also spine)",
	.tunes = conga_tunes,
	.tune_size = sizeof(struct conga_tune),
	.state_bytes = conga_state,
	.init = conga_init,
	.fini = conga_fini,
	.choose = conga_choose,
	.set_back = conga_set_back,
	.forward = conga_forward,
};
