/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers from a seed: splitmix64 (Steele, Lea, Flood 2014). Eight bytes of state, passes BigCrush. */
#ifndef WEFT_RNG_H
#define WEFT_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* A well-mixed function of x, also used as a hash of integers. */
static inline uint64_t rng_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t rng_next(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return rng_mix(r->state);
}

/* Uniform in 0..n-1, n in 1..2^32 (multiply-shift; bias below n/2^32). */
static inline uint32_t rng_below(struct rng *r, uint64_t n)
{
	return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

#endif
