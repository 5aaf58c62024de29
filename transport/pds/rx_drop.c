/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_drop.h"

#include <errno.h>

#include "credit_rx.h"

void rx_drop(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	pds->events->on_shut(pds->ses, p, ECONNRESET);
	assert(!pdc_rx_has_msgs(p));
	wheel_cancel(&pds->timers.wheel, &p->pdc.timer);
	credit_rx_stop(pds, p, now);
	list_del(&p->ack_link);
	list_del(&p->link);
	if (!p->pdc.is_return)
		pdc_id_put(&pds->ids, &p->pdc);
	rxwin_fini(&p->win, &pds->win);
	weft_mem_free(&pds->mem, p);
}
