/* SPDX-License-Identifier: BSD-3-Clause */
/* CONGA (SIGCOMM 2014), as the baseline of DRILL section 4: leaves send flowlets over the uplink whose path to the
 * destination's leaf is the least congested, as they see it at their own ports and hear from the other leaf. Sections
 * are CONGA's. Two tiers only: leaves know a path by its first link. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "route_conga.h"
#include "weft/mem.h"

enum {
	TAGS_MAX = 256,      /* of a leaf: its uplinks */
	DRE_SHIFT = 3,       /* alpha = 1/8: the paper gives tau = T_dre / alpha alone */
	DRE_STEPS_MAX = 160, /* ... after which nothing is left of any rate */
};

static const struct weft_mem libc_mem;

static bool is_leaf(const struct weft_net *net, uint32_t sw)
{
	return sw < net->topo.tier[0].switches;
}

static uint32_t port_count(const struct net_switch *s)
{
	return s->first_up + s->up_cables - s->first_down;
}

static size_t metrics(const struct weft_net *net)
{
	return (size_t)net->topo.tier[0].switches * weft_topo_uplinks(&net->topo, 0);
}

static size_t conga_state(const struct weft_net *net, uint32_t sw)
{
	const struct conga_tune *tune = net->choice.tune;
	size_t bytes = sizeof(struct conga_state) + port_count(&net->switches[sw]) * sizeof(struct conga_dre);

	if (is_leaf(net, sw))
		bytes += 2 * metrics(net) * sizeof(struct conga_metric) + flow_table_bytes(tune->flowlets) +
			 net->topo.tier[0].switches * sizeof(uint32_t);
	return bytes;
}

static void place_tables(const struct weft_net *net, uint32_t sw, struct conga_state *st)
{
	const struct conga_tune *tune = net->choice.tune;

	st->dre = (struct conga_dre *)(st + 1);
	if (!is_leaf(net, sw))
		return;
	st->to_leaf = (struct conga_metric *)(st->dre + port_count(&net->switches[sw]));
	st->from_leaf = st->to_leaf + metrics(net);
	st->flowlets = (struct flow_table *)(st->from_leaf + metrics(net));
	flow_table_init(st->flowlets, tune->flowlets);
	st->next_fb = (uint32_t *)((char *)st->flowlets + flow_table_bytes(tune->flowlets));
}

static int conga_init(const struct weft_net *net, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	struct conga_state *st = state;

	st->rng = (struct rng){seed};
	st->tags = weft_topo_uplinks(&net->topo, 0);
	if (st->tags > TAGS_MAX)
		return weft_err_set(err, -EINVAL, "fabric: conga has tags for %d uplinks of a leaf, not for %u",
				    TAGS_MAX, st->tags);
	if (sw == 0)
		u64map_init(&st->headers, &libc_mem);
	place_tables(net, sw, st);
	return 0;
}

static void conga_fini(void *state)
{
	struct conga_state *st = state;

	if (st->headers.mem)
		u64map_fini(&st->headers);
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
static void dre_update(const struct weft_net *net, struct conga_dre *d, uint32_t port)
{
	const struct conga_tune *tune = net->choice.tune;
	const struct net_port *p = &net->ports[port];
	weft_ps step = UINT64_C(1000000) * tune->tau_us >> DRE_SHIFT, now = net->evq.now;
	uint64_t steps = (now - d->at) / step, idle = p->busy_until < now ? (now - p->busy_until) / step : 0;

	idle = idle < steps ? idle : steps;
	discount(d, steps - idle);
	d->bytes += p->sent_bytes - d->sent;
	d->sent = p->sent_bytes;
	discount(d, idle);
	d->at += steps * step;
}

/* The share of the link's rate in 2^-Q, rounded down. */
static uint8_t link_metric(const struct weft_net *net, const struct route_ways *ways, uint32_t port)
{
	const struct conga_tune *tune = net->choice.tune;
	struct conga_state *st = ways->state;
	struct conga_dre *d = &st->dre[port - net->switches[ways->sw].first_down];
	uint64_t full = net->cold[port].bps / 8 * tune->tau_us / 1000000, most = (UINT64_C(1) << tune->bits) - 1;

	dre_update(net, d, port);
	uint64_t value = (d->bytes << tune->bits) / (full ? full : 1);
	return (uint8_t)(value < most ? value : most);
}

/* A metric that nobody renews fades, so that a path that was congested is tried again (section 3.3): at the leaf that
 * uses it and at the one that tells of it. */
static uint8_t aged(const struct weft_net *net, const struct conga_metric *m)
{
	const struct conga_tune *tune = net->choice.tune;
	uint64_t ages = (net->evq.now - m->at) / (UINT64_C(1000000) * tune->age_us);

	return ages < 8 ? (uint8_t)(m->value >> ages) : 0;
}

/* ---- flowlets ---- */

/* Of the uplinks with the least congested paths the one the flow was on, if it is one of them, else any (section 3.5).
 */
static uint32_t least_congested(const struct weft_net *net, const struct route_ways *ways, uint32_t old_port)
{
	struct conga_state *st = ways->state;
	uint32_t best = 0, ties = 0, least = UINT32_MAX, first_up = net->switches[ways->sw].first_up;
	bool keep = false;

	for (uint32_t i = 0; i < ways->count; i++) {
		uint32_t port = ways_port(ways, i);
		uint32_t there = aged(net, &st->to_leaf[(size_t)ways->leaf * st->tags + port - first_up]);
		uint32_t here = link_metric(net, ways, port), worst = here > there ? here : there;
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

static uint32_t conga_choose(const struct weft_net *net, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct conga_tune *tune = net->choice.tune;
	struct conga_state *st = ways->state;

	if (ways->group) /* cables down */
		return route_hash(&net->switches[ways->sw], pkt, ways->count);
	struct flow_entry *e = flow_table_find(st->flowlets, flow_key(pkt));
	uint32_t way = e->port == PORT_NONE ? ways->count : ways_find(ways, e->port);
	if (way == ways->count || net->evq.now - e->seen > UINT64_C(1000000) * tune->flowlet_us)
		way = least_congested(net, ways, e->port);
	e->port = ways_port(ways, way);
	e->seen = net->evq.now;
	return way;
}

/* ---- headers ---- */

static struct u64map *headers_of(const struct weft_net *net)
{
	return &((struct conga_state *)net->choice.state[0])->headers;
}

static void header_put(const struct weft_net *net, const struct weft_pkt *pkt, struct conga_header h)
{
	void *packed;

	h.used = 1;
	memcpy(&packed, &h, sizeof packed);
	u64map_put(headers_of(net), (uintptr_t)pkt, packed); /* without memory it goes without */
}

static bool header_get(const struct weft_net *net, const struct weft_pkt *pkt, struct conga_header *h)
{
	void *packed = u64map_get(headers_of(net), (uintptr_t)pkt);

	memcpy(h, &packed, sizeof packed);
	return packed != NULL;
}

/* The next uplink of leaf `leaf` to tell it about, one whose metric changed before others (section 3.3). */
static void feed_back(const struct weft_net *net, struct conga_state *st, uint32_t leaf, struct conga_header *h)
{
	struct conga_metric *m = &st->from_leaf[(size_t)leaf * st->tags];
	uint32_t next = st->next_fb[leaf], tag = next;

	for (uint32_t i = 0; i < st->tags; i++) {
		uint32_t other = next + i < st->tags ? next + i : next + i - st->tags;
		if (!m[other].changed)
			continue;
		tag = other;
		break;
	}
	h->has_fb = m[tag].at != 0;
	h->fb_tag = (uint8_t)tag;
	h->fb_metric = aged(net, &m[tag]);
	m[tag].changed = 0;
	st->next_fb[leaf] = tag + 1 < st->tags ? tag + 1 : 0;
}

static void leave_leaf(const struct weft_net *net, const struct route_ways *ways, uint32_t port,
		       const struct weft_pkt *pkt)
{
	struct conga_header h = {.leaf = (uint16_t)ways->sw,
				 .tag = (uint8_t)(port - net->switches[ways->sw].first_up),
				 .ce = link_metric(net, ways, port)};

	feed_back(net, ways->state, ways->leaf, &h);
	header_put(net, pkt, h);
}

static void pass_spine(const struct weft_net *net, const struct route_ways *ways, uint32_t port,
		       const struct weft_pkt *pkt)
{
	uint8_t ce = link_metric(net, ways, port);
	struct conga_header h;

	if (!header_get(net, pkt, &h) || h.ce >= ce)
		return;
	h.ce = ce;
	header_put(net, pkt, h);
}

static void reach_leaf(const struct weft_net *net, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	struct conga_state *st = ways->state;
	struct conga_header h;

	if (!header_get(net, pkt, &h))
		return;
	u64map_del(headers_of(net), (uintptr_t)pkt);
	struct conga_metric *from = &st->from_leaf[(size_t)h.leaf * st->tags + h.tag];
	from->changed |= from->at == 0 || from->value != h.ce;
	from->value = h.ce;
	from->at = net->evq.now;
	if (h.has_fb)
		st->to_leaf[(size_t)h.leaf * st->tags + h.fb_tag] = (struct conga_metric){net->evq.now, h.fb_metric, 0};
}

static void conga_forward(const struct weft_net *net, const struct route_ways *ways, uint32_t port,
			  const struct weft_pkt *pkt)
{
	if (!is_leaf(net, ways->sw))
		pass_spine(net, ways, port, pkt);
	else if (ways->group == 0)
		leave_leaf(net, ways, port, pkt);
	else if (!(net->ports[ways->from].flags & PORT_NIC))
		reach_leaf(net, ways, pkt);
}

#define FIELD(name) offsetof(struct conga_tune, name), WEFT_PARAM_U32

static const struct weft_param conga_tunes[] = {
	{"conga_bits", "Q: bits of a congestion metric", 3, 1, 8, FIELD(bits)},
	{"conga_tau_us", "time constant of the estimator of a link's rate, us", 160, 1, 1000000, FIELD(tau_us)},
	{"conga_flowlet_us", "a gap in a flow that lets it take another uplink, us", 500, 0, 10000000,
	 FIELD(flowlet_us)},
	{"conga_flowlets", "flowlets a leaf remembers", 16384, 4, 1048576, FIELD(flowlets)},
	{"conga_age_us", "a path's metric that was not heard again for so long is halved, us", 10000, 1, 10000000,
	 FIELD(age_us)},
	{NULL, NULL, 0, 0, 0, 0, 0},
};

const struct weft_route_ops route_conga = {
	.name = "conga",
	.per_flow = true,
	.tiers = 2, /* a leaf knows a path by its first link */
	.help = "flowlets on the uplink with the least congested path, as the other leaf tells: CONGA; two tiers",
	.tunes = conga_tunes,
	.tune_size = sizeof(struct conga_tune),
	.state_bytes = conga_state,
	.init = conga_init,
	.fini = conga_fini,
	.choose = conga_choose,
	.forward = conga_forward,
};
