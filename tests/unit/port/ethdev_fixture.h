/* SPDX-License-Identifier: BSD-3-Clause */
/* A host's DPDK port and the switch's end of its rings, with raw frames in between. */
#ifndef WEFT_ETHDEV_FIXTURE_H
#define WEFT_ETHDEV_FIXTURE_H

#include "cmocka_all.h"

#include "ethdev_priv.h"

enum {
	FIXTURE_RING = 64,
	LINK_PATIENCE_S = 20, /* what a link says comes within this time */
};

struct fixture {
	struct weft_port *host; /* 10.0.0.1, or `ip` */
	struct weft_port *sw;
	struct weft_err err;
};

/* Group setup: EAL. */
int fixture_eal(void **state);

/* Opens the pair. `ip` all zero: the host's end is a switch port, too. Fails the test when that does not work. */
void fixture_open(struct fixture *f, struct weft_ip ip, bool no_arp);
/* The same with a network of its own. */
void fixture_open_net(struct fixture *f, struct weft_ip ip, const struct weft_ethdev_net *net);
/* With addresses behind the port. */
void fixture_open_proxied(struct fixture *f, struct weft_ip ip, const struct weft_ip *proxied, uint32_t count);
void fixture_close(struct fixture *f);

/* An IPv4 UDP packet from 10.0.0.1 to `dst`: 28 header bytes, `payload` by reference. */
struct weft_pkt *fixture_pkt(struct weft_port *port, uint32_t dst, const void *payload, uint16_t payload_len);

/* Puts a frame on the wire to the host. */
void fixture_inject(struct fixture *f, const void *frame, uint16_t len);
/* Next frame the host sent that is no announcement of its own address; NULL: none. The caller frees it. */
struct rte_mbuf *fixture_sent(struct fixture *f);

static inline struct weft_ethdev_stats port_stats(const struct weft_port *port)
{
	struct weft_ethdev_stats stats;
	weft_ethdev_stats(port, &stats);
	return stats;
}

/* What a port said of its link. */
struct link_heard {
	unsigned count;             /* how often it said something */
	enum weft_link_state state; /* the latest */
};

/* For weft_ethdev_on_link; `arg` is a struct link_heard. */
void link_note(void *arg, enum weft_link_state state);
/* Gives back what is received. */
void port_poll(struct weft_port *port);
/* Polls until the port has said something for the `count`-th time, which is to be `state`. */
void expect_link(struct weft_port *port, const struct link_heard *heard, enum weft_link_state state, unsigned count);

#endif
