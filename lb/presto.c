/* SPDX-License-Identifier: BSD-3-Clause */
/* Presto (He et al., SIGCOMM 2015, section 3): a connection's bytes in flowcells of 64 KiB, which take the paths in
 * turn. An entropy is the path where switches read its digits; where they hash it, turns are over all entropies. The
 * load of paths plays no part. Where paths are unlike, after failures above all, routing gives out the turns: by
 * weight, over the paths that are left, as Presto's controller does (DRILL section 3.4). */
#include "lb_ops.h"
#include "rng.h"

enum { PAYLOAD_BYTES = 4096 }; /* of a packet, where nobody said */

struct presto {
	weft_ns last_ns; /* when the newest packet left */
	uint32_t dst;    /* as routing knows it */
	uint32_t turn;   /* of this flowcell; before the first one what was drawn for it, 32 bits */
	uint32_t left;   /* packets until the next one begins */
	uint16_t ev;     /* of this flowcell */
	uint8_t begun;   /* there is one */
};

_Static_assert(sizeof(struct presto) == 24, "it is a part of every connection");

/* How many paths take turns. */
static uint32_t paths_of(const struct weft_lb_params *params)
{
	uint32_t n = 1;

	if (!params->digits_read)
		return params->evs_size;
	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++)
		n *= params->digits.values[i] > 1 ? params->digits.values[i] : 1;
	return n;
}

/* The leaves' digit changes with every path, so that neighbours have nothing in common. */
static uint16_t entropy_of(const struct weft_lb_params *params, uint32_t path)
{
	uint32_t ev = 0;

	if (!params->digits_read)
		return (uint16_t)path;
	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++) {
		uint32_t n = params->digits.values[i] > 1 ? params->digits.values[i] : 1;
		ev |= path % n << params->digits.shift[i];
		path /= n;
	}
	return (uint16_t)ev;
}

static uint32_t cell_pkts(const struct weft_lb_params *params)
{
	const struct presto_tune *t = params->tune;
	uint32_t payload = params->payload_bytes ? params->payload_bytes : PAYLOAD_BYTES;

	return t->flowcell_bytes > payload ? t->flowcell_bytes / payload : 1;
}

/* The first path is drawn: else all connections would take them in step. */
static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct presto *s = weft_lb_state(lb);
	struct rng rng = {seed};

	*s = (struct presto){.last_ns = now, .turn = (uint32_t)(rng_next(&rng) >> 32)};
}

static void towards(struct weft_lb *lb, uint32_t dst)
{
	struct presto *s = weft_lb_state(lb);

	s->dst = dst;
}

/* A flowcell under way when routing changes keeps its path; the next one has what was given out then. */
static void next_cell(const struct weft_lb_params *params, struct presto *s)
{
	const struct weft_lb_routes *routes = params->digits_read ? params->routes : NULL;
	const struct weft_lb_turns *given = routes ? routes->turns(routes->arg, s->dst) : NULL;
	uint32_t turns = given ? given->count : paths_of(params), ev;

	if (!s->begun)
		s->turn = (uint32_t)((uint64_t)s->turn * turns >> 32);
	else
		s->turn = s->turn + 1 < turns ? s->turn + 1 : 0;
	s->begun = 1;
	s->left = cell_pkts(params);
	ev = given ? given->ev[s->turn] : entropy_of(params, s->turn);
	s->ev = (uint16_t)(ev < params->evs_size ? ev : params->evs_size - 1);
}

/* After a pause of a base RTT the next flow begins, and with it a flowcell. */
static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct presto *s = weft_lb_state(lb);

	if (!s->begun)
		next_cell(lb->params, s);
	if (!s->left || now - s->last_ns > lb->params->brtt_ns)
		next_cell(lb->params, s);
	s->left--;
	s->last_ns = now;
	return s->ev;
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

static const struct weft_param tunes[] = {
	{"flowcell_bytes", "payload that keeps its path, bytes", 65536, 64, 1 << 30,
	 offsetof(struct presto_tune, flowcell_bytes), WEFT_PARAM_U32},
	{NULL},
};

const struct weft_lb_ops weft_lb_presto = {
	.name = "presto",
	.help = "Presto: 64 KiB flowcells in round robin over the paths, weighted where routing gives weights",
	.tunes = tunes,
	.tune_size = sizeof(struct presto_tune),
	.state_size = sizeof(struct presto),
	.init = init,
	.towards = towards,
	.pick = pick,
	.feedback = feedback,
};
