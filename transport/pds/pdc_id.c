/* SPDX-License-Identifier: BSD-3-Clause */
/* PDCIDs: 16 bits, 0 reserved, all of them handed out in turn, so that an id rests as long as possible before it names
 * another connection (UE 1.0 sec. 3.5, reuse). The table is only as large as the connections need: an id's low bits say
 * where in it. */
#include "engine_int.h"

enum { PDC_ID_ROOM_MIN = 16 };

void pdc_ids_init(struct weft_engine *e)
{
	e->pdcs = &e->no_pdc;
}

void pdc_ids_fini(struct weft_engine *e)
{
	if (e->pdcs != &e->no_pdc)
		weft_mem_free(&e->mem, e->pdcs);
}

static bool grow(struct weft_engine *e)
{
	uint32_t room = e->pdcs != &e->no_pdc ? 2 * (e->pdc_mask + 1) : PDC_ID_ROOM_MIN;
	if (room > ENGINE_PDC_IDS)
		return false;
	struct pdc **pdcs = weft_mem_alloc(&e->mem, room * sizeof(struct pdc *));
	if (!pdcs)
		return false;
	for (uint32_t i = 0; i <= e->pdc_mask; i++)
		if (e->pdcs[i])
			pdcs[e->pdcs[i]->id & (room - 1)] = e->pdcs[i];
	pdc_ids_fini(e);
	e->pdcs = pdcs;
	e->pdc_mask = room - 1;
	return true;
}

bool pdc_id_take(struct weft_engine *e, struct pdc *pdc)
{
	if (e->pdc_count >= (e->pdc_mask + 1) / 2 && !grow(e) && e->pdc_count >= e->pdc_mask)
		return false;
	do
		e->pdc_cursor++;
	while (e->pdc_cursor == 0 || e->pdcs[e->pdc_cursor & e->pdc_mask]);
	e->pdcs[e->pdc_cursor & e->pdc_mask] = pdc;
	e->pdc_count++;
	pdc->id = e->pdc_cursor;
	return true;
}

void pdc_id_put(struct weft_engine *e, struct pdc *pdc)
{
	if (!pdc->id)
		return;
	e->pdcs[pdc->id & e->pdc_mask] = NULL;
	e->pdc_count--;
	pdc->id = 0;
}
