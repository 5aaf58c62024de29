/* SPDX-License-Identifier: BSD-3-Clause */
/* How collective operations are done: binomial trees, rings, and everybody at once where each member has something else
 * for each. `rank` counts from the root in trees. */
#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "coll.h"

static void add(struct coll_run *run, struct coll_step step)
{
	assert(run->count <= run->room);
	if (run->count == run->room) {
		size_t room = run->room ? run->room * 2 : 16;
		struct coll_step *steps = reallocarray(run->steps, room, sizeof *steps);
		run->short_of_mem |= !steps;
		if (!steps)
			return;
		run->steps = steps;
		run->room = room;
	}
	run->steps[run->count++] = step;
}

static void send_to(struct coll_run *run, uint32_t rank, const void *from, size_t bytes)
{
	add(run, (struct coll_step){.kind = COLL_SEND, .rank = rank, .from = from, .bytes = bytes});
}

static void recv_from(struct coll_run *run, uint32_t rank, void *to, size_t bytes)
{
	add(run, (struct coll_step){.kind = COLL_RECV, .rank = rank, .to = to, .bytes = bytes});
}

static void copy(struct coll_run *run, void *to, const void *from, size_t bytes)
{
	add(run, (struct coll_step){.kind = COLL_COPY, .to = to, .from = from, .bytes = bytes});
}

static void reduce_into(struct coll_run *run, void *to, const void *from, size_t bytes)
{
	add(run, (struct coll_step){.kind = COLL_REDUCE, .to = to, .from = from, .bytes = bytes});
}

static void wait_all(struct coll_run *run)
{
	add(run, (struct coll_step){.kind = COLL_WAIT});
}

/* Dissemination: after round k everybody has heard, through others, of 2^k members. */
static void barrier(struct coll_run *run, const struct coll_call *c)
{
	for (uint32_t k = 1; k < c->members; k *= 2) {
		recv_from(run, (c->rank + c->members - k) % c->members, NULL, 0);
		send_to(run, (c->rank + k) % c->members, NULL, 0);
		wait_all(run);
	}
}

static uint32_t from_root(const struct coll_call *c)
{
	return (c->rank + c->members - c->root) % c->members;
}

static uint32_t member(const struct coll_call *c, uint32_t from_root)
{
	assert(from_root < c->members);
	return (from_root + c->root) % c->members;
}

static void broadcast(struct coll_run *run, const struct coll_call *c, void *buf, size_t bytes)
{
	uint32_t v = from_root(c), mask = 1;
	while (mask < c->members && !(v & mask))
		mask *= 2;
	if (v) {
		recv_from(run, member(c, v - mask), buf, bytes);
		wait_all(run);
	}
	for (mask /= 2; mask; mask /= 2)
		if (v + mask < c->members)
			send_to(run, member(c, v + mask), buf, bytes);
}

/* Reduces the contributions of all members into the root's `sum`; `other` receives those of children. */
static void reduce(struct coll_run *run, const struct coll_call *c, void *sum, void *other, size_t bytes)
{
	uint32_t v = from_root(c);
	copy(run, sum, c->buf, bytes);
	for (uint32_t mask = 1; mask < c->members; mask *= 2) {
		if (v & mask) {
			send_to(run, member(c, v - mask), sum, bytes);
			wait_all(run);
			return;
		}
		if (v + mask < c->members) {
			recv_from(run, member(c, v + mask), other, bytes);
			wait_all(run);
			reduce_into(run, sum, other, bytes);
		}
	}
}

/* Ring: each round forwards the block received in the round before. */
static void allgather(struct coll_run *run, const struct coll_call *c, size_t bytes)
{
	uint8_t *all = c->result;
	uint32_t n = c->members;
	copy(run, all + c->rank * bytes, c->buf, bytes);
	for (uint32_t i = 0; i + 1 < n; i++) {
		recv_from(run, (c->rank + n - 1) % n, all + (c->rank + n - i - 1) % n * bytes, bytes);
		send_to(run, (c->rank + 1) % n, all + (c->rank + n - i) % n * bytes, bytes);
		wait_all(run);
	}
}

static void scatter(struct coll_run *run, const struct coll_call *c, size_t bytes)
{
	const uint8_t *all = c->buf;
	if (c->rank != c->root) {
		recv_from(run, c->root, c->result, bytes);
		return;
	}
	for (uint32_t i = 0; i < c->members; i++)
		if (i != c->rank)
			send_to(run, i, all + i * bytes, bytes);
	copy(run, c->result, all + c->rank * bytes, bytes);
}

static void gather(struct coll_run *run, const struct coll_call *c, size_t bytes)
{
	uint8_t *all = c->result;
	if (c->rank != c->root) {
		send_to(run, c->root, c->buf, bytes);
		return;
	}
	for (uint32_t i = 0; i < c->members; i++)
		if (i != c->rank)
			recv_from(run, i, all + i * bytes, bytes);
	copy(run, all + c->rank * bytes, c->buf, bytes);
}

static void alltoall(struct coll_run *run, const struct coll_call *c, size_t bytes)
{
	const uint8_t *out = c->buf;
	uint8_t *in = c->result;
	uint32_t n = c->members;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t from = (c->rank + n - i) % n, to = (c->rank + i) % n;
		recv_from(run, from, in + from * bytes, bytes);
		send_to(run, to, out + to * bytes, bytes);
	}
	copy(run, in + c->rank * bytes, out + c->rank * bytes, bytes);
}

static int scratch_alloc(struct coll_run *run, size_t bytes)
{
	assert(!run->scratch);
	run->scratch = malloc(bytes ? bytes : 1);
	return run->scratch ? 0 : -FI_ENOMEM;
}

int coll_plan(struct coll_run *run, const struct coll_call *c)
{
	size_t bytes = c->count * c->element_bytes;
	assert(c->members > 0 && c->rank < c->members && c->root < c->members && !run->count);
	bool reduces = c->coll == FI_ALLREDUCE || c->coll == FI_REDUCE;
	if (reduces && scratch_alloc(run, 2 * bytes))
		return -FI_ENOMEM;
	switch (c->coll) {
	case FI_BROADCAST:
		broadcast(run, c, c->result, bytes);
		break;
	case FI_ALLREDUCE:
		reduce(run, c, c->result, run->scratch, bytes);
		broadcast(run, c, c->result, bytes);
		break;
	case FI_REDUCE:
		reduce(run, c, c->rank == c->root ? c->result : run->scratch + bytes, run->scratch, bytes);
		break;
	case FI_ALLGATHER:
		allgather(run, c, bytes);
		break;
	case FI_SCATTER:
		scatter(run, c, bytes);
		break;
	case FI_GATHER:
		gather(run, c, bytes);
		break;
	case FI_ALLTOALL:
		alltoall(run, c, bytes);
		break;
	default:
		barrier(run, c);
	}
	return run->short_of_mem ? -FI_ENOMEM : 0;
}
