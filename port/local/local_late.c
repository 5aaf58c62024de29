/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that wait for room in a full ring, in the port's own memory: as long as somebody polls, they are no work for
 * weft host, and keep their order. */
#include <assert.h>
#include <string.h>

#include "local_priv.h"
#include "wire_peek.h"

enum { LATE_MAX = 512, CRC_BYTES = 4 };

/* The payload is the sender's memory, which does not stay: it moves behind the header, as in a ring. */
static void gather(struct weft_pkt *pkt)
{
	uint8_t *end = pkt->head + pkt->head_len;
	if (pkt->payload != NULL)
		memcpy(end, pkt->payload, pkt->payload_len);
	else
		memset(end, 0, pkt->payload_len);
	end += pkt->payload_len;
	for (int i = 0; pkt->flags & WEFT_PKT_TRAILER && i < CRC_BYTES; i++)
		*end++ = (uint8_t)(pkt->trailer >> (8 * i));
	pkt->head_len = (uint16_t)(end - pkt->head);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	pkt->flags &= (uint8_t)~WEFT_PKT_TRAILER;
}

bool local_late_keep(struct local_port *l, struct local_peer *p, struct weft_pkt *pkt)
{
	uint32_t bytes = (uint32_t)pkt->head_len + pkt->payload_len + CRC_BYTES;
	if (l->late_count >= LATE_MAX || bytes > p->tx.mtu_bytes || bytes > l->port.max_ip_bytes)
		return false;
	gather(pkt);
	if (pkt->ecn == WEFT_ECN_ECT0 || pkt->ecn == WEFT_ECN_ECT1) {
		wire_mark_ce(pkt);
		l->stats.local_marked++;
	}
	pkt->next = NULL;
	if (p->late == NULL)
		p->late = pkt;
	else
		p->late_last->next = pkt;
	p->late_last = pkt;
	l->late_count++;
	l->stats.local_late++;
	return true;
}

/* The first packet is another's now; `next` is what followed it. */
static void popped(struct local_port *l, struct local_peer *p, struct weft_pkt *next)
{
	assert(l->late_count > 0);
	p->late = next;
	l->late_count--;
}

bool local_late_put(struct local_port *l, struct local_peer *p)
{
	while (p->late != NULL && !p->has_ended) {
		struct weft_pkt *pkt = p->late;
		enum local_put result = local_ring_put(&p->tx, pkt);
		if (result != LOCAL_PUT && result != LOCAL_PUT_MARKED)
			return result != LOCAL_BROKEN;
		popped(l, p, pkt->next);
		l->inner->ops->free(l->inner, &pkt, 1);
		l->stats.local_tx_pkts++;
	}
	return true;
}

void local_late_divert(struct local_port *l, struct local_peer *p)
{
	while (p->late != NULL) {
		struct weft_pkt *pkt = p->late, *next = pkt->next;
		if (l->inner->ops->tx(l->inner, &pkt, 1) == 0)
			return;
		popped(l, p, next);
		l->stats.local_full++;
	}
}

void local_late_drop(struct local_port *l, struct local_peer *p)
{
	local_late_divert(l, p);
	while (p->late != NULL) {
		struct weft_pkt *pkt = p->late;
		popped(l, p, pkt->next);
		l->inner->ops->free(l->inner, &pkt, 1);
		l->stats.local_dropped++;
	}
}
