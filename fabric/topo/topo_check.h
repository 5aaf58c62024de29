/* SPDX-License-Identifier: BSD-3-Clause */
/* What a topology is refused for: shared by the check and by the readers that know the line. */
#ifndef WEFT_TOPO_CHECK_H
#define WEFT_TOPO_CHECK_H

#include <stdbool.h>

#include "topo.h"

#define TOPO_BPS_MIN UINT64_C(1000000)
#define TOPO_BPS_MAX UINT64_C(10000000000000)

enum { TOPO_LATENCY_MAX_NS = 1000000000, TOPO_BUNDLE_MAX = 256 };

/* Properties of a topology; in the order of the table in topo_text.c. */
enum topo_key {
	TOPO_NODES,
	TOPO_TIERS,
	TOPO_PODSIZE,
	TOPO_TIER,
	TOPO_SPEED,
	TOPO_RADIX_DOWN,
	TOPO_RADIX_UP,
	TOPO_DOWN_LATENCY,
	TOPO_SWITCH_LATENCY,
	TOPO_OVERSUBSCRIBED,
	TOPO_BUNDLE,
	TOPO_MESH,
	TOPO_LINK,
	TOPO_QUEUE_UP,
	TOPO_QUEUE_DOWN,
	TOPO_KEYS
};

enum { TOPO_HEAD = WEFT_TOPO_TIERS_MAX }; /* `tier` of properties of the whole tree */

struct topo_fault {
	uint32_t tier; /* whose property is at fault, or TOPO_HEAD */
	enum topo_key key;
	uint32_t link; /* with TOPO_LINK: which of the topology's */
	char reason[160];
};

/* 0, or -EINVAL with *f filled in. Derives `switches`. */
int topo_check(struct weft_topo *t, struct topo_fault *f);

#endif
