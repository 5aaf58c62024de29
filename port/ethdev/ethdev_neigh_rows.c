/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_neigh.h"

static uint8_t state_of(const struct neigh *n)
{
	static const uint8_t states[] = {
		[NEIGH_UNKNOWN] = WEFT_NEIGH_ASKED,
		[NEIGH_LEARNED] = WEFT_NEIGH_LEARNED,
		[NEIGH_TOLD] = WEFT_NEIGH_TOLD,
		[NEIGH_CONFIRMED] = WEFT_NEIGH_CONFIRMED,
	};
	return n->lost ? WEFT_NEIGH_LOST : states[n->trust];
}

static struct weft_neigh_row row_of(const struct neigh *n, weft_ns now)
{
	bool told = n->trust >= NEIGH_TOLD && now > n->confirmed_ns;
	struct weft_neigh_row row = {
		.ip = n->ip,
		.state = state_of(n),
		.in_use = n->needed,
		.waiting_pkts = n->held_count,
		.age_ns = told ? now - n->confirmed_ns : WEFT_NEVER,
	};
	if (n->trust != NEIGH_UNKNOWN)
		memcpy(row.mac, n->mac.addr_bytes, sizeof row.mac);
	return row;
}

unsigned weft_ethdev_neighs(const struct weft_port *port, weft_ns now, uint32_t *cursor, struct weft_neigh_row *rows,
			    unsigned n)
{
	const struct neigh_table *t = ((const struct ethdev *)port)->neigh;
	unsigned count = 0;
	uint32_t at = *cursor;
	for (; t != NULL && at < ETHDEV_NEIGHS && count < n; at++)
		if (t->n[at].in_use)
			rows[count++] = row_of(&t->n[at], now);
	*cursor = t != NULL && at < ETHDEV_NEIGHS ? at : 0;
	return count;
}
