/* SPDX-License-Identifier: BSD-3-Clause */
/* Bandwidth-delay products in bytes, without overflow up to 2^64 - 1, and the bounds of windows. */
#ifndef CC_BDP_H
#define CC_BDP_H

#include "weft/spi/cc.h"

enum {
	CC_BRTT_MAX_NS = 1 << 27,    /* base RTTs beyond 134 ms count as this: times must fit 32 bits with room */
	CC_CWND_MAX_BYTES = 1 << 30, /* no window is larger */
};

/* Bytes a link of `link_bps` carries in `brtt_ns` <= CC_BRTT_MAX_NS; exact from 8 kb/s to 1 Pb/s. */
static inline uint64_t cc_bdp_bytes(uint64_t link_bps, uint32_t brtt_ns)
{
	return link_bps / 8000 * brtt_ns / 1000000;
}

/* `pct` percent of `bdp_bytes`, held between one packet and the largest window. */
static inline uint32_t cc_window_bytes(const struct weft_cc_params *params, uint64_t bdp_bytes, uint32_t pct)
{
	uint64_t bytes = bdp_bytes < CC_CWND_MAX_BYTES ? bdp_bytes * pct / 100 : CC_CWND_MAX_BYTES;

	if (bytes > CC_CWND_MAX_BYTES)
		return CC_CWND_MAX_BYTES;
	return bytes < params->mtu_bytes ? params->mtu_bytes : (uint32_t)bytes;
}

/* The base RTT to calculate with: 1..CC_BRTT_MAX_NS. */
static inline uint32_t cc_brtt_ns(weft_ns brtt_ns)
{
	if (brtt_ns == 0)
		return 1;
	return brtt_ns < CC_BRTT_MAX_NS ? (uint32_t)brtt_ns : CC_BRTT_MAX_NS;
}

/* `bytes` held between one packet and `max_bytes`: every algorithm's window stays there. */
static inline uint32_t cc_clamp_bytes(const struct weft_cc *cc, uint64_t bytes, uint32_t max_bytes)
{
	if (bytes > max_bytes)
		bytes = max_bytes;
	return bytes < cc->params->mtu_bytes ? cc->params->mtu_bytes : (uint32_t)bytes;
}

static inline uint32_t cc_clamp32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

#endif
