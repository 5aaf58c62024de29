/* SPDX-License-Identifier: BSD-3-Clause */
/* One end of a connection between a switch and a process that share packet buffers. Both ends are alike: whoever holds
 * a buffer may pass it on, with a frame in it or empty, and has nothing to do with it any more. */
#ifndef WEFT_SHM_LINK_H
#define WEFT_SHM_LINK_H

#include "shm_mem.h"
#include "shm_ring.h"
#include "weft/ethdev_stats.h"

struct shm_link {
	struct shm_mem *mem;
	struct rte_mempool *own;     /* packets of other memory are copied into its buffers; the caller's */
	struct rte_mempool *returns; /* what is freed into it goes to the other side; the caller's */
	struct weft_ethdev_stats *stats;
	struct shm_end tx, rx;
	struct shm_rings *rings; /* mapped; NULL: there is no connection */
	int fd;                  /* the socket; -1: none */
	uint32_t unwoken;        /* buffers returned since the other side was woken last */
	bool has_woken;          /* the other side, since the last flush ... */
	bool wake_is_due;        /* ... and has been sent something since, so that it may sleep again */
	uint8_t peer;            /* the other side, in mem->holder */
	bool is_broken;          /* the other side did what it may not: nothing is taken from it or given to it */
	bool is_ending;          /* the other side has closed the socket: what it has sent is taken, nothing is given */
};

/* The rings of a new connection. `is_switch`: which end this is. */
void shm_link_open(struct shm_link *l, struct shm_rings *rings, int fd, bool is_switch);
/* Ends the connection. What the other side held is ours again: an empty buffer in its pool. Returns how many. */
uint32_t shm_link_close(struct shm_link *l);

/* As rte_eth_rx_burst and rte_eth_tx_burst. Who sleeps is woken for the first of several bursts, so that it begins
 * early, and for the last one by the flush: being woken takes longer than most bursts. */
uint16_t shm_link_rx(struct shm_link *l, struct rte_mbuf **m, uint16_t n);
uint16_t shm_link_tx(struct shm_link *l, struct rte_mbuf **m, uint16_t n);
/* After the last of several bursts. */
void shm_link_flush(struct shm_link *l);
/* Passes on what is in `returns`, as far as there is room. */
void shm_link_return(struct shm_link *l);

/* `on`: from now on the other side wakes us. True: there is something to take already. */
bool shm_link_listen(struct shm_link *l, bool on);
/* Forgets that the other side woke us. is_ending says whether it has closed the socket. */
void shm_link_hear(struct shm_link *l);

#endif
