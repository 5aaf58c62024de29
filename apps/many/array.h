/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ARRAY_H
#define WEFT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more element of `size` bytes in the malloc'ed *array of `count` elements with room for *room;
 * grows by doubling. `array` is the address of the pointer. False when there is no memory; nothing is lost then. */
bool array_reserve(void *array, size_t count, size_t *room, size_t size);

#endif
