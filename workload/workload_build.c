/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns whose flows all start at once, and the windowed all-to-all. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

int workload_alloc(struct weft_workload *w, uint32_t nodes, uint32_t flows, uint32_t triggers)
{
	w->nodes = nodes;
	w->flows = calloc((size_t)flows + 1, sizeof *w->flows);
	w->triggers = triggers ? calloc(triggers, sizeof *w->triggers) : NULL;
	if (!w->flows || (triggers && !w->triggers))
		return -ENOMEM;
	w->trigger_count = triggers;
	return 0;
}

struct weft_flow *workload_add(struct weft_workload *w, uint32_t src, uint32_t dst, uint64_t bytes)
{
	assert(src != dst && bytes > 0 && w->flows);
	struct weft_flow *f = &w->flows[w->flow_count++];

	*f = (struct weft_flow){.src = src,
				.dst = dst,
				.id = w->flow_count,
				.bytes = bytes,
				.start_trigger = -1,
				.send_done_trigger = -1,
				.recv_done_trigger = -1};
	return f;
}

void workload_wait(struct weft_flow *f, uint32_t t)
{
	f->start_ns = WEFT_NEVER;
	f->start_trigger = (int32_t)t;
}

static void swap(uint32_t *to, uint32_t i, uint32_t j)
{
	uint32_t t = to[i];

	to[i] = to[j];
	to[j] = t;
}

/* Sattolo's algorithm: one cycle through all. */
uint32_t *workload_cycle(uint32_t n, struct rng *rng)
{
	uint32_t *to = malloc(n * sizeof *to);

	for (uint32_t i = 0; to && i < n; i++)
		to[i] = i;
	for (uint32_t i = n - 1; to && i > 0; i--)
		swap(to, i, rng_below(rng, i));
	return to;
}

/* Turns to[] into flows and frees it. */
static int add_permutation(const struct request *q, uint32_t *to, struct weft_workload *w)
{
	if (!to || workload_alloc(w, q->hosts, q->hosts, 0)) {
		free(to);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < q->hosts; i++)
		workload_add(w, i, to[i], q->bytes);
	free(to);
	return 0;
}

int build_permutation(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct rng rng = {q->seed};

	return add_permutation(q, workload_cycle(q->hosts, &rng), w);
}

/* Every flow leaves its group of `group` hosts. A host whose receiver is in its own group swaps receivers with one of
 * another group that sends into a third or back: there always is one while no group holds more than half of the hosts.
 */
static void cross(uint32_t *to, uint32_t n, uint32_t group, struct rng *rng)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t mine = i / group, j = rng_below(rng, n);
		if (to[i] / group != mine)
			continue;
		while (j / group == mine || to[j] / group == mine)
			j = j + 1 < n ? j + 1 : 0;
		swap(to, i, j);
	}
}

/* What SMaRTT calls a permutation: pairs chosen so that every packet crosses the core (sec. IV). */
int build_crosscore(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	const struct weft_topo *t = q->topo;
	bool pods = t->tiers == 3;
	uint32_t group = pods ? t->pod_hosts : t->tier[0].radix_down;
	struct rng rng = {q->seed};

	if (q->hosts < 2 * group)
		return weft_err_set(err, -EINVAL,
				    "%.80s: %u hosts cannot all send to another %s of %u hosts; it takes at least %u",
				    q->spec, q->hosts, pods ? "pod" : "leaf", group, 2 * group);
	uint32_t *to = workload_cycle(q->hosts, &rng);
	if (to)
		cross(to, q->hosts, group, &rng);
	return add_permutation(q, to, w);
}

/* To the twin in the other half (REPS sec. 4.2). */
int build_tornado(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	uint32_t n = q->hosts;

	if (n % 2)
		return weft_err_set(err, -EINVAL, "%.80s: %u hosts have no two halves", q->spec, n);
	if (workload_alloc(w, n, n, 0))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		workload_add(w, i, (i + n / 2) % n, q->bytes);
	return 0;
}

int build_random(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct rng rng = {q->seed};

	if (workload_alloc(w, q->hosts, q->flows, 0))
		return -ENOMEM;
	for (uint32_t i = 0; i < q->flows; i++) {
		uint32_t src = rng_below(&rng, q->hosts), dst = rng_below(&rng, q->hosts - 1);
		workload_add(w, src, dst < src ? dst : dst + 1, q->bytes);
	}
	return 0;
}

static int refuse_many(const struct request *q, uint64_t count, const char *what, uint32_t max, struct weft_err *err)
{
	return weft_err_set(err, -EINVAL, "%.80s: %llu %s, at most %u are possible", q->spec, (unsigned long long)count,
			    what, max);
}

/* Each incast is a block of hosts: the receiver first, its senders behind it. */
int build_incast(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	uint64_t block = (uint64_t)q->senders + 1;

	if (block * q->incasts > WEFT_TOPO_HOSTS_MAX)
		return refuse_many(q, block * q->incasts, "hosts", WEFT_TOPO_HOSTS_MAX, err);
	if (workload_alloc(w, (uint32_t)block * q->incasts, q->senders * q->incasts, 0))
		return -ENOMEM;
	for (uint32_t first = 0; first < w->nodes; first += q->senders + 1)
		for (uint32_t i = 1; i <= q->senders; i++)
			workload_add(w, first + i, first, q->bytes);
	return 0;
}

/* As the reference simulator's generator has it: the senders 1..N converge on host 0; all but the first of them also
 * send to fan_out - 1 receivers of their own. The first could use what the others, whose links are shared, cannot. */
int build_outcast_incast(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	uint64_t others = (uint64_t)(q->senders - 1) * (q->fan_out - 1);
	uint64_t nodes = 1 + q->senders + others;

	if (nodes > WEFT_TOPO_HOSTS_MAX)
		return refuse_many(q, nodes, "hosts", WEFT_TOPO_HOSTS_MAX, err);
	if (workload_alloc(w, (uint32_t)nodes, (uint32_t)nodes - 1, 0))
		return -ENOMEM;
	uint32_t receiver = q->senders + 1;
	for (uint32_t i = 1; i <= q->senders; i++) {
		workload_add(w, i, 0, q->bytes);
		for (uint32_t k = 1; i > 1 && k < q->fan_out; k++)
			workload_add(w, i, receiver++, q->bytes);
	}
	return 0;
}

/* Writes the other hosts to `to` in random order, so that not everybody begins with the same receiver. */
static void shuffle_peers(uint32_t self, uint32_t n, struct rng *rng, uint32_t *to)
{
	for (uint32_t i = 0; i < n - 1; i++) {
		uint32_t j = rng_below(rng, i + 1);
		to[i] = to[j];
		to[j] = i < self ? i : i + 1;
	}
}

/* One node's flows: the first `parallel` start at once, each completion starts the next by the node's trigger. */
static void add_windowed(const struct request *q, struct weft_workload *w, uint32_t src, const uint32_t *to)
{
	w->triggers[src] = (struct weft_trigger){.id = src + 1, .kind = WEFT_TRIGGER_MULTISHOT, .count = 1};
	for (uint32_t i = 0; i < q->hosts - 1; i++) {
		struct weft_flow *f = workload_add(w, src, to[i], q->bytes);
		f->send_done_trigger = (int32_t)src;
		if (i >= q->parallel)
			workload_wait(f, src);
	}
}

/* Host ring[place]'s receivers as the reference simulator's generator orders them: a window of k flows goes to places k
 * equal distances apart and moves on by one. While all hosts keep step every receiver has k senders. */
static void shifted_peers(const struct request *q, const uint32_t *ring, uint32_t place, uint32_t *to)
{
	uint32_t n = q->hosts, k = q->parallel < n - 1 ? q->parallel : n - 1, steps = k ? (n - 1) / k : 0, i = 0;

	for (uint32_t step = 1; step <= steps; step++)
		for (uint32_t j = 0; j < k; j++)
			to[i++] = ring[(place + step + j * steps) % n];
	for (; i < n - 1; i++)
		to[i] = ring[(place + i + 1) % n];
}

/* `to` and `ring` have room for the hosts; `ring` only serves the shifted order. */
static void add_alltoall(const struct request *q, struct weft_workload *w, uint32_t *to, uint32_t *ring)
{
	struct rng rng = {q->seed};
	uint32_t n = q->hosts;

	if (q->shifted)
		shuffle_peers(n, n + 1, &rng, ring);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t src = q->shifted ? ring[i] : i;
		if (q->shifted)
			shifted_peers(q, ring, i, to);
		else
			shuffle_peers(src, n, &rng, to);
		if (w->trigger_count)
			add_windowed(q, w, src, to);
		for (uint32_t d = 0; d < n - 1 && !w->trigger_count; d++)
			workload_add(w, src, to[d], q->bytes);
	}
}

int build_alltoall(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	uint32_t n = q->hosts, peers = n - 1;

	if ((uint64_t)n * peers > FLOWS_MAX)
		return refuse_many(q, (uint64_t)n * peers, "flows", FLOWS_MAX, err);
	uint32_t *to = malloc(2 * (size_t)n * sizeof *to);
	if (!to || workload_alloc(w, n, n * peers, q->parallel < peers ? n : 0)) {
		free(to);
		return -ENOMEM;
	}
	add_alltoall(q, w, to, to + n);
	free(to);
	return 0;
}
