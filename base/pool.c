/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool.h"

#include <assert.h>

struct pool_block {
	struct pool_block *next;
	_Alignas(64) uint8_t elems[];
};

struct pool_free {
	struct pool_free *next;
};

void pool_init(struct pool *p, const struct weft_mem *mem, size_t elem_bytes, uint32_t per_block)
{
	assert(elem_bytes >= sizeof(struct pool_free) && elem_bytes <= UINT32_MAX - 7 && per_block > 0);
	*p = (struct pool){.mem = mem, .elem_bytes = (uint32_t)((elem_bytes + 7) & ~(size_t)7), .per_block = per_block};
}

void pool_fini(struct pool *p)
{
	struct pool_block *b = p->blocks;
	while (b) {
		struct pool_block *next = b->next;
		weft_mem_free(p->mem, b);
		b = next;
	}
	p->blocks = p->free = NULL;
	p->used = 0;
}

static void __attribute__((noinline)) pool_grow(struct pool *p)
{
	struct pool_block *b = weft_mem_alloc(p->mem, sizeof *b + (size_t)p->elem_bytes * p->per_block);
	if (!b)
		return;
	b->next = p->blocks;
	p->blocks = b;
	for (uint32_t i = p->per_block; i-- > 0;) {
		struct pool_free *f = (struct pool_free *)(b->elems + (size_t)i * p->elem_bytes);
		f->next = p->free;
		p->free = f;
	}
}

void *pool_get(struct pool *p)
{
	if (!p->free)
		pool_grow(p);
	struct pool_free *f = p->free;
	if (!f)
		return NULL;
	p->free = f->next;
	p->used++;
	return f;
}

void pool_put(struct pool *p, void *elem)
{
	struct pool_free *f = elem;
	assert(p->used > 0 && p->blocks && elem != p->free);
	f->next = p->free;
	p->free = f;
	p->used--;
}
