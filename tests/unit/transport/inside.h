/* SPDX-License-Identifier: BSD-3-Clause */
/* Short ways into an engine for tests. */
#ifndef WEFT_TEST_INSIDE_H
#define WEFT_TEST_INSIDE_H

#include "duo.h"
#include "engine_int.h"

static inline struct pdc_tx *first_tx(const struct weft_engine *e)
{
	return list_empty(&e->txs) ? NULL : list_entry(e->txs.next, struct pdc_tx, link);
}

static inline struct pdc_rx *first_rx(const struct weft_engine *e)
{
	return list_empty(&e->rxs) ? NULL : list_entry(e->rxs.next, struct pdc_rx, link);
}

static inline void open_default(struct duo *d)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	duo_open(d, &conf);
}

static inline bool is_data(const struct wire_pkt *w)
{
	return w->pds.type == WIRE_PDS_RUD_REQ;
}

/* Fate: what befalls the data packets of side 0 whose order of sending (from 0) is in [first, last]. */
struct hit {
	uint64_t first, last;
	enum duo_fate fate;
};

static inline enum duo_fate hit_data(void *arg, int from, const struct wire_pkt *w, uint64_t nth)
{
	const struct hit *h = arg;
	return from == 0 && is_data(w) && nth >= h->first && nth <= h->last ? h->fate : DUO_PASS;
}

#endif
