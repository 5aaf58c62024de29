/* SPDX-License-Identifier: BSD-3-Clause */
/* Processors shared by threads that poll: a process, its peers and the switch between them. */
#include <assert.h>
#include <sched.h>

#include "weft/ethdev.h"

enum {
	KEPT_US = 1000,  /* longer than bursts of packets take, shorter than most time slices */
	LOST_SHARE = 32, /* of the time, at most one part is lost to threads that do not give way */
};

bool weft_yield_pays(const struct weft_yield *y, weft_ns now)
{
	return now >= __atomic_load_n(&y->not_before_ns, __ATOMIC_RELAXED);
}

void weft_yield(struct weft_yield *y, weft_ns now)
{
	assert(y != NULL);
	if (!weft_yield_pays(y, now))
		return;
	sched_yield();
	weft_ns back = weft_clock_ns();
	if (back > now + WEFT_US(KEPT_US))
		__atomic_store_n(&y->not_before_ns, back + (back - now) * LOST_SHARE, __ATOMIC_RELAXED);
}
