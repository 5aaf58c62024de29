/* SPDX-License-Identifier: BSD-3-Clause */
#include "pdc_id.h"

#include <assert.h>

#include "rng.h"

enum { ROOM_MIN = 16 };

void pdc_ids_init(struct pdc_ids *ids, const struct weft_mem *mem)
{
	ids->mem = mem;
	ids->slots = &ids->none;
}

void pdc_ids_fini(struct pdc_ids *ids)
{
	if (ids->slots != &ids->none)
		weft_mem_free(ids->mem, ids->slots);
}

static bool grow(struct pdc_ids *ids)
{
	uint32_t room = ids->slots != &ids->none ? 2 * (ids->mask + 1) : ROOM_MIN;
	assert((room & (room - 1)) == 0);
	if (room > PDC_IDS)
		return false;
	struct pdc **slots = weft_mem_alloc(ids->mem, room * sizeof(struct pdc *));
	if (!slots)
		return false;
	for (uint32_t i = 0; i <= ids->mask; i++)
		if (ids->slots[i])
			slots[ids->slots[i]->id & (room - 1)] = ids->slots[i];
	pdc_ids_fini(ids);
	ids->slots = slots;
	ids->mask = room - 1;
	return true;
}

/* A permutation of 16-bit numbers: four rounds of Feistel's network on halves. Ids still return only after all others,
 * and nobody tells the next from those seen. */
static uint16_t shuffled(const struct pdc_ids *ids, uint16_t n)
{
	uint8_t left = (uint8_t)(n >> 8), right = (uint8_t)n;
	if (!ids->shuffle)
		return n;
	for (uint64_t round = 0; round < 4; round++) {
		uint8_t next = (uint8_t)(left ^ rng_mix(ids->shuffle + (round << 8 | right)));
		left = right;
		right = next;
	}
	return (uint16_t)(left << 8 | right);
}

bool pdc_id_take(struct pdc_ids *ids, struct pdc *pdc)
{
	assert(!pdc->id);
	if (ids->count >= (ids->mask + 1) / 2 && !grow(ids) && ids->count >= ids->mask)
		return false;
	uint16_t id;
	do
		id = shuffled(ids, ++ids->cursor);
	while (id == 0 || ids->slots[id & ids->mask]);
	ids->slots[id & ids->mask] = pdc;
	ids->count++;
	assert(ids->count <= ids->mask);
	pdc->id = id;
	return true;
}

void pdc_id_put(struct pdc_ids *ids, struct pdc *pdc)
{
	if (!pdc->id)
		return;
	assert(ids->slots[pdc->id & ids->mask] == pdc && ids->count > 0);
	ids->slots[pdc->id & ids->mask] = NULL;
	ids->count--;
	pdc->id = 0;
}
