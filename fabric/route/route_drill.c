/* SPDX-License-Identifier: BSD-3-Clause */
/* DRILL(d, m) among symmetric paths (DRILL section 3.2): a packet's forwarding engine draws d ports, adds the m least
 * loaded ones it remembers, takes the one with the least before it and remembers the m least loaded of these. Engines
 * decide in parallel, each for its own incoming ports. A queue does not show a packet that is just entering it
 * (section 3.2.1). */
#include <stddef.h>

#include "flow_table.h"
#include "route_impl.h"

enum { CHOICES_MAX = 32, MEMORY_MAX = 32, ENTERING_MAX = 64, KNOWN_MAX = CHOICES_MAX + MEMORY_MAX };

/* Parts of unlike paths that an engine remembers ports for apart; further ones share with these. */
enum { PARTS_APART = 4 };

/* A packet on its way into a queue. */
struct entering {
	weft_ps until;
	uint32_t port; /* among the switch's */
	uint32_t bytes;
};

struct drill_state {
	struct rng rng;
	/* Of `entering`, a ring in the order of choices: a packet stays hidden at least as long as those before it.
	 * With more than fit the oldest are in. */
	uint32_t first, count;
	struct entering entering[ENTERING_MAX];
	uint32_t *hidden; /* bytes that are entering, by port of the switch */
	uint32_t *memory; /* m ports or PORT_NONE, by engine, group and part */
	uint32_t tables[];
};

/* A port a packet may take, and what the engine sees there. */
struct known {
	uint64_t depth;
	uint32_t port;
	uint32_t way;
};

static uint32_t switch_ports(const struct net_switch *s)
{
	return s->first_up + s->up_cables - s->first_down;
}

static size_t memory_ports(const struct net_tree *tree, uint32_t sw)
{
	const struct route_drill_tune *tune = tree->choice.tune;

	return (size_t)tune->engines * switch_groups(&tree->switches[sw]) * PARTS_APART * tune->memory;
}

static size_t drill_state(const struct net_tree *tree, uint32_t sw)
{
	size_t tables = switch_ports(&tree->switches[sw]) + memory_ports(tree, sw);

	return sizeof(struct drill_state) + tables * sizeof(uint32_t);
}

static int drill_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	struct drill_state *st = state;
	size_t remembered = memory_ports(tree, sw);

	st->rng = (struct rng){seed};
	st->hidden = st->tables;
	st->memory = st->tables + switch_ports(&tree->switches[sw]);
	for (size_t i = 0; i < remembered; i++)
		st->memory[i] = PORT_NONE;
	return 0;
}

static void leave_first(struct drill_state *st)
{
	const struct entering *e = &st->entering[st->first];

	assert(st->count > 0 && st->hidden[e->port] >= e->bytes);
	st->hidden[e->port] -= e->bytes;
	st->first = (st->first + 1) % ENTERING_MAX;
	st->count--;
}

static void drill_set_back(const struct net_tree *tree, uint32_t sw, void *state, weft_ps by)
{
	struct drill_state *st = state;

	for (uint32_t i = 0; i < ENTERING_MAX; i++)
		st->entering[i].until = ps_earlier(st->entering[i].until, by);
}

/* Shows the packets that are in their queues by now. */
static void settle(struct drill_state *st, weft_ps now)
{
	while (st->count && st->entering[st->first].until <= now)
		leave_first(st);
}

/* How long a packet enters the queue: until its engine has time for the next. The engines of a switch are as fast as
 * all its ports together, and so each takes serialization * engines / ports for a packet; what the others decide in
 * that time they decide in parallel, unseen. */
static weft_ps entering_ps(const struct net_tree *tree, uint32_t sw, uint32_t port, uint32_t bytes)
{
	const struct route_drill_tune *tune = tree->choice.tune;
	uint32_t ports = switch_ports(&tree->switches[sw]);
	weft_ps serialize = port_serialize_ps(&tree->ports[port], bytes);

	if (tune->enter_pct)
		return serialize * tune->enter_pct / 100;
	return tune->engines < ports ? serialize * tune->engines / ports : serialize;
}

static void hide(const struct net_tree *tree, const struct route_ways *ways, uint32_t port, uint32_t bytes)
{
	struct drill_state *st = ways->state;

	if (st->count == ENTERING_MAX)
		leave_first(st);
	uint32_t local = port - tree->switches[ways->sw].first_down;

	assert(local < switch_ports(&tree->switches[ways->sw]));
	weft_ps until = ways->now + entering_ps(tree, ways->sw, port, bytes);
	st->entering[(st->first + st->count++) % ENTERING_MAX] = (struct entering){until, local, bytes};
	assert(st->count <= ENTERING_MAX);
	st->hidden[local] += bytes;
}

static uint64_t seen_depth(const struct net_tree *tree, const struct route_ways *ways, uint32_t port)
{
	const struct drill_state *st = ways->state;
	uint64_t depth = port_backlog(tree, port, ways->now),
		 hidden = st->hidden[port - tree->switches[ways->sw].first_down];

	return depth > hidden ? depth - hidden : 0;
}

/* Inserts into `known`, which is sorted by depth, behind equals; ports are in it once. */
static uint32_t learn(struct known *known, uint32_t n, struct known k)
{
	uint32_t at = n;

	assert(n < KNOWN_MAX);
	for (uint32_t i = 0; i < n; i++)
		if (known[i].port == k.port)
			return n;
	for (; at > 0 && known[at - 1].depth > k.depth; at--)
		known[at] = known[at - 1];
	known[at] = k;
	return n + 1;
}

/* d of the ways, each once, in random order: the first of equals is as likely any of them. */
static uint32_t draw(const struct net_tree *tree, const struct route_ways *ways, struct known *known)
{
	const struct route_drill_tune *tune = tree->choice.tune;
	struct drill_state *st = ways->state;
	uint32_t d = tune->choices < ways->count ? tune->choices : ways->count, n = 0;

	do {
		uint32_t way = rng_below(&st->rng, ways->count), port = ways_port(ways, way);
		n = learn(known, n, (struct known){seen_depth(tree, ways, port), port, way});
	} while (n < d);
	return n;
}

/* Adds the remembered ports that can be taken. */
static uint32_t recall(const struct net_tree *tree, const struct route_ways *ways, const uint32_t *memory,
		       struct known *known, uint32_t n)
{
	const struct route_drill_tune *tune = tree->choice.tune;

	for (uint32_t i = 0; i < tune->memory; i++) {
		uint32_t way = ways_find(ways, memory[i]);
		if (way < ways->count)
			n = learn(known, n, (struct known){seen_depth(tree, ways, memory[i]), memory[i], way});
	}
	return n;
}

/* Of the engine of the packet's incoming port, for these ways. */
static uint32_t *memory_of(const struct net_tree *tree, const struct route_ways *ways)
{
	const struct route_drill_tune *tune = tree->choice.tune;
	const struct net_switch *s = &tree->switches[ways->sw];
	const struct drill_state *st = ways->state;
	uint32_t engine = ways_engine(tree, ways, tune->engines);

	assert(ways->group < switch_groups(s));
	size_t set = ((size_t)engine * switch_groups(s) + ways->group) * PARTS_APART + ways->part % PARTS_APART;

	return st->memory + set * tune->memory;
}

static uint32_t drill_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct route_drill_tune *tune = tree->choice.tune;
	struct drill_state *st = ways->state;
	struct known known[KNOWN_MAX];
	uint32_t *memory = memory_of(tree, ways);

	settle(st, ways->now);
	uint32_t n = recall(tree, ways, memory, known, draw(tree, ways, known));
	for (uint32_t i = 0; i < tune->memory; i++)
		memory[i] = i < n ? known[i].port : PORT_NONE;
	assert(n > 0 && known[0].way < ways->count);
	hide(tree, ways, known[0].port, pkt->wire_bytes);
	return known[0].way;
}

/* What both ways of choosing have. */
#define DRILL_PARAMS                                                                                                   \
	{.key = "drill_choices",                                                                                       \
	 .help = "d: ports drawn for a packet",                                                                        \
	 .def = 2,                                                                                                     \
	 .min = 1,                                                                                                     \
	 .max = CHOICES_MAX,                                                                                           \
	 .offset = offsetof(struct route_drill_tune, choices)},                                                        \
		{.key = "drill_memory",                                                                                \
		 .help = "m: least loaded ports an engine remembers",                                                  \
		 .def = 1,                                                                                             \
		 .max = MEMORY_MAX,                                                                                    \
		 .offset = offsetof(struct route_drill_tune, memory)},                                                 \
		{.key = "drill_engines",                                                                               \
		 .help = "forwarding engines of a switch; incoming ports are dealt out to them",                       \
		 .def = 1,                                                                                             \
		 .min = 1,                                                                                             \
		 .max = 256,                                                                                           \
		 .offset = offsetof(struct route_drill_tune, engines)},                                                \
		{.key = "drill_enter_pct",                                                                             \
		 .help = "how long a packet is not seen in its queue, percent of its time on the link; 0: engines / "  \
			 "ports of it",                                                                                \
		 .max = 1000,                                                                                          \
		 .offset = offsetof(struct route_drill_tune, enter_pct)},                                              \
		{.key = "drill_components",                                                                            \
		 .help = "flows keep to paths that are symmetric with each other (section 3.4)",                       \
		 .def = 1,                                                                                             \
		 .max = 1,                                                                                             \
		 .offset = offsetof(struct route_drill_tune, components),                                              \
		 .type = WEFT_PARAM_BOOL},                                                                             \
	{                                                                                                              \
		.key = "drill_factor",                                                                                 \
		.help = "capacity factors that tell paths apart: 0 none, 1 the path's own, 2 those of all traffic "    \
			"of its links",                                                                                \
		.def = 1, .max = 2, .offset = offsetof(struct route_drill_tune, factor)                                \
	}

static const struct weft_param drill_tunes[] = {
	DRILL_PARAMS,
	{.key = NULL},
};

static bool drill_plan(const void *arg, struct route_planning *how)
{
	const struct route_drill_tune *tune = arg;

	*how = (struct route_planning){QUIVER_BY_SCORE, (enum quiver_factor)tune->factor};
	return tune->components;
}

const struct weft_route_ops route_drill = {
	.name = "drill",
	.help = "per packet, the least loaded of d random and m remembered ports: DRILL(d, m)",
	.tunes = drill_tunes,
	.tune_size = sizeof(struct route_drill_tune),
	.state_bytes = drill_state,
	.init = drill_init,
	.choose = drill_choose,
	.set_back = drill_set_back,
	.plan = drill_plan,
};

/* ---- per flow: section 4's strawman, the first packet chooses and the flow stays ---- */

static const struct route_drill_tune *tune_of(const struct net_tree *tree)
{
	return tree->choice.tune;
}

static size_t drill_flow_state(const struct net_tree *tree, uint32_t sw)
{
	return flow_table_bytes(tune_of(tree)->flows) + drill_state(tree, sw);
}

static void *drill_part(const struct net_tree *tree, void *state)
{
	return (char *)state + flow_table_bytes(tune_of(tree)->flows);
}

static int drill_flow_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	flow_table_init(state, tune_of(tree)->flows);
	return drill_init(tree, sw, drill_part(tree, state), seed, err);
}

static void drill_flow_set_back(const struct net_tree *tree, uint32_t sw, void *state, weft_ps by)
{
	flow_table_set_back(state, by);
	drill_set_back(tree, sw, drill_part(tree, state), by);
}

static uint32_t drill_flow_choose(const struct net_tree *tree, const struct route_ways *ways,
				  const struct weft_pkt *pkt)
{
	struct flow_entry *e = flow_table_find(ways->state, flow_key(pkt));
	struct route_ways inner = *ways;
	uint32_t way = e->port == PORT_NONE ? ways->count : ways_find(ways, e->port);

	inner.state = drill_part(tree, ways->state);
	if (way == ways->count || ways->now - e->seen > UINT64_C(1000000) * tune_of(tree)->idle_us)
		way = drill_choose(tree, &inner, pkt);
	e->port = ways_port(ways, way);
	e->seen = ways->now;
	return way;
}

static const struct weft_param drill_flow_tunes[] = {
	DRILL_PARAMS,
	{.key = "drill_flow_idle_us",
	 .help = "idle time after which a flow chooses again, us",
	 .def = 10000,
	 .max = 100000000,
	 .offset = offsetof(struct route_drill_tune, idle_us)},
	{.key = "drill_flows",
	 .help = "flows a switch remembers",
	 .def = 4096,
	 .min = 4,
	 .max = 1048576,
	 .offset = offsetof(struct route_drill_tune, flows)},
	{.key = NULL},
};

const struct weft_route_ops route_drill_flow = {
	.name = "drill_flow",
	.per_flow = true,
	.help = "per flow, what drill chooses for its first packet",
	.tunes = drill_flow_tunes,
	.tune_size = sizeof(struct route_drill_tune),
	.state_bytes = drill_flow_state,
	.init = drill_flow_init,
	.choose = drill_flow_choose,
	.set_back = drill_flow_set_back,
	.plan = drill_plan,
};
