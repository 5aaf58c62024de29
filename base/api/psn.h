/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet sequence numbers: 32 bits, wrapping; order is the sign of the difference (UE 1.0 sec. 3.5). */
#ifndef WEFT_PSN_H
#define WEFT_PSN_H

#include <stdbool.h>
#include <stdint.h>

/* a - b, meaningful while they are less than 2^31 apart. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline bool psn_before(uint32_t a, uint32_t b)
{
	return psn_diff(a, b) < 0;
}

static inline bool psn_after(uint32_t a, uint32_t b)
{
	return psn_diff(a, b) > 0;
}

static inline uint32_t psn_max(uint32_t a, uint32_t b)
{
	return psn_after(a, b) ? a : b;
}

#endif
