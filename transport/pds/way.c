/* SPDX-License-Identifier: BSD-3-Clause */
#include "way.h"

#include <errno.h>

#include "rto.h"

/* Packets that wait in the port count as sent when they leave it, at the earliest now; the newest may be expected to
 * leave later anyway. */
static void put_off(struct pdc_tx *p, weft_ns now)
{
	for (uint32_t i = 0, at = p->q.inflight.head; i < p->q.inflight.count; i++) {
		struct sent *s = sendq_at(&p->q, at);
		if (s->sent_at < now)
			s->sent_at = now;
		at = s->next;
	}
}

int way_check(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	const struct weft_port_ops *ops = pds->out.port->ops;
	struct weft_ip next_hop;
	if (!p->q.inflight.count || now < rto_deadline(pds, p))
		return 0;
	int way = ops->reach ? ops->reach(pds->out.port, &p->remote->ip, &next_hop) : 0;
	if (way == -EINPROGRESS)
		put_off(p, now);
	else if (ops->doubt)
		ops->doubt(pds->out.port, &p->remote->ip);
	return way == -ENETUNREACH ? ENETUNREACH : 0;
}
