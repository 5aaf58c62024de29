/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the Linux kernel as they are now: what a port on one of them needs to know to speak on its network.
 * Read over netlink, in the network namespace of the calling thread; no privileges needed. */
#ifndef WEFT_KERNEL_IF_H
#define WEFT_KERNEL_IF_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/err.h"

WEFT_BEGIN_DECLS

enum { WEFT_IF_ADDRS = 16, WEFT_IF_NAME_BYTES = 16 };

/* An address with the length of its network's prefix in bits: 0..32 (IPv4) or 0..128. */
struct weft_if_addr {
	struct weft_ip ip;
	uint8_t prefix_len;
};

/* Whether `ip` is in the network of the address `own`. */
bool weft_if_is_near(const struct weft_if_addr *own, const struct weft_ip *ip);

/* Whether it is the first or the last one there, which in IPv4 networks of less than 31 bits of prefix are no hosts'.
 * False of IPv6. */
bool weft_if_is_first_or_last(const struct weft_if_addr *own, const struct weft_ip *ip);

struct weft_if {
	char name[WEFT_IF_NAME_BYTES]; /* terminated */
	uint32_t index;                /* the kernel's number of it, never 0 */
	uint8_t mac[6];                /* all zero: it has none */
	bool is_up;                    /* the administrator says so */
	bool has_carrier;              /* the link is there */
	uint32_t mtu_bytes;            /* largest IP packet */
	char qdisc[16];     /* queueing discipline of what is sent ("noqueue", "mq", "htb"); empty: unknown */
	bool has_xdp;       /* an XDP program is attached */
	uint32_t rx_queues; /* receive queues in use, 1 at least */
	uint64_t link_bps;  /* 0: unknown, as of all without hardware (veth, bridge, VLAN) */
	uint32_t addr_count;
	/* The usable ones, in the kernel's order, link-local IPv6 addresses last; more than WEFT_IF_ADDRS are left out
	 */
	struct weft_if_addr addrs[WEFT_IF_ADDRS];
};

/* Where packets to a prefix go. A default route has length 0; its prefix says of which address family. */
struct weft_route {
	struct weft_ip prefix;  /* bits behind its length are zero */
	struct weft_ip gateway; /* on the link, of the same family; all zero: the destination itself is on the link */
	uint8_t prefix_len;     /* 0..32 (IPv4) or 0..128 */
};

/* Fills in `out`, the caller's. -ENODEV: no such interface; other errors of netlink; all with a message that names it.
 */
int weft_if_read(const char *name, struct weft_if *out, struct weft_err *err);

/* The routes of the kernel's main table that leave by the interface `index`, one per prefix: of several the one with
 * the lowest metric, of several next hops the first on this interface. `*routes` is an array for the caller to free, of
 * `*count`. Errors of netlink, -ENOMEM, with a message. */
int weft_if_routes(uint32_t index, struct weft_route **routes, uint32_t *count, struct weft_err *err);

WEFT_END_DECLS

#endif
