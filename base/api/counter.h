/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters found by their descriptions. */
#ifndef WEFT_COUNTER_H
#define WEFT_COUNTER_H

#include <string.h>

#include "weft/stats.h"

/* The counter that `desc` describes, in the struct of counters that its offset belongs to. */
static inline uint64_t counter_value(const void *stats, const struct weft_counter_desc *desc)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + desc->offset, sizeof value);
	return value;
}

#endif
