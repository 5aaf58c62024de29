/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IP_KEY_H
#define WEFT_IP_KEY_H

#include <string.h>

#include "rng.h"
#include "weft/addr.h"

/* A key for an address and a number; different ones collide with probability 2^-64, so users compare what they find. */
static inline uint64_t ip_key(const struct weft_ip *ip, uint64_t extra)
{
	uint64_t w[2];
	memcpy(w, ip->b, sizeof w);
	return rng_mix(w[0] + rng_mix(w[1] + rng_mix(extra + 1)));
}

#endif
