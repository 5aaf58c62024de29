/* SPDX-License-Identifier: BSD-3-Clause */
/* AF_XDP sockets on interfaces of the kernel: an XDP program hands UET's packets for one address to DPDK's net_af_xdp,
 * and leaves the kernel everything else, ARP and neighbour discovery included. */
#ifndef WEFT_ETHDEV_XDP_H
#define WEFT_ETHDEV_XDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/err.h"
#include "weft/ethdev.h"

struct ethdev;

/* What decides whether a port can use AF_XDP. */
struct xdp_facts {
	bool has_program;      /* this library was built with the XDP program */
	bool is_switch;        /* the port takes packets to every address */
	bool has_vlan;         /* the port tags its frames itself */
	bool is_taken;         /* an XDP program is attached to the interface already */
	int socket_error;      /* errno value of an AF_XDP socket; 0: it can be had */
	int bpf_error;         /* errno value of a BPF map for such sockets; 0: it can be had */
	uint16_t queues;       /* queue pairs the port wants */
	uint32_t rx_queues;    /* receive queues of the interface that are in use */
	const char *qdisc;     /* the interface's queueing discipline, which AF_XDP passes by */
	uint32_t mtu_bytes;    /* of the interface */
	uint32_t room_bytes;   /* longest IP packet in a buffer that the kernel can map */
	uint32_t pool_packets; /* of the port; 0: it chooses */
};

/* 0, or -ENOTSUP and why AF_XDP does not suit. */
int xdp_judge(const struct xdp_facts *facts, struct weft_err *err);

/* The facts about interface conf->dev, which `info` is filled in with; they point into it. Errors of netlink, with a
 * message. */
int xdp_look(const struct weft_ethdev_conf *conf, struct weft_if *info, struct xdp_facts *facts, struct weft_err *err);

/* A file in memory with the program for packets to `ip`; the descriptor is the caller's to close, once the program is
 * loaded. -ENOTSUP: not built; other errors of memfd_create(2) and write(2). */
int xdp_program_open(const struct weft_ip *ip, int *fd, struct weft_err *err);

/* Arguments of the DPDK device for the interface with the program in file `program_fd`. */
void xdp_devargs(const char *iface, int program_fd, char *devargs, size_t size);

/* Handles the ARP and neighbour discovery frames that came since the last call, from the packet socket `d->tap_fd`: the
 * kernel has them as well. Nothing for ports without. */
void xdp_tap_poll(struct ethdev *d, weft_ns now);

#endif
