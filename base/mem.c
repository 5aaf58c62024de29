/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/mem.h"

#include <stdlib.h>
#include <string.h>

void *weft_mem_alloc(const struct weft_mem *mem, size_t bytes)
{
	if (mem->alloc)
		return mem->alloc(mem->arg, bytes);
	size_t rounded = (bytes + 63) & ~(size_t)63;
	if (rounded < bytes)
		return NULL;
	void *p = aligned_alloc(64, rounded);
	return p ? memset(p, 0, rounded) : NULL;
}

void weft_mem_free(const struct weft_mem *mem, void *p)
{
	if (mem->free)
		mem->free(mem->arg, p);
	else
		free(p);
}
