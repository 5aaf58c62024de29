/* SPDX-License-Identifier: BSD-3-Clause */
/* Open-loop traffic: every host starts flows at random times, of sizes from a distribution, to random hosts. Integers
 * only, so that every machine makes the same flows. */
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

typedef unsigned __int128 wide;

enum { GAP_BITS = 16 }; /* fraction of a picosecond in times between flows */

/* Seventy seconds; more than that between two flows of a host is cut to it, and hardly any run is so long. */
#define LONGEST (UINT64_C(1) << 62)

/* log2 of x > 0 with 32 fractional bits: the mantissa is squared, and each doubling beyond 2 is a bit of the result. */
static uint64_t log2_q32(uint64_t x)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(x) & 63;
	uint64_t m = x << zeros, frac = 0;

	for (int i = 0; i < 32; i++) {
		wide square = (wide)m * m;
		bool above = square >> 127;
		frac = 2 * frac + (above ? 1 : 0);
		m = (uint64_t)(square >> (above ? 64 : 63));
	}
	return (uint64_t)(63 - zeros) << 32 | frac;
}

/* An exponential time of the given mean: -mean ln(U), U uniform in (0, 1). */
static uint64_t draw_gap(uint64_t mean, struct rng *rng)
{
	const uint64_t ln2_q32 = 2977044472; /* ln 2 */
	uint64_t u = rng_next(rng) | 1;
	uint64_t bits = (UINT64_C(64) << 32) - log2_q32(u);
	uint64_t e_q32 = (uint64_t)((wide)bits * ln2_q32 >> 32);
	wide gap = (wide)mean * e_q32 >> 32;

	return gap > LONGEST ? LONGEST : (uint64_t)gap;
}

/* Mean time between two flows of a host, 2^-GAP_BITS ps: mean size / (load * link). */
static uint64_t mean_gap(const struct request *q)
{
	/* cdf_mean: 2 * 10^9 per byte; load: 10^9; a byte takes 8 * 10^12 / bps ps. */
	wide dividend = (wide)cdf_mean(q->cdf) * (UINT64_C(4000000000000) << GAP_BITS);
	wide gap = dividend / ((wide)q->topo->tier[0].down_bps * q->load);

	return gap > LONGEST ? LONGEST : gap ? (uint64_t)gap : 1;
}

/* Flows in the making. */
struct arrivals {
	const struct request *q;
	struct weft_workload *w;
	uint32_t room; /* flows that w has memory for */
	uint32_t *to;  /* each host's receiver; NULL: drawn for every flow */
};

/* How many hosts `src` may send to, and which is the first it may not: its own group does not receive, and where only
 * some hosts send to other leaves, no group of theirs does. */
static uint32_t targets(const struct request *q, uint32_t src, uint32_t *skip_from, uint32_t *skip)
{
	uint32_t group = q->off_leaf ? q->topo->tier[0].radix_down : 1;
	bool apart = q->off_leaf && q->senders;
	uint32_t first = apart ? 0 : src, last = apart ? q->senders - 1 : src;
	uint32_t from = first / group * group, end = (last / group + 1) * group;

	*skip_from = from;
	*skip = (end < q->hosts ? end : q->hosts) - from;
	return q->hosts - *skip;
}

/* Hosts 0 to this one, exclusive, start flows. */
static uint32_t senders(const struct request *q)
{
	return q->senders ? q->senders : q->hosts;
}

/* With one receiver for all, what is drawn counts for nothing but keeps times and sizes as they are without. */
static uint32_t draw_receiver(const struct arrivals *a, uint32_t src, struct rng *rng)
{
	uint32_t from, skip, count = targets(a->q, src, &from, &skip);
	uint32_t dst = rng_below(rng, count);

	if (a->to)
		return a->to[src];
	return dst < from ? dst : dst + skip;
}

static int add_arrival(struct arrivals *a, uint32_t src, struct rng *rng, weft_ns at)
{
	struct weft_workload *w = a->w;
	uint32_t dst = draw_receiver(a, src, rng);

	if (w->flow_count == a->room) {
		struct weft_flow *grown = realloc(w->flows, 2 * (size_t)a->room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		w->flows = grown;
		a->room *= 2;
	}
	workload_add(w, src, dst, cdf_draw(a->q->cdf, rng))->start_ns = at;
	return 0;
}

/* One host's flows, from its own random numbers: more hosts change nothing for the others. */
static int add_host(struct arrivals *a, uint32_t src)
{
	const struct request *q = a->q;
	struct rng rng = {rng_mix(q->seed ^ rng_mix(src + 1))};
	uint64_t mean = mean_gap(q), end = (q->duration_ns * 1000) << GAP_BITS;
	uint64_t at = draw_gap(mean, &rng);
	int rc = 0;

	for (; at < end && !rc; at += draw_gap(mean, &rng))
		rc = add_arrival(a, src, &rng, (at >> GAP_BITS) / 1000);
	return rc;
}

/* A random permutation: no two hosts send to the same one. */
static int choose_receivers(struct arrivals *a)
{
	struct rng rng = {rng_mix(a->q->seed)};

	a->to = a->q->one_receiver ? workload_cycle(a->q->hosts, &rng) : NULL;
	return a->q->one_receiver && !a->to ? -ENOMEM : 0;
}

static int check_volume(const struct request *q, struct weft_err *err)
{
	wide expected = ((wide)senders(q) * q->duration_ns * 1000 << GAP_BITS) / mean_gap(q);
	uint64_t shown = expected > UINT64_MAX ? UINT64_MAX : (uint64_t)expected;

	if (expected > POISSON_FLOWS_MAX)
		return weft_err_set(err, -EINVAL,
				    "%.80s makes about %llu flows, more than %d: shorten the time or take fewer hosts",
				    q->spec, (unsigned long long)shown, POISSON_FLOWS_MAX);
	return 0;
}

static int nobody_receives(const struct request *q, struct weft_err *err)
{
	if (q->senders)
		return weft_err_set(err, -EINVAL, "%.80s: no host of %u is left to receive from %u senders", q->spec,
				    q->hosts, q->senders);
	return weft_err_set(err, -EINVAL, "%.80s: all %u hosts are on one leaf", q->spec, q->hosts);
}

static int check_hosts(const struct request *q, struct weft_err *err)
{
	uint32_t from, skip;

	if (!targets(q, 0, &from, &skip))
		return nobody_receives(q, err);
	if (q->senders > q->hosts)
		return weft_err_set(err, -EINVAL, "%.80s: %u senders are more than all %u hosts", q->spec, q->senders,
				    q->hosts);
	return 0;
}

int build_poisson(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct arrivals a = {.q = q, .w = w, .room = 1024};
	int rc = check_volume(q, err);

	if (!rc)
		rc = check_hosts(q, err);
	if (!rc)
		rc = workload_alloc(w, q->hosts, a.room, 0);
	if (!rc)
		rc = choose_receivers(&a);
	for (uint32_t src = 0; src < senders(q) && !rc; src++)
		rc = add_host(&a, src);
	free(a.to);
	if (!rc && !w->flow_count)
		rc = weft_err_set(err, -EINVAL, "%.80s: no flow starts in so short a time", q->spec);
	return rc;
}
