/* SPDX-License-Identifier: BSD-3-Clause */
#include "evq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILL_AHEAD = 8 }; /* buckets to fetch before they are emptied */

enum { EVQ_IDLE = UINT32_MAX, EVQ_WHEEL = UINT32_MAX - 1, EVQ_SOON = UINT32_MAX - 2 };

int evq_init(struct evq *q, uint32_t ids, weft_ps now, weft_ps span, uint32_t lookahead)
{
	assert(ids > 0 && ids < EVQ_SOON);
	assert(lookahead > 0 && lookahead <= EVQ_SOON_MAX / 2);
	*q = (struct evq){.now = now, .ids = ids, .lookahead = lookahead};
	while (span >> q->shift >= EVQ_BUCKETS)
		q->shift++;
	q->tick = now >> q->shift;
	q->nodes = malloc(ids * sizeof *q->nodes);
	q->tail = malloc(EVQ_BUCKETS * sizeof *q->tail);
	q->used = calloc((size_t)1 << EVQ_WORDS_LOG2, sizeof *q->used);
	q->heap = malloc(ids * sizeof *q->heap);
	if (!q->nodes || !q->tail || !q->used || !q->heap) {
		evq_fini(q);
		return -ENOMEM;
	}
	memset(q->tail, 0xff, EVQ_BUCKETS * sizeof *q->tail);
	for (uint32_t i = 0; i < ids; i++)
		q->nodes[i].where = EVQ_IDLE;
	return 0;
}

void evq_fini(struct evq *q)
{
	free(q->nodes);
	free(q->tail);
	free(q->used);
	free(q->heap);
	*q = (struct evq){0};
}

bool evq_pending(const struct evq *q, uint32_t id)
{
	assert(id < q->ids);
	return q->nodes[id].where != EVQ_IDLE;
}

weft_ps evq_at(const struct evq *q, uint32_t id)
{
	assert(id < q->ids && q->nodes[id].where != EVQ_IDLE);
	return q->nodes[id].at;
}

static void bucket_mark(struct evq *q, uint32_t b)
{
	assert(b < EVQ_BUCKETS);
	q->used[b >> 6] |= UINT64_C(1) << (b & 63);
	q->used1[b >> 12] |= UINT64_C(1) << (b >> 6 & 63);
	q->used2 |= UINT64_C(1) << (b >> 12);
}

static void bucket_unmark(struct evq *q, uint32_t b)
{
	assert(b < EVQ_BUCKETS && q->tail[b] == EVQ_NONE);
	q->used[b >> 6] &= ~(UINT64_C(1) << (b & 63));
	if (q->used[b >> 6])
		return;
	q->used1[b >> 12] &= ~(UINT64_C(1) << (b >> 6 & 63));
	if (q->used1[b >> 12] == 0)
		q->used2 &= ~(UINT64_C(1) << (b >> 12));
}

static uint32_t bucket_of(const struct evq *q, weft_ps at)
{
	return (at >> q->shift) & (EVQ_BUCKETS - 1);
}

/* First bucket >= b in use, not wrapping, or EVQ_NONE. */
static uint32_t bucket_scan(const struct evq *q, uint32_t b)
{
	uint64_t w = q->used[b >> 6] >> (b & 63);
	if (w)
		return b + (uint32_t)__builtin_ctzll(w);

	/* A shift by 63 and then by 1: bits strictly above, also when the bit is the highest. */
	uint32_t word = b >> 6;
	w = q->used1[word >> 6] >> (word & 63) >> 1;
	if (w) {
		word += 1 + (uint32_t)__builtin_ctzll(w);
		return word << 6 | (uint32_t)__builtin_ctzll(q->used[word]);
	}
	w = q->used2 >> (word >> 6) >> 1;
	if (!w)
		return EVQ_NONE;
	word = (word >> 6) + 1 + (uint32_t)__builtin_ctzll(w);
	word = word << 6 | (uint32_t)__builtin_ctzll(q->used1[word]);
	return word << 6 | (uint32_t)__builtin_ctzll(q->used[word]);
}

/* The earliest bucket in use: from now's on, around the wheel. */
static uint32_t bucket_first(const struct evq *q)
{
	uint32_t b = bucket_scan(q, q->tick & (EVQ_BUCKETS - 1));

	return b == EVQ_NONE && q->used2 ? bucket_scan(q, 0) : b;
}

static bool is_near(const struct evq *q, weft_ps at)
{
	return (at >> q->shift) - q->tick < EVQ_BUCKETS;
}

/* Behind all events of the same time or earlier. Almost always that is the end: a bucket is narrow. */
static void wheel_insert(struct evq *q, uint32_t id)
{
	struct evq_node *n = &q->nodes[id];
	uint32_t b = bucket_of(q, n->at), tail = q->tail[b];

	assert(is_near(q, n->at));
	n->where = EVQ_WHEEL;
	if (tail == EVQ_NONE) {
		n->next = q->tail[b] = id;
		bucket_mark(q, b);
		return;
	}
	uint32_t prev = tail;
	if (n->at >= q->nodes[tail].at)
		q->tail[b] = id;
	else
		while (q->nodes[q->nodes[prev].next].at <= n->at)
			prev = q->nodes[prev].next;
	n->next = q->nodes[prev].next;
	q->nodes[prev].next = id;
}

/* Takes the follower of `prev` out of bucket b's ring. */
static void wheel_remove_after(struct evq *q, uint32_t b, uint32_t prev)
{
	uint32_t id = q->nodes[prev].next;

	assert(q->nodes[id].where == EVQ_WHEEL);
	q->nodes[id].where = EVQ_IDLE;
	q->nodes[prev].next = q->nodes[id].next;
	if (id == prev) {
		q->tail[b] = EVQ_NONE;
		bucket_unmark(q, b);
	} else if (id == q->tail[b]) {
		q->tail[b] = prev;
	}
}

static bool far_before(const struct evq_far *a, const struct evq_far *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void heap_place(struct evq *q, uint32_t i, const struct evq_far *f)
{
	assert(i < q->heap_len);
	q->heap[i] = *f;
	q->nodes[f->id].where = i;
}

static void heap_up(struct evq *q, uint32_t i, struct evq_far f)
{
	while (i > 0 && far_before(&f, &q->heap[(i - 1) / 2])) {
		heap_place(q, i, &q->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_place(q, i, &f);
}

static void heap_down(struct evq *q, uint32_t i, struct evq_far f)
{
	for (uint32_t c = 2 * i + 1; c < q->heap_len; c = 2 * i + 1) {
		if (c + 1 < q->heap_len && far_before(&q->heap[c + 1], &q->heap[c]))
			c++;
		if (!far_before(&q->heap[c], &f))
			break;
		heap_place(q, i, &q->heap[c]);
		i = c;
	}
	heap_place(q, i, &f);
}

static void heap_remove(struct evq *q, uint32_t i)
{
	assert(i < q->heap_len && q->nodes[q->heap[i].id].where == i);
	struct evq_far last = q->heap[--q->heap_len];

	q->nodes[q->heap[i].id].where = EVQ_IDLE;
	if (i == q->heap_len)
		return;
	if (i > 0 && far_before(&last, &q->heap[(i - 1) / 2]))
		heap_up(q, i, last);
	else
		heap_down(q, i, last);
}

static void far_insert(struct evq *q, uint32_t id)
{
	heap_up(q, q->heap_len++, (struct evq_far){q->nodes[id].at, q->seq++, id});
}

static void soon_set_end(struct evq *q)
{
	q->soon_end = q->soon_first < q->soon_last ? q->soon[q->soon_last - 1].at : 0;
}

static void soon_remove(struct evq *q, uint32_t i)
{
	assert(i >= q->soon_first && i < q->soon_last);
	q->nodes[q->soon[i].id].where = EVQ_IDLE;
	q->soon_last--;
	memmove(&q->soon[i], &q->soon[i + 1], (q->soon_last - i) * sizeof q->soon[0]);
	soon_set_end(q);
}

/* Makes room for one more by moving what there is to the front of the array. False: it is full. */
static bool soon_make_room(struct evq *q)
{
	if (q->soon_last < EVQ_SOON_MAX)
		return true;
	q->soon_last -= q->soon_first;
	memmove(q->soon, q->soon + q->soon_first, q->soon_last * sizeof q->soon[0]);
	q->soon_first = 0;
	return q->soon_last < EVQ_SOON_MAX;
}

/* The last soon event goes back to the wheel, before those of the same time there. */
static void soon_give_back(struct evq *q)
{
	assert(q->soon_first < q->soon_last);
	uint32_t id = q->soon[q->soon_last - 1].id, b = bucket_of(q, q->nodes[id].at), tail = q->tail[b];

	soon_remove(q, q->soon_last - 1);
	q->nodes[id].where = EVQ_WHEEL;
	if (tail == EVQ_NONE) {
		wheel_insert(q, id);
		return;
	}
	/* Whatever else is in the bucket is not earlier than the last soon event was. */
	q->nodes[id].next = q->nodes[tail].next;
	q->nodes[tail].next = id;
}

static void soon_insert(struct evq *q, uint32_t id)
{
	weft_ps at = q->nodes[id].at;

	if (!soon_make_room(q)) {
		soon_give_back(q);
		if (at >= q->soon_end) {
			wheel_insert(q, id);
			return;
		}
	}
	uint32_t i = q->soon_last++;
	for (; i > q->soon_first && q->soon[i - 1].at > at; i--)
		q->soon[i] = q->soon[i - 1];
	q->soon[i] = (struct evq_soon){at, id};
	assert(i == q->soon_first || q->soon[i - 1].at <= at);
	assert(i + 1 == q->soon_last || q->soon[i + 1].at > at);
	q->nodes[id].where = EVQ_SOON;
	soon_set_end(q);
}

static void wheel_or_far_insert(struct evq *q, uint32_t id)
{
	if (is_near(q, q->nodes[id].at))
		wheel_insert(q, id);
	else
		far_insert(q, id);
}

void evq_set(struct evq *q, uint32_t id, weft_ps at)
{
	struct evq_node *n = &q->nodes[id];

	assert(id < q->ids && n->where == EVQ_IDLE);
	n->at = at > q->now ? at : q->now;
	if (n->at < q->soon_end)
		soon_insert(q, id);
	else
		wheel_or_far_insert(q, id);
}

static void wheel_remove(struct evq *q, uint32_t id)
{
	uint32_t b = bucket_of(q, q->nodes[id].at), prev = q->tail[b];

	while (q->nodes[prev].next != id)
		prev = q->nodes[prev].next;
	wheel_remove_after(q, b, prev);
}

void evq_cancel(struct evq *q, uint32_t id)
{
	uint32_t where = q->nodes[id].where, i = q->soon_first;

	assert(id < q->ids);
	if (where == EVQ_IDLE)
		return;
	if (where == EVQ_SOON) {
		while (q->soon[i].id != id)
			i++;
		soon_remove(q, i);
	} else if (where == EVQ_WHEEL) {
		wheel_remove(q, id);
	} else {
		heap_remove(q, where);
	}
}

/* Everything in the heap is later than everything in the wheel: this keeps it so when time has moved. */
static void __attribute__((noinline)) heap_feed(struct evq *q)
{
	while (q->heap_len > 0 && is_near(q, q->heap[0].at)) {
		uint32_t id = q->heap[0].id;
		heap_remove(q, 0);
		wheel_insert(q, id);
	}
}

static void advance(struct evq *q, weft_ps now)
{
	assert(now >= q->now);
	q->now = now;
	q->tick = now >> q->shift;
	if (q->heap_len > 0 && is_near(q, q->heap[0].at))
		heap_feed(q);
}

/* Takes a bucket's events, or as many as there is room for. */
static void soon_take(struct evq *q, uint32_t b)
{
	uint32_t tail = q->tail[b], id = q->nodes[tail].next;

	assert(tail != EVQ_NONE);
	while (q->soon_last < EVQ_SOON_MAX) {
		struct evq_node *n = &q->nodes[id];
		assert(n->where == EVQ_WHEEL && n->at >= q->soon_end);
		n->where = EVQ_SOON;
		q->soon[q->soon_last++] = (struct evq_soon){n->at, id};
		if (id == tail) {
			q->tail[b] = EVQ_NONE;
			bucket_unmark(q, b);
			return;
		}
		id = n->next;
	}
	q->nodes[tail].next = id;
}

/* Fetches the events that the next filling will move; their lines have rested since they were set. */
static void prefetch_fill(const struct evq *q, uint32_t b)
{
	for (uint32_t i = 0; i < FILL_AHEAD && b != EVQ_NONE; i++) {
		if (q->tail[b] != EVQ_NONE)
			__builtin_prefetch(&q->nodes[q->tail[b]], 1);
		b = b + 1 < EVQ_BUCKETS ? bucket_scan(q, b + 1) : EVQ_NONE;
	}
}

/* Moves events from the wheel to the soon ones. */
static void __attribute__((noinline)) soon_fill(struct evq *q)
{
	uint32_t b = EVQ_NONE;

	q->soon_last -= q->soon_first;
	memmove(q->soon, q->soon + q->soon_first, q->soon_last * sizeof q->soon[0]);
	q->soon_first = 0;
	while (q->soon_last < q->lookahead && (b = bucket_first(q)) != EVQ_NONE)
		soon_take(q, b);
	soon_set_end(q);
	if (q->lookahead >= FILL_AHEAD)
		prefetch_fill(q, b);
}

uint32_t evq_pop(struct evq *q, weft_ps until)
{
	if (q->soon_last - q->soon_first <= q->lookahead * 3 / 4)
		soon_fill(q);
	if (q->soon_first == q->soon_last) {
		if (q->heap_len == 0 || q->heap[0].at > until)
			return EVQ_NONE;
		advance(q, q->heap[0].at);
		soon_fill(q);
	}
	struct evq_soon next = q->soon[q->soon_first];
	assert(q->nodes[next.id].where == EVQ_SOON && q->nodes[next.id].at == next.at);
	if (next.at > until)
		return EVQ_NONE;
	q->nodes[next.id].where = EVQ_IDLE;
	q->soon_first++;
	if (q->soon_first == q->soon_last)
		q->soon_end = 0;
	advance(q, next.at);
	return next.id;
}

weft_ps evq_next(const struct evq *q)
{
	if (q->soon_first < q->soon_last)
		return q->soon[q->soon_first].at;
	uint32_t b = bucket_first(q);
	if (b != EVQ_NONE)
		return q->nodes[q->nodes[q->tail[b]].next].at;
	return q->heap_len ? q->heap[0].at : WEFT_NEVER;
}

void evq_set_back(struct evq *q, weft_ps now, weft_ps by)
{
	assert(now >= by && evq_next(q) >= now && by % evq_turn(q) == 0);
	advance(q, now);
	q->now -= by;
	q->tick = q->now >> q->shift;
	for (uint32_t id = 0; id < q->ids; id++)
		q->nodes[id].at -= q->nodes[id].where != EVQ_IDLE ? by : 0;
	for (uint32_t i = q->soon_first; i < q->soon_last; i++)
		q->soon[i].at -= by;
	for (uint32_t i = 0; i < q->heap_len; i++)
		q->heap[i].at -= by;
	soon_set_end(q);
}
