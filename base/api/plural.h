/* SPDX-License-Identifier: BSD-3-Clause */
/* Words behind numbers, in messages. */
#ifndef WEFT_PLURAL_H
#define WEFT_PLURAL_H

#include <stdint.h>

/* The end of a word behind `n`: "1 port", "2 ports". */
static inline const char *plural_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
