/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DIVISOR_H
#define WEFT_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor (Euclid); with 0 the other one. */
static inline uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

#endif
