/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

/* Runs the chain in an order drawn by `seed`: any started flow may be delivered next. Calls `deliver` for each and
 * checks that all come. */
static void run_chain(struct weft_workload *w, uint32_t seed, void (*deliver)(void *arg, const struct weft_flow *f),
		      void *arg)
{
	uint32_t *ready = malloc(w->flow_count * sizeof *ready), count = 0, delivered = 0;
	uint32_t *fired = calloc(w->trigger_count + 1, sizeof *fired);

	for (uint32_t i = 0; i < w->flow_count; i++)
		if (w->flows[i].start_ns == 0)
			ready[count++] = i;
	while (count) {
		uint32_t pick = (seed = seed * 1103515245 + 12345) / 65536 % count, index = ready[pick];
		const struct weft_flow *f = &w->flows[index];
		ready[pick] = ready[--count];
		deliver(arg, f);
		delivered++;
		if (f->recv_done_trigger >= 0)
			count += weft_trigger_fire(&w->triggers[f->recv_done_trigger], &fired[f->recv_done_trigger],
						   ready + count);
		if (f->send_done_trigger >= 0)
			count += weft_trigger_fire(&w->triggers[f->send_done_trigger], &fired[f->send_done_trigger],
						   ready + count);
	}
	assert_int_equal(delivered, w->flow_count);
	free(ready);
	free(fired);
}

/* Who has contributed to what a host holds; for exchanges of whole vectors. */
struct contributions {
	uint32_t has[16]; /* of each host, a bit per host */
	const struct weft_workload *w;
};

static void add_up(void *arg, const struct weft_flow *f)
{
	struct contributions *c = arg;
	uint32_t step = (uint32_t)(f - c->w->flows) / c->w->nodes;
	/* In step s a host sends what 2^s hosts gave: the block of its number. */
	uint32_t size = 1u << step, first = f->src / size * size;
	uint32_t sent = ((1u << size) - 1) << first;

	assert_int_equal(c->has[f->src] & sent, sent);
	c->has[f->dst] |= sent;
}

/* Recursive doubling on 16 hosts: a host sends only what it has by then, and in the end all have everything. */
static void build_butterfly__sums(void **state)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct weft_workload w = make_on("allreduce-butterfly:16:1000", 1, NULL);
		struct contributions c = {.w = &w};
		assert_int_equal(w.flow_count, 16 * 4);
		for (uint32_t i = 0; i < 16; i++)
			c.has[i] = 1u << i;
		for (uint32_t i = 0; i < w.flow_count; i++) {
			assert_int_equal(w.flows[i].bytes, 1000);
			assert_int_equal(w.flows[i].src ^ w.flows[i].dst, 1 << i / 16);
		}
		run_chain(&w, seed, add_up, &c);
		for (uint32_t i = 0; i < 16; i++)
			assert_int_equal(c.has[i], 0xffff);
		weft_workload_free(&w);
	}
}

static void build_halving__sizes(void **state)
{
	static const uint32_t distance[] = {4, 2, 1, 1, 2, 4}, bytes[] = {501, 251, 126, 126, 251, 501};
	struct weft_workload w = make_on("allreduce-halving:8:1001", 1, NULL);

	assert_int_equal(w.flow_count, 8 * 6);
	assert_int_equal(w.trigger_count, 8 * 5);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		assert_int_equal(w.flows[i].src ^ w.flows[i].dst, distance[i / 8]);
		assert_int_equal(w.flows[i].bytes, bytes[i / 8]);
	}
	weft_workload_free(&w);
}

static void count(void *arg, const struct weft_flow *f)
{
	++*(uint32_t *)arg;
}

static void build_halving__completes(void **state)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct weft_workload w = make_on("allreduce-halving:16:1MiB", 1, NULL);
		uint32_t delivered = 0;
		run_chain(&w, seed, count, &delivered);
		assert_int_equal(delivered, 16 * 8);
		weft_workload_free(&w);
	}
}

/* Each piece goes all around the ring twice but for one hop, and all bytes are in a step's pieces. */
static void build_ring__pieces(void **state)
{
	struct weft_workload w = make_on("allreduce-ring:7:1000", 1, NULL);

	assert_int_equal(w.flow_count, 7 * 12);
	assert_int_equal(w.trigger_count, 7 * 11);
	for (uint32_t s = 0; s < 12; s++) {
		uint64_t sum = 0;
		for (uint32_t r = 0; r < 7; r++) {
			const struct weft_flow *f = &w.flows[s * 7 + r];
			assert_int_equal(f->src, r);
			assert_int_equal(f->dst, (r + 1) % 7);
			assert_int_equal(f->start_ns == 0, s == 0);
			/* What arrives is passed on. */
			if (s > 0)
				assert_int_equal(f->bytes, w.flows[(s - 1) * 7 + (r + 6) % 7].bytes);
			sum += f->bytes;
		}
		assert_int_equal(sum, 1000);
	}
	weft_workload_free(&w);
}

static void build_ring__receiving_starts_the_next_step(void **state)
{
	struct weft_workload w = make_on("allreduce-ring:4:1MiB", 1, NULL);

	for (uint32_t i = 0; i < w.flow_count; i++) {
		const struct weft_flow *f = &w.flows[i];
		uint32_t next, fired = 0;
		assert_int_equal(f->send_done_trigger, -1);
		if (i >= 4 * 5) {
			assert_int_equal(f->recv_done_trigger, -1);
			continue;
		}
		assert_int_equal(weft_trigger_fire(&w.triggers[f->recv_done_trigger], &fired, &next), 1);
		assert_int_equal(next / 4, i / 4 + 1);
		assert_int_equal(w.flows[next].src, f->dst);
	}
	weft_workload_free(&w);
}

/* With `spread`, neighbours in the ring are never on one leaf. */
static void build_ring__spread(void **state)
{
	struct weft_topo topo = leafspine("leafspine:4:2:4");
	struct weft_workload w = make_on("allreduce-ring:16:1MiB:spread", 1, &topo);
	uint32_t sends[16] = {0};

	for (uint32_t i = 0; i < w.flow_count; i++) {
		sends[w.flows[i].src]++;
		assert_int_not_equal(w.flows[i].src / 4, w.flows[i].dst / 4);
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(sends[i], 30);
	weft_workload_free(&w);
	refused_on("allreduce-ring:14:1MiB:spread", &topo, -EINVAL,
		   "allreduce-ring:14:1MiB:spread: 14 hosts do not fill leaves of 4");
}

static void build_allreduce__refuses(void **state)
{
	refused_on("allreduce-ring:8:7", NULL, -EINVAL, "allreduce-ring:8:7: 7 bytes do not divide into 8 pieces");
	refused_on("allreduce-ring:4096:1MiB", NULL, -EINVAL,
		   "allreduce-ring:4096:1MiB: 33546240 flows, at most 16777216 are possible");
	refused_on("allreduce-butterfly:12:1MiB", NULL, -EINVAL,
		   "allreduce-butterfly:12:1MiB: 12 hosts are no power of two");
	refused_on("allreduce-halving:12:1MiB", NULL, -EINVAL,
		   "allreduce-halving:12:1MiB: 12 hosts are no power of two");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_butterfly__sums),
		cmocka_unit_test(build_halving__sizes),
		cmocka_unit_test(build_halving__completes),
		cmocka_unit_test(build_ring__pieces),
		cmocka_unit_test(build_ring__receiving_starts_the_next_step),
		cmocka_unit_test(build_ring__spread),
		cmocka_unit_test(build_allreduce__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
