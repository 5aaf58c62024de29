/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_READY_H
#define WEFT_READY_H

#include "pds.h"

/* The connection may have something to send: it gets its turn. Harmless when it has not, or waits already. */
static inline void ready_add(struct pds *pds, struct pdc_tx *p)
{
	if (p->ready || (!p->q.lost.count && !p->cutting))
		return;
	assert(list_empty(&p->ready_link));
	p->ready = true;
	list_add_tail(&pds->ready, &p->ready_link);
}

/* What the load balancer was told. */
static inline void trace_feedback(struct pds *pds, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	if (unlikely(pds->trace.feedback != NULL))
		pds->trace.feedback(pds->trace.arg, &p->ip, ev, fb, now);
}

/* What a path was like, to the load balancer. */
static inline void lb_feedback(struct pds *pds, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	p->lb.ops->feedback(&p->lb, ev, fb, now);
	trace_feedback(pds, p, ev, fb, now);
}

#endif
