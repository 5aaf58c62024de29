/* SPDX-License-Identifier: BSD-3-Clause */
#include "u64map.h"

#include <assert.h>

#include "rng.h"

enum { U64MAP_MIN_SLOTS = 16 };

void u64map_init(struct u64map *m, const struct weft_mem *mem)
{
	*m = (struct u64map){.mem = mem};
}

void u64map_fini(struct u64map *m)
{
	weft_mem_free(m->mem, m->slots);
	u64map_init(m, m->mem);
}

static uint32_t slot_of(const struct u64map *m, uint64_t key)
{
	return (uint32_t)rng_mix(key) & m->mask;
}

/* The slot holding `key`, or the empty one where it belongs. */
static uint32_t probe(const struct u64map *m, uint64_t key)
{
	uint32_t i = slot_of(m, key);
	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

void *u64map_get(const struct u64map *m, uint64_t key)
{
	return m->slots ? m->slots[probe(m, key)].value : NULL;
}

static bool grow(struct u64map *m)
{
	struct u64map bigger = {
		.mem = m->mem, .mask = m->slots ? m->mask * 2 + 1 : U64MAP_MIN_SLOTS - 1, .count = m->count};
	assert((bigger.mask & (bigger.mask + 1)) == 0);
	bigger.slots = weft_mem_alloc(m->mem, ((size_t)bigger.mask + 1) * sizeof *bigger.slots);
	if (!bigger.slots)
		return false;
	for (uint32_t i = 0; m->slots && i <= m->mask; i++)
		if (m->slots[i].value)
			bigger.slots[probe(&bigger, m->slots[i].key)] = m->slots[i];
	weft_mem_free(m->mem, m->slots);
	m->slots = bigger.slots;
	m->mask = bigger.mask;
	return true;
}

bool u64map_put(struct u64map *m, uint64_t key, void *value)
{
	if ((!m->slots || m->count > m->mask / 2) && !grow(m))
		return false;
	assert(value && m->count <= m->mask);
	uint32_t i = probe(m, key);
	m->count += !m->slots[i].value;
	m->slots[i] = (struct u64map_slot){key, value};
	return true;
}

void u64map_del(struct u64map *m, uint64_t key)
{
	if (!m->slots)
		return;
	uint32_t hole = probe(m, key);
	if (!m->slots[hole].value)
		return;
	assert(m->count > 0);
	m->count--;
	m->slots[hole].value = NULL;
	/* Entries behind the hole that may have been pushed past it move back. */
	for (uint32_t i = (hole + 1) & m->mask; m->slots[i].value; i = (i + 1) & m->mask) {
		uint32_t home = slot_of(m, m->slots[i].key);
		if (((i - home) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->slots[hole] = m->slots[i];
		m->slots[i].value = NULL;
		hole = i;
	}
}
