/* SPDX-License-Identifier: BSD-3-Clause */
#include "array.h"

#include <stdlib.h>
#include <string.h>

bool array_reserve(void *array, size_t count, size_t *room, size_t size)
{
	void *now;
	if (count < *room)
		return true;
	memcpy(&now, array, sizeof now); /* whatever type it points to */
	size_t wanted = *room ? 2 * *room : 16;
	void *grown = realloc(now, wanted * size);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof grown);
	*room = wanted;
	return true;
}
