/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/stats.h"

#include <assert.h>

#include "counter.h"

const struct weft_counter_desc weft_counter_descs[] = {
#define COUNTER_DESC(name, help) {#name, help, offsetof(struct weft_stats, name)},
	WEFT_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

_Static_assert(sizeof weft_counter_descs / sizeof weft_counter_descs[0] == WEFT_COUNTER_COUNT,
	       "one description per counter");

uint64_t weft_stats_value(const struct weft_stats *stats, int i)
{
	assert(i >= 0 && i < WEFT_COUNTER_COUNT);
	return counter_value(stats, &weft_counter_descs[i]);
}

void weft_stats_add(struct weft_stats *sum, const struct weft_stats *more)
{
#define COUNTER_ADD(name, help) sum->name += more->name;
	WEFT_COUNTERS(COUNTER_ADD)
#undef COUNTER_ADD
}
