/* SPDX-License-Identifier: BSD-3-Clause */
/* PDCIDs: 16 bits, 0 reserved, all of them handed out in turn, so that an id rests as long as possible before it names
 * another connection (UE 1.0 sec. 3.5, reuse). The table is only as large as the connections need: an id's low bits say
 * where in it. */
#ifndef WEFT_PDC_ID_H
#define WEFT_PDC_ID_H

#include "weft/mem.h"
#include "wheel.h"

enum { PDC_IDS = 65536 };

/* What both directions of a connection share; the table of PDCIDs and the timing wheel lead here. The table leads to
 * the forward direction, in which the initiator's requests go, and that to the return direction, in which its answers
 * come, if it is in use: both have the same PDCID. */
struct pdc {
	struct wheel_node timer;
	uint16_t id; /* our PDCID, 1..65535; 0: none yet */
	bool is_rx;
	uint8_t encap;  /* how packets are wrapped, enum wire_encap; of targets: answers, as the last request was */
	uint8_t marks;  /* of targets, enum pdc_mark */
	bool is_return; /* of the two directions, that in which answers go */
	/* Of initiators: payload of a full packet, what the path carries as far as is known. It is here because there
	 * is room in the line that every packet needs. */
	uint16_t payload_bytes;
};

/* What makes a target's packets unusual. */
enum pdc_mark {
	PDC_ORDERED = 1,  /* requests are ROD, as the first was */
	PDC_UNPROVEN = 2, /* the initiator has not shown that its address is its own, see validate.h */
};

struct pdc_ids {
	struct pdc **slots;   /* by the low bits of the ids; NULL: free */
	uint32_t mask, count; /* slots, a power of two, less one; slots in use */
	uint16_t cursor;      /* the id handed out last, before it was shuffled */
	uint64_t shuffle;     /* key of the order in which ids are handed out; 0: they count up. With a key an id whose
			       * place is taken is left out, so at least half of them come before one returns */
	struct pdc *none;     /* the table until there is a connection */
	const struct weft_mem *mem;
};

void pdc_ids_init(struct pdc_ids *ids, const struct weft_mem *mem);
void pdc_ids_fini(struct pdc_ids *ids);

/* Gives `pdc` an id. False: none free, or no memory. */
bool pdc_id_take(struct pdc_ids *ids, struct pdc *pdc);
void pdc_id_put(struct pdc_ids *ids, struct pdc *pdc);

/* The connection with this id, or NULL. */
static inline struct pdc *pdc_by_id(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc *pdc = ids->slots[id & ids->mask];
	return pdc && pdc->id == id ? pdc : NULL;
}

#endif
