/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of one size from blocks that are only given back all together: no allocator call per element. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "weft/mem.h"

struct pool {
	const struct weft_mem *mem;
	void *free;   /* chain of free elements, linked through their first word */
	void *blocks; /* chain of blocks */
	uint32_t elem_bytes;
	uint32_t per_block;
	uint32_t used; /* elements out */
};

/* `mem` must outlive the pool. Elements are at least pointer-sized and 8-byte aligned. Nothing is allocated yet. */
void pool_init(struct pool *p, const struct weft_mem *mem, size_t elem_bytes, uint32_t per_block);

/* Gives every block back; all elements become invalid. */
void pool_fini(struct pool *p);

/* An element with undefined content, or NULL when memory is short. */
void *pool_get(struct pool *p);
void pool_put(struct pool *p, void *elem);

#endif
