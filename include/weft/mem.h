/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an engine's memory comes from; tests hand in allocators that fail. */
#ifndef WEFT_MEM_H
#define WEFT_MEM_H

#include <stddef.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

/* Copied by whoever takes one; `arg` and what the functions use outlive its last allocation. All NULL: the C library's
 * allocator. */
struct weft_mem {
	void *(*alloc)(void *arg, size_t bytes); /* zeroed, 64-byte aligned, or NULL */
	void (*free)(void *arg, void *p);        /* accepts NULL */
	void *arg;                               /* the caller's, given to both */
};

/* Zeroed, 64-byte aligned memory, or NULL. */
void *weft_mem_alloc(const struct weft_mem *mem, size_t bytes);
/* Gives back what weft_mem_alloc returned with the same `mem`; NULL is nothing. */
void weft_mem_free(const struct weft_mem *mem, void *p);

WEFT_END_DECLS

#endif
