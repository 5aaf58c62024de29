/* SPDX-License-Identifier: BSD-3-Clause */
/* PDCIDs: 16 bits, 0 reserved, all of them handed out in turn, so that an id rests as long as possible before it names
 * another connection (UE 1.0 sec. 3.5, reuse). The table is only as large as the connections need: an id's low bits say
 * where in it. */
#include "engine_int.h"

enum { PDC_ID_ROOM_MIN = 16 };

static bool grow(struct weft_engine *e)
{
	uint32_t room = e->pdc_room ? e->pdc_room * 2 : PDC_ID_ROOM_MIN;
	if (room > ENGINE_PDC_IDS)
		return false;
	struct pdc **pdcs = weft_mem_alloc(&e->mem, room * sizeof(struct pdc *));
	if (!pdcs)
		return false;
	for (uint32_t i = 0; i < e->pdc_room; i++)
		if (e->pdcs[i])
			pdcs[e->pdcs[i]->id & (room - 1)] = e->pdcs[i];
	weft_mem_free(&e->mem, e->pdcs);
	e->pdcs = pdcs;
	e->pdc_room = room;
	return true;
}

bool pdc_id_take(struct weft_engine *e, struct pdc *pdc)
{
	if (e->pdc_count >= e->pdc_room / 2 && !grow(e) && e->pdc_count + 1 >= e->pdc_room)
		return false;
	uint32_t mask = e->pdc_room - 1;
	do
		e->pdc_cursor++;
	while (e->pdc_cursor == 0 || e->pdcs[e->pdc_cursor & mask]);
	e->pdcs[e->pdc_cursor & mask] = pdc;
	e->pdc_count++;
	pdc->id = e->pdc_cursor;
	return true;
}

void pdc_id_put(struct weft_engine *e, struct pdc *pdc)
{
	if (!pdc->id)
		return;
	e->pdcs[pdc->id & (e->pdc_room - 1)] = NULL;
	e->pdc_count--;
	pdc->id = 0;
}
