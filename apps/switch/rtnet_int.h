/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the fabric in real time share. */
#ifndef WEFT_RTNET_INT_H
#define WEFT_RTNET_INT_H

#include "assigned.h"
#include "binding.h"
#include "rtnet.h"
#include "weft/ethdev.h"

enum { RTNET_PS_PER_NS = 1000 };

struct fifo {
	struct weft_pkt *head, **tail;
	uint32_t count;
};

/* What is behind a port: a host or, where the fabric is one switch, another switch. */
struct host {
	struct rtnet *net;
	struct weft_port *port;
	uint32_t index; /* of a host */
	bool is_switch;
	bool is_stuck;               /* with `assigned`: it takes nothing, and nothing is kept for it */
	weft_ps in_until;            /* of a switch: when the last packet from there has come over its link */
	struct weft_link_id in, out; /* the fabric's links from here and to here */
	struct fifo up_credit, up_ctrl, up_data; /* for the uplink; in that order where credits have no queue there */
	struct fifo down;
	weft_ps taken_at;     /* when the port took something last, or `down` was empty */
	uint64_t share_bytes; /* with `assigned`: what has left here, moved on after rests: see host_may_send */
	uint32_t held;        /* with `assigned`: packets from the uplink that wait for this port */
	uint64_t crowd_bytes; /* with `assigned`: so many wait for this port when senders have to share it */
	struct rtnet_stats stats;
};

struct rtnet {
	struct weft_net *net;
	struct assigned *assigned;  /* NULL: addresses are learned, or where the topology says */
	struct bindings *bindings;  /* NULL: they are not learned */
	uint64_t moved;             /* packets received, delivered or sent so far */
	uint64_t least_share_bytes; /* share_bytes of who has packets and had least */
	uint32_t uplink_pkts, downlink_pkts;
	uint32_t held_pkts; /* for one port; UINT32_MAX: any number */
	uint32_t reach;     /* hosts that have an address unless another one was learned */
	weft_ns brtt_ns;
	weft_ns origin;    /* the clock's time when the fabric's is 0 */
	weft_ps ran_until; /* the fabric's time, at most `lead` ahead of the clock's */
	weft_ps lead;
	struct weft_yield yield;
	struct weft_port **ports; /* of the hosts, as weft_ethdev_sleep wants them */
	uint32_t host_count;
	struct host hosts[];
};

extern const struct weft_nic_ops host_nic_ops;

/* `h` is zeroed, and in `r`. */
void host_init(struct host *h, struct rtnet *r, struct weft_port *port);
/* Frees what waits. */
void host_fini(struct host *h);
/* The rate of its links has changed. */
void host_set_bps(struct host *h, uint64_t bps, weft_ns brtt_ns);
/* Takes what the port has received. */
void host_rx(struct host *h, weft_ps at);
/* Hands what waits for the port to it. */
void host_flush(struct host *h, weft_ps at);
/* A packet arrived at the port's end of the fabric. */
void host_deliver(struct host *h, struct weft_pkt *pkt, weft_ps now);
/* The fabric's times are `by` less from now on. */
void host_set_back(struct host *h, weft_ps by);
void host_pkt_free(struct host *h, struct weft_pkt *pkt);
/* A packet that was on its way is with nobody any more, or with its port. */
void host_released(struct rtnet *r, const struct weft_pkt *pkt);
/* The address is that of the host; false: it is another port's. */
bool host_claim(struct host *h, const struct weft_ip *ip);
/* Before all hosts' packets are asked for: who may send what follows from who had least. */
void hosts_share(struct rtnet *r, weft_ps at);

#endif
