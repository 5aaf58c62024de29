/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot of level L spans 64^L ticks. A node sits at the lowest level whose slot does not contain the present, in the
 * slot that contains its deadline; so a non-empty lower level always comes before a higher one, the slots of a level
 * lie ahead of the present in index order, and the first bit of the first non-empty level is the earliest slot. Only
 * the top level wraps: its slots are the next 64, and deadlines beyond them wait in the last (to be placed anew there).
 */
#include "wheel.h"

#include <assert.h>

enum { TOP = WHEEL_LEVELS - 1, TOP_SHIFT = TOP * WHEEL_SLOT_BITS };

void wheel_init(struct wheel *w, weft_ns now)
{
	w->now = now;
	w->wake = WEFT_NEVER;
	w->count = 0;
	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		w->used[level] = 0;
		for (unsigned i = 0; i < WHEEL_SLOTS; i++)
			list_init(&w->slots[level][i]);
	}
}

void wheel_node_init(struct wheel_node *n)
{
	list_init(&n->link);
	n->at = WEFT_NEVER;
	n->slot = 0;
}

static uint64_t ticks(weft_ns t)
{
	return t >> WHEEL_TICK_BITS;
}

/* Where a deadline belongs, as struct wheel_node.slot. */
static uint16_t slot_of(const struct wheel *w, weft_ns at)
{
	uint64_t present = ticks(w->now), tick = ticks(at);

	if (tick <= present)
		return (uint16_t)(present % WHEEL_SLOTS);
	unsigned level = (63 - (unsigned)__builtin_clzll(present ^ tick)) / WHEEL_SLOT_BITS;
	if (level < TOP)
		return (uint16_t)(level * WHEEL_SLOTS + (tick >> level * WHEEL_SLOT_BITS) % WHEEL_SLOTS);
	uint64_t base = present >> TOP_SHIFT, ahead = (tick >> TOP_SHIFT) - base;
	if (ahead > WHEEL_SLOTS)
		ahead = WHEEL_SLOTS;
	return (uint16_t)(TOP * WHEEL_SLOTS + (base + ahead) % WHEEL_SLOTS);
}

/* Start of the slot, for levels above 0. */
static weft_ns slot_start(const struct wheel *w, uint16_t slot)
{
	unsigned level = slot / WHEEL_SLOTS, shift = level * WHEEL_SLOT_BITS;
	uint64_t base = ticks(w->now) >> shift;
	uint64_t ahead = (slot - base) % WHEEL_SLOTS;
	assert(level > 0 && level < WHEEL_LEVELS);

	if (ahead == 0)
		ahead = WHEEL_SLOTS;
	return (base + ahead) << shift << WHEEL_TICK_BITS;
}

/* When a poll has something to do for this node. */
static weft_ns node_wake(const struct wheel *w, const struct wheel_node *n)
{
	return n->slot < WHEEL_SLOTS ? n->at : slot_start(w, n->slot);
}

/* The earliest non-empty slot; there must be one. */
static uint16_t first_slot(const struct wheel *w)
{
	unsigned level = 0;

	assert(w->count > 0);
	while (w->used[level] == 0)
		level++;
	assert(level < WHEEL_LEVELS);
	if (level < TOP)
		return (uint16_t)(level * WHEEL_SLOTS + (unsigned)__builtin_ctzll(w->used[level]));
	unsigned next = ((ticks(w->now) >> TOP_SHIFT) + 1) % WHEEL_SLOTS;
	uint64_t ahead = w->used[TOP] >> next | w->used[TOP] << ((WHEEL_SLOTS - next) % WHEEL_SLOTS);
	return (uint16_t)(TOP * WHEEL_SLOTS + (next + (unsigned)__builtin_ctzll(ahead)) % WHEEL_SLOTS);
}

static struct list *slot_list(struct wheel *w, uint16_t slot)
{
	return &w->slots[slot / WHEEL_SLOTS][slot % WHEEL_SLOTS];
}

static void update_wake(struct wheel *w)
{
	w->wake = WEFT_NEVER;
	if (w->count == 0)
		return;
	uint16_t slot = first_slot(w);
	if (slot >= WHEEL_SLOTS) {
		w->wake = slot_start(w, slot);
		return;
	}
	list_for_each (pos, &w->slots[0][slot]) {
		const struct wheel_node *n = list_entry(pos, struct wheel_node, link);
		if (n->at < w->wake)
			w->wake = n->at;
	}
}

static void insert(struct wheel *w, struct wheel_node *n)
{
	assert(n->at != WEFT_NEVER);
	n->slot = slot_of(w, n->at);
	list_add_tail(slot_list(w, n->slot), &n->link);
	w->used[n->slot / WHEEL_SLOTS] |= UINT64_C(1) << n->slot % WHEEL_SLOTS;
	w->count++;
}

static void take_out(struct wheel *w, struct wheel_node *n)
{
	assert(w->count > 0 && w->used[n->slot / WHEEL_SLOTS] >> n->slot % WHEEL_SLOTS & 1);
	list_del(&n->link);
	if (list_empty(slot_list(w, n->slot)))
		w->used[n->slot / WHEEL_SLOTS] &= ~(UINT64_C(1) << n->slot % WHEEL_SLOTS);
	w->count--;
}

void wheel_cancel(struct wheel *w, struct wheel_node *n)
{
	if (n->at == WEFT_NEVER)
		return;
	take_out(w, n);
	if (node_wake(w, n) == w->wake)
		update_wake(w);
	n->at = WEFT_NEVER;
}

void wheel_set(struct wheel *w, struct wheel_node *n, weft_ns at)
{
	if (at == WEFT_NEVER) {
		wheel_cancel(w, n);
		return;
	}
	/* A retransmission timer moves with every ACK, mostly within its slot: nothing else changes then. */
	if (n->at != WEFT_NEVER && n->slot >= WHEEL_SLOTS && n->slot == slot_of(w, at)) {
		n->at = at;
		return;
	}
	wheel_cancel(w, n);
	n->at = at;
	insert(w, n);
	weft_ns wake = node_wake(w, n);
	if (wake < w->wake)
		w->wake = wake;
}

/* Moves the present to the start of a slot above level 0, the earliest there is, and its nodes to lower levels. */
static void cascade(struct wheel *w, uint16_t slot)
{
	struct list *from = slot_list(w, slot), nodes;

	list_init(&nodes);
	list_add_tail(from, &nodes);
	list_del(from);
	w->used[slot / WHEEL_SLOTS] &= ~(UINT64_C(1) << slot % WHEEL_SLOTS);
	assert(slot_start(w, slot) > w->now);
	w->now = slot_start(w, slot);
	list_for_each_safe (pos, &nodes) {
		w->count--;
		insert(w, list_entry(pos, struct wheel_node, link));
	}
}

static struct wheel_node *take_due(struct wheel *w, struct list *slot, weft_ns now)
{
	list_for_each (pos, slot) {
		struct wheel_node *n = list_entry(pos, struct wheel_node, link);
		if (n->at <= now) {
			take_out(w, n);
			n->at = WEFT_NEVER;
			return n;
		}
	}
	return NULL;
}

/* Leaves `wake` alone after taking a node: it is stale but early, and the call that finds nothing corrects it. */
struct wheel_node *wheel_expire_due(struct wheel *w, weft_ns now)
{
	while (w->count > 0 && w->wake <= now) {
		uint16_t slot = first_slot(w);
		if (slot < WHEEL_SLOTS) {
			struct wheel_node *n = take_due(w, &w->slots[0][slot], now);
			if (n)
				return n;
		} else {
			cascade(w, slot);
		}
		update_wake(w);
	}
	if (w->count == 0)
		w->wake = WEFT_NEVER;
	if (now > w->now)
		w->now = now;
	return NULL;
}
