/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash map from 64-bit keys to pointers: open addressing, linear probing, deletion without tombstones. */
#ifndef WEFT_U64MAP_H
#define WEFT_U64MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/mem.h"

struct u64map_slot {
	uint64_t key;
	void *value; /* NULL: empty */
};

struct u64map {
	const struct weft_mem *mem;
	struct u64map_slot *slots;
	uint32_t mask; /* slots - 1; 0 while nothing is allocated */
	uint32_t count;
};

/* `mem` must outlive the map. Nothing is allocated yet. */
void u64map_init(struct u64map *m, const struct weft_mem *mem);
void u64map_fini(struct u64map *m);

/* The value, or NULL. */
void *u64map_get(const struct u64map *m, uint64_t key);

/* Adds or replaces; `value` is not NULL. False: no memory (the map is unchanged). */
bool u64map_put(struct u64map *m, uint64_t key, void *value);

/* Removing an absent key does nothing. */
void u64map_del(struct u64map *m, uint64_t key);

#endif
