/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_table.h"

#include <assert.h>

#include "hash.h"

enum { WAYS = 4 };

static uint32_t sets_for(uint32_t flows)
{
	uint32_t sets = 1;

	while (sets * WAYS < flows)
		sets *= 2;
	return sets;
}

size_t flow_table_bytes(uint32_t flows)
{
	size_t bytes = sizeof(struct flow_table) + (size_t)sets_for(flows) * WAYS * sizeof(struct flow_entry);

	return (bytes + 63) / 64 * 64;
}

void flow_table_init(struct flow_table *t, uint32_t flows)
{
	assert(flows > 0);
	t->sets = sets_for(flows);
	for (uint32_t i = 0; i < t->sets * WAYS; i++)
		t->entry[i].port = PORT_NONE;
}

void flow_table_set_back(struct flow_table *t, weft_ps by)
{
	for (uint32_t i = 0; i < t->sets * WAYS; i++)
		t->entry[i].seen = ps_earlier(t->entry[i].seen, by);
}

uint64_t flow_key(const struct weft_pkt *pkt)
{
	return hash_word(hash_word(1, (uint64_t)pkt->src << 32 | pkt->dst), pkt->entropy);
}

struct flow_entry *flow_table_find(struct flow_table *t, uint64_t key)
{
	struct flow_entry *set = &t->entry[(key & (t->sets - 1)) * WAYS], *oldest = set;

	assert(t->sets && !(t->sets & (t->sets - 1)));
	for (uint32_t i = 0; i < WAYS; i++) {
		if (set[i].key == key && set[i].port != PORT_NONE)
			return &set[i];
		if (set[i].seen < oldest->seen)
			oldest = &set[i];
	}
	*oldest = (struct flow_entry){.key = key, .port = PORT_NONE};
	return oldest;
}
