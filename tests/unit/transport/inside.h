/* SPDX-License-Identifier: BSD-3-Clause */
/* Short ways into an engine for tests. */
#ifndef WEFT_TEST_INSIDE_H
#define WEFT_TEST_INSIDE_H

#include "duo.h"
#include "engine_state.h"

static inline struct pdc_tx *first_tx(const struct weft_engine *e)
{
	return list_empty(&e->pds.txs) ? NULL : list_entry(e->pds.txs.next, struct pdc_tx, link);
}

static inline struct pdc_rx *first_rx(const struct weft_engine *e)
{
	return list_empty(&e->pds.rxs) ? NULL : list_entry(e->pds.rxs.next, struct pdc_rx, link);
}

static inline void open_default(struct duo *d)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	duo_open(d, &conf);
}

static inline bool is_data(const struct plain_pkt *w)
{
	return w->pds.type == WIRE_PDS_RUD_REQ || w->pds.type == WIRE_PDS_RUD_CC_REQ;
}

/* Fate: what befalls the data packets of side 0 whose order of sending (from 0) is in [first, last]. */
struct hit {
	uint64_t first, last;
	enum duo_fate fate;
};

static inline enum duo_fate hit_data(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct hit *h = arg;
	return from == 0 && is_data(w) && nth >= h->first && nth <= h->last ? h->fate : DUO_PASS;
}

/* Drops control packets of one side and kind: the first `count`. */
struct lose_ctl {
	int from;
	uint8_t ctl;
	uint64_t count;
};

static inline enum duo_fate lose_ctl(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct lose_ctl *l = arg;
	if (from != l->from || w->pds.type != WIRE_PDS_CP || w->pds.ctl != l->ctl || !l->count)
		return DUO_PASS;
	l->count--;
	return DUO_DROP;
}

/* Opens both sides with receiver-driven congestion control, or another choice. */
static inline void open_with_cc(struct duo *d, const char *cc, const char *cc_1)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.cc = cc;
	conf.cc_1 = cc_1;
	duo_open(d, &conf);
	d->logging = true;
}

/* Control packets of this kind that `side` sent. */
static inline uint32_t count_ctl(const struct duo *d, int side, uint8_t ctl)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pds *pds = &d->log[i].w.pds;
		n += d->log[i].from == side && pds->type == WIRE_PDS_CP && pds->ctl == ctl;
	}
	return n;
}

#endif
