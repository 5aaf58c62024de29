/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports whose packets are in buffers that a switch shares with processes. */
#ifndef WEFT_SHM_PORT_H
#define WEFT_SHM_PORT_H

#include "ethdev_priv.h"
#include "shm_link.h"

/* What is known of the port beside struct ethdev, at the start of what a process or a switch needs for it. */
struct shm_port {
	struct shm_link link;
	enum weft_link_state (*look)(struct ethdev *d, weft_ns now); /* at what the sockets tell */
	void (*close)(struct ethdev *d);                             /* frees the port's memory, this included */
};

/* What a port's epoll set tells of. */
enum shm_event {
	SHM_EVENT_WAKE, /* whoever is connected wakes us, or has gone */
	SHM_EVENT_LOOK, /* something else to look at */
};

/* As rte_eth_rx_burst and rte_eth_tx_burst. */
uint16_t shm_port_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);
uint16_t shm_port_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);

/* From now on whoever is connected wakes us. True: there is something to take already. */
bool shm_port_arm(struct ethdev *d);
void shm_port_disarm(struct ethdev *d);

#endif
