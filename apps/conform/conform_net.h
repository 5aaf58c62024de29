/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint that is reached through an interface of the kernel. */
#ifndef WEFT_CONFORM_NET_H
#define WEFT_CONFORM_NET_H

#include "conform.h"
#include "weft/err.h"

/* Sockets. The kernel finds the way and the neighbour; `quiet` keep it from answering packets itself. */
struct conform_net {
	int in;       /* packets of the interface, from the IP header on */
	int out;      /* takes whole IP packets */
	int quiet[2]; /* native and UDP */
	uint8_t remote[16];
	bool v6;
};

/* Opens sockets towards `peer` by `device` and fills in the link's addresses. A NULL `peer` is the only neighbour that
 * the kernel knows there. Needs CAP_NET_RAW. A negative errno with a message; nothing to close then. */
int conform_net_open(struct conform_net *net, const char *device, const char *peer, struct uet_link *link,
		     struct weft_err *err);
void conform_net_close(struct conform_net *net);

/* Through it; `net` outlives it. */
struct conform_io conform_net_io(struct conform_net *net);

#endif
