/* SPDX-License-Identifier: BSD-3-Clause */
#include "near_wrap.h"

#include "credit.h"
#include "credit_sched.h"
#include "engine_state.h"
#include "pdc_rx.h"
#include "rx_msg.h"

enum { START_PSN_GAP = 1 << 16, BEFORE = 5 };

static uint32_t first_psn;

void near_wrap_psn(uint32_t psn)
{
	first_psn = psn;
}

/* What an engine draws next for a Start_PSN; it will draw the same. */
static uint32_t drawn_next(struct pds *pds)
{
	struct csprng secret_rng = pds->secret_rng;
	struct rng rng = pds->rng;
	return (uint32_t)((pds->has_secret ? csprng_next(&secret_rng) : rng_next(&rng)) >> 33);
}

bool __real_pdc_id_take(struct pdc_ids *ids, struct pdc *pdc);
bool __wrap_pdc_id_take(struct pdc_ids *ids, struct pdc *pdc);

/* A new connection of ours is given its PDCID just before its first PSN, which counts from what was there. */
bool __wrap_pdc_id_take(struct pdc_ids *ids, struct pdc *pdc)
{
	struct pds *pds = list_entry(ids, struct pds, ids);
	struct pdc_tx *newest = list_empty(&pds->txs) ? NULL : list_entry(pds->txs.prev, struct pdc_tx, link);
	if (first_psn && newest && &newest->pdc == pdc)
		newest->start_psn = first_psn - START_PSN_GAP - drawn_next(pds);
	return __real_pdc_id_take(ids, pdc);
}

static struct pdc_rx *target_of(const struct duo *d, int side, const struct pdc_tx *p)
{
	list_for_each (l, &d->e[!side]->pds.rxs) {
		struct pdc_rx *rx = list_entry(l, struct pdc_rx, link);
		if (rx->pdc.id == p->remote_id && rx->remote_id == p->pdc.id && !rx->closed)
			return rx;
	}
	return NULL;
}

static bool is_quiet(const struct pdc_tx *p)
{
	return p->state == PDC_TX_OPEN && !p->pdc.is_return && list_empty(&p->runs) && !sendq_len(&p->q);
}

static void messages(struct pdc_tx *p, struct pdc_rx *rx)
{
	struct ses_rx *r = ses_rx_of(rx);
	if (!list_empty(&r->msgs) || r->next_match_id != p->user + 1)
		return;
	p->user = UINT16_MAX - BEFORE;
	r->next_match_id = UINT16_MAX - BEFORE + 1;
}

static void credit(struct pdc_tx *p, struct pdc_rx *rx)
{
	if (rx->credit.granted != p->credit.granted || p->credit.announced != p->credit.granted)
		return;
	rx->credit.granted = p->credit.granted = p->credit.announced = CREDIT_MASK - BEFORE;
}

void near_wrap_counts(struct duo *d)
{
	if (d->port[0].rx || d->port[1].rx || d->e[0]->pds.out.count || d->e[1]->pds.out.count)
		return;
	for (int side = 0; side < 2; side++)
		list_for_each (l, &d->e[side]->pds.txs) {
			struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
			struct pdc_rx *rx = is_quiet(p) ? target_of(d, side, p) : NULL;
			if (!rx)
				continue;
			messages(p, rx);
			if (d->e[side]->pds.credit.rcc && !d->e[side]->pds.credit.sched)
				credit(p, rx);
		}
}
