/* SPDX-License-Identifier: BSD-3-Clause */
/* All-reduce as chains of flows: rank r's flow of step s is number s * ranks + r, and waits for what the algorithm
 * needs before it (Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
 */
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

/* Where the ranks are: rank = host, or one rank to each leaf in turn. */
struct ranks {
	uint32_t count, leaves, per_leaf;
};

static uint32_t host_of(const struct ranks *k, uint32_t rank)
{
	return rank % k->leaves * k->per_leaf + rank / k->leaves;
}

/* Places the ranks and makes room for the steps: a trigger for every flow but those of the first step. */
static int prepare(const struct request *q, uint32_t steps, struct ranks *k, struct weft_workload *w,
		   struct weft_err *err)
{
	uint64_t flows = (uint64_t)steps * q->hosts;

	*k = (struct ranks){.count = q->hosts, .leaves = 1, .per_leaf = q->hosts};
	if (q->spread) {
		k->per_leaf = q->topo->tier[0].radix_down;
		k->leaves = q->hosts / k->per_leaf;
		if (q->hosts % k->per_leaf)
			return weft_err_set(err, -EINVAL, "%.80s: %u hosts do not fill leaves of %u", q->spec, q->hosts,
					    k->per_leaf);
	}
	if (flows > FLOWS_MAX)
		return weft_err_set(err, -EINVAL, "%.80s: %llu flows, at most %u are possible", q->spec,
				    (unsigned long long)flows, FLOWS_MAX);
	return workload_alloc(w, q->hosts, (uint32_t)flows, (uint32_t)flows - q->hosts);
}

/* The flow of `rank` in step `s`; `activations` of its trigger start it. */
static struct weft_flow *add_step(struct weft_workload *w, const struct ranks *k, uint32_t s, uint32_t rank,
				  uint32_t to, uint64_t bytes, uint32_t activations)
{
	struct weft_flow *f = workload_add(w, host_of(k, rank), host_of(k, to), bytes);

	if (s > 0) {
		uint32_t t = (s - 1) * k->count + rank;
		w->triggers[t] = (struct weft_trigger){
			.id = t + 1,
			.kind = activations > 1 ? WEFT_TRIGGER_BARRIER : WEFT_TRIGGER_ONESHOT,
			.count = activations,
		};
		workload_wait(f, t);
	}
	return f;
}

/* The trigger of rank's next step after `s`, or -1. */
static int32_t next_step(const struct ranks *k, uint32_t s, uint32_t steps, uint32_t rank)
{
	return s + 1 < steps ? (int32_t)(s * k->count + rank) : -1;
}

/* Reduce-scatter and all-gather around a ring: 2 (N - 1) steps of one of N pieces each. A rank passes on what it got,
 * so it starts a step when it has received the step before. */
int build_ring(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	uint32_t n = q->hosts, steps = 2 * (n - 1);
	struct ranks k;

	if (q->bytes < n)
		return weft_err_set(err, -EINVAL, "%.80s: %llu bytes do not divide into %u pieces", q->spec,
				    (unsigned long long)q->bytes, n);
	int rc = prepare(q, steps, &k, w, err);
	for (uint32_t i = 0; i < steps * n && !rc; i++) {
		uint32_t s = i / n, rank = i % n, to = (rank + 1) % n;
		uint64_t piece = (rank + 2 * (uint64_t)n - s) % n;
		uint64_t bytes = q->bytes * (piece + 1) / n - q->bytes * piece / n;
		add_step(w, &k, s, rank, to, bytes, 1)->recv_done_trigger = next_step(&k, s, steps, to);
	}
	return rc;
}

/* What partners exchange in a step: rank ^ distance. */
struct exchange {
	uint32_t distance;
	uint64_t bytes;
};

/* A rank goes on when it has sent and received: its partner may be a step ahead. */
static int build_exchanges(const struct request *q, const struct exchange *x, uint32_t steps, struct weft_workload *w,
			   struct weft_err *err)
{
	uint32_t n = q->hosts;
	struct ranks k;
	int rc = prepare(q, steps, &k, w, err);

	for (uint32_t i = 0; i < steps * n && !rc; i++) {
		uint32_t s = i / n, rank = i % n, partner = rank ^ x[s].distance;
		struct weft_flow *f = add_step(w, &k, s, rank, partner, x[s].bytes, 2);
		f->send_done_trigger = next_step(&k, s, steps, rank);
		f->recv_done_trigger = next_step(&k, s, steps, partner);
	}
	return rc;
}

static int check_power_of_two(const struct request *q, struct weft_err *err)
{
	return q->hosts & (q->hosts - 1)
		       ? weft_err_set(err, -EINVAL, "%.80s: %u hosts are no power of two", q->spec, q->hosts)
		       : 0;
}

enum { LOG_MAX = 16 };

/* Recursive doubling: the whole vector in each of log2 N steps, between ever farther partners. */
int build_butterfly(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct exchange x[LOG_MAX];
	uint32_t steps = 0;
	int rc = check_power_of_two(q, err);

	for (uint32_t d = 1; d < q->hosts && !rc; d *= 2)
		x[steps++] = (struct exchange){d, q->bytes};
	return rc ? rc : build_exchanges(q, x, steps, w, err);
}

/* Recursive halving, then doubling (Rabenseifner): half of the vector to the farthest partner, a quarter to the next,
 * and back again. Pieces are rounded up. */
int build_halving(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct exchange x[2 * LOG_MAX];
	uint32_t half = 0;
	int rc = check_power_of_two(q, err);

	for (uint32_t d = q->hosts / 2; d > 0 && !rc; d /= 2) {
		uint64_t parts = q->hosts / d;
		x[half++] = (struct exchange){d, (q->bytes + parts - 1) / parts};
	}
	for (uint32_t i = 0; i < half; i++)
		x[half + i] = x[half - 1 - i];
	return rc ? rc : build_exchanges(q, x, 2 * half, w, err);
}
