/* SPDX-License-Identifier: BSD-3-Clause */
#include "psn_start.h"

#include <assert.h>

#include "engine_state.h"

/* x ^ x >> n, undone; n is at least 22. */
static uint64_t unshift(uint64_t x, unsigned n)
{
	return x ^ x >> n ^ x >> 2 * n;
}

/* The state before a number of rng_next: its steps backwards, with the inverses of its factors modulo 2^64. */
static uint64_t state_before(uint64_t number)
{
	uint64_t x = unshift(number, 31) * 0x319642b2d24d8ec3;
	x = unshift(x, 27) * 0x96de1b173f119089;
	return unshift(x, 30) - 0x9e3779b97f4a7c15;
}

void psn_start_before_sign(struct weft_engine *e, uint32_t before)
{
	enum { GAP = 1 << 16 }; /* from 0 to the lowest Start_PSN; the rest is 31 bits of a number */
	uint64_t number = (UINT64_C(0x80000000) - GAP - before) << 33;
	struct rng rng = {state_before(number)};
	e->pds.rng = rng;
	assert(!e->pds.has_secret && rng_next(&rng) == number);
}
