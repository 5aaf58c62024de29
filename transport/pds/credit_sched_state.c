/* SPDX-License-Identifier: BSD-3-Clause */
#include "credit_sched_state.h"

#include <errno.h>

enum {
	UNANSWERED_PKTS = 16,                            /* beside two bandwidth-delay products */
	NUMBERS_LOST = 1 << 16,                          /* in a row, as fabrics lose credits */
	NUMBERS_AHEAD_MAX = (SCHED_NUMBER_MASK + 1) / 4, /* beyond it is hard to tell new from old */
	STRICT_ALARMS = 4,                               /* signs that are no accident */
};

int sched_init(struct pds *pds, weft_ns now)
{
	if (!pds->credit.rcc || !pds->credit.rcc->schedule)
		return 0;
	struct sched *s = weft_mem_alloc(&pds->mem, sizeof *s);
	if (!s)
		return -ENOMEM;
	pds->credit.sched = s;
	wheel_init(&s->wheel, now);
	credit_queue_init(&s->queue, pds->credit.limits.queue_credits, CREDIT_QUEUE_REFRESH_DEFAULT);
	uint32_t cycle_bytes = pds->conf.full_wire_bytes + WEFT_WIRE_MIN_BYTES + pds->conf.cc_params.ack_bytes;
	credit_queue_set_interval(&s->queue,
				  credit_queue_interval(cycle_bytes, pds->conf.cc_params.link_bps, WEFT_S(1)), now);
	s->unanswered_max = UNANSWERED_PKTS + pds->credit.limits.credit_bytes / pds->conf.full_wire_bytes;
	if (s->unanswered_max > NUMBERS_AHEAD_MAX / 2)
		s->unanswered_max = NUMBERS_AHEAD_MAX / 2;
	s->numbers_ahead = 2 * s->unanswered_max > NUMBERS_LOST ? 2 * s->unanswered_max : NUMBERS_LOST;
	pool_init(&s->txs, &pds->mem, sizeof(struct sched_tx), 4);
	return 0;
}

void sched_fini(struct pds *pds)
{
	if (!pds->credit.sched)
		return;
	assert(!pds->credit.sched->txs.used && !pds->credit.sched->wheel.count);
	pool_fini(&pds->credit.sched->txs);
	weft_mem_free(&pds->mem, pds->credit.sched);
	pds->credit.sched = NULL;
}

void sched_alarm(struct pds *pds)
{
	assert(pds->credit.sched);
	pds->credit.sched->alarms++;
	pds->stats.credit_unlimited++;
}

bool pds_refuses(const struct pds *pds)
{
	return pds->credit.sched && pds->credit.limits.strict && pds->credit.sched->alarms >= STRICT_ALARMS;
}
