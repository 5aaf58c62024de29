/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK ports. EAL is started on first use; an application that already started it is left alone. */
#ifndef WEFT_ETHDEV_H
#define WEFT_ETHDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/err.h"
#include "weft/port.h"

/* Starts EAL once per process (later calls return 0): no PCI, no hugepages, no telemetry, no root needed unless
 * `eal_args` (blank separated, replaces the defaults) says otherwise. NULL: $WEFT_EAL_ARGS, else the defaults. */
int weft_eal_start(const char *eal_args, struct weft_err *err);

struct weft_ethdev_conf {
	const char
		*dev; /* name of an existing DPDK port, or devargs of a vdev to create: "net_memif0,role=client,..." */
	uint16_t
		queue; /* which rx/tx queue pair of it to use; queues > 1 only for ports created elsewhere (net_ring) */
	struct weft_ip ip; /* our address: ARP and neighbour solicitations for it are answered; all zero: none (a switch
			      port) */
	uint32_t max_ip_bytes; /* largest IP packet wanted; 0: 9000. -EINVAL when the device can't */
	uint32_t pool_pkts;    /* mbufs; 0: 8191 */
	uint8_t no_arp; /* peers' MAC addresses are derived from their IP (02:00 + low 32 bits), nothing is asked:
			   fabrics of ours */
};

/* Opens a port for one thread. The pool and rings lie on the device's NUMA node. The message names the device and what
 * failed. */
int weft_ethdev_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err);

struct weft_ethdev_stats {
	uint64_t rx_pkts, rx_bytes, tx_pkts, tx_bytes;
	uint64_t tx_full;    /* packets the device did not take */
	uint64_t rx_foreign; /* frames that are neither ours nor ARP/ND */
	uint64_t rx_nombuf, rx_missed;
	uint64_t arp_sent, arp_answered, arp_pending_dropped;
};
void weft_ethdev_stats(const struct weft_port *port, struct weft_ethdev_stats *stats);

/* Nanoseconds of a monotonic clock from the TSC, sampled by shells once per burst; 0 near process start. */
weft_ns weft_clock_ns(void);

/* Binds the calling thread to a CPU of the port's NUMA node when there is more than one node (libnuma); no-op
 * otherwise. */
void weft_ethdev_bind_thread(const struct weft_port *port);

/* File descriptor to wait on for received packets, or -1 when the device has none. */
int weft_ethdev_rx_fd(const struct weft_port *port);

#endif
