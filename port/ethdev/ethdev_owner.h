/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose a frame is, of several engines on one device: by the destination's IP address, or the one that ARP asks for. */
#ifndef WEFT_ETHDEV_OWNER_H
#define WEFT_ETHDEV_OWNER_H

#include <rte_mbuf.h>

#include "weft/addr.h"

enum { OWNERS_MAX = 64 };

enum {
	OWNER_NONE = -1, /* no engine's */
	OWNER_ALL = -2,  /* ARP or IPv6 to everybody or to a group */
};

struct owners {
	uint16_t count, self;           /* `self` is looked at first */
	struct weft_ip ips[OWNERS_MAX]; /* all zero: nobody */
};

/* An index of `ips`, OWNER_NONE or OWNER_ALL. The first segment holds the headers. */
int owner_of(const struct owners *o, const struct rte_mbuf *m);

#endif
