/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch remembers of flows: sets of four entries, the one that was longest unused makes room. */
#ifndef WEFT_FLOW_TABLE_H
#define WEFT_FLOW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "net_tree.h"

struct flow_entry {
	uint64_t key;
	weft_ps seen;  /* latest packet; 0: the entry is new */
	uint32_t port; /* it took; PORT_NONE in a new entry */
};

struct flow_table {
	uint32_t sets; /* a power of two */
	struct flow_entry entry[];
};

/* Bytes of a table for about `flows` flows, a multiple of 64. */
size_t flow_table_bytes(uint32_t flows);
/* In zeroed memory of that size. */
void flow_table_init(struct flow_table *t, uint32_t flows);

/* All times are `by` less from now on. */
void flow_table_set_back(struct flow_table *t, weft_ps by);

/* The packet's flow, by five-tuple. */
uint64_t flow_key(const struct weft_pkt *pkt);

/* The flow's entry, a new one if there is none. The caller notes port and time. */
struct flow_entry *flow_table_find(struct flow_table *t, uint64_t key);

#endif
