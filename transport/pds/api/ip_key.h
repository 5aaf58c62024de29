/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IP_KEY_H
#define WEFT_IP_KEY_H

#include <string.h>

#include "rng.h"
#include "siphash.h"
#include "weft/addr.h"

/* A key for an address and a number; different ones collide with probability 2^-64, so users compare what they find.
 * Nobody chooses addresses that collide who does not know the engine's hash key. */
static inline uint64_t ip_key(const struct siphash_key *key, const struct weft_ip *ip, uint64_t extra)
{
	uint64_t w[3] = {0, 0, extra};
	memcpy(w, ip->b, sizeof ip->b);
	return siphash(key, w, 3);
}

/* A number for an address and another, where nothing depends on collisions. */
static inline uint64_t ip_mix(const struct weft_ip *ip, uint64_t extra)
{
	uint64_t w[2];
	memcpy(w, ip->b, sizeof w);
	return rng_mix(w[0] + rng_mix(w[1] + rng_mix(extra + 1)));
}

#endif
