/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations on memory of this process. */
#ifndef WEFT_AMO_H
#define WEFT_AMO_H

#include <stddef.h>

#include "weft/atomic.h"

/* Elements as they lie in memory; none needs any alignment. */
struct amo_args {
	const void *operand; /* not read by WEFT_AMO_READ */
	const void *compare; /* read by operations with comparands only */
	void *result;        /* gets the elements as they were before; NULL: not wanted */
	size_t count;        /* elements */
};

/* Applies `op` to `count` elements at `target`, one after the other; the pair must be valid (weft_amo_valid). An
 * aligned element of 1, 2, 4 or 8 bytes changes in one step for every thread that uses atomic instructions or plain
 * loads; other elements are exact as long as this thread alone changes them. Memory is written only where it changes.
 */
void amo_apply(uint8_t op, uint8_t type, void *target, const struct amo_args *args);

#endif
