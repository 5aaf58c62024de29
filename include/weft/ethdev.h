/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK ports. EAL is started on first use; an application that already started it is left alone. */
#ifndef WEFT_ETHDEV_H
#define WEFT_ETHDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/port.h"

WEFT_BEGIN_DECLS

/* What EAL is started with: no hardware, no hugepages, no privileges, nothing shared with other processes. -m is the
 * memory in MiB for packets and tables; a later -m wins. */
#define WEFT_EAL_ALONE "--no-pci --iova-mode=va --no-huge --no-shconf -m 512"
/* Nor a socket that tells of this process, see weft/telemetry.h. */
#define WEFT_EAL_DEFAULTS WEFT_EAL_ALONE " --no-telemetry"

/* Starts EAL once per process (later calls return 0): no PCI, no hugepages, no telemetry, no root needed unless
 * `eal_args` (blank separated, replaces the defaults) says otherwise. NULL: $WEFT_EAL_ARGS, else the defaults. -E2BIG,
 * -ENOMEM, or the error of rte_eal_init, with a message. */
int weft_eal_start(const char *eal_args, struct weft_err *err);

struct weft_ethdev_conf {
	/* Name of an existing DPDK port, or devargs of a vdev to create: "net_memif0,role=client,..." */
	const char *dev;
	/* Which rx/tx queue pair of it to use; queues > 1 only for ports created elsewhere (net_ring). */
	uint16_t queue;
	struct weft_ip ip; /* our address: announced every second; ARP and neighbour solicitations for it are answered.
			      All zero: a switch port. It takes every packet, remembers the MAC addresses of senders and
			      answers ARP and solicitations for everybody else */
	uint32_t max_ip_bytes; /* largest IP packet wanted, -EINVAL when the device can't; 0: 9000 or what the device
				  can, see port->max_ip_bytes */
	uint32_t pool_pkts;    /* mbufs; 0: 8191 */
	uint8_t no_arp; /* peers' MAC addresses are derived from their IP (02:00 + low 32 bits), nothing is asked:
			   fabrics of ours */
};

/* Opens a port for one thread. The pool and rings lie on the device's NUMA node. The message names the device and what
 * failed. */
int weft_ethdev_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err);

/* Copies the value of `key` in "name,key=value,..."; NULL as value only asks. False when it is not there or does not
 * fit. */
bool weft_ethdev_arg(const char *devargs, const char *key, char *value, size_t size);

/* Counters of one port since it was opened; they never fall. Bytes are those of Ethernet frames without FCS. */
struct weft_ethdev_stats {
	uint64_t rx_pkts;     /* packets given to the caller of rx */
	uint64_t rx_bytes;    /* their bytes */
	uint64_t tx_pkts;     /* packets the device took from tx; not those sent after their neighbour answered */
	uint64_t tx_bytes;    /* their bytes */
	uint64_t tx_full;     /* packets the device did not take */
	uint64_t tx_oversize; /* packets larger than max_ip_bytes: dropped */
	uint64_t rx_foreign;  /* frames that are neither ours nor ARP/ND: dropped */
	uint64_t rx_nombuf;   /* frames lost because no mbuf was free, in the device or for a copy */
	uint64_t rx_missed;   /* frames lost in the device because its receive ring was full */
	/* IPv4's ARP and IPv6's neighbour discovery together. */
	uint64_t arp_sent;            /* requests sent, repetitions included */
	uint64_t arp_answered;        /* requests of others answered */
	uint64_t arp_pending_dropped; /* packets for neighbours that did not answer, or too many waiting for one */
};

/* Copies the counters of a port of weft_ethdev_open or weft_ethdev_ring_pair to the caller's `stats`. Called by the
 * thread that polls the port. */
void weft_ethdev_stats(const struct weft_port *port, struct weft_ethdev_stats *stats);

/* Called from inside rx when ARP or ND told the address of a neighbour (not for every packet). NULL: nobody. */
typedef void (*weft_neigh_fn)(void *arg, const struct weft_ip *ip);
void weft_ethdev_on_neigh(struct weft_port *port, weft_neigh_fn fn, void *arg);

/* Makes a pair of rings in this process: one end is the device "net_ring_<name>" for weft_ethdev_open (by <name> alone,
 * too), the other end a switch port, to be polled by one thread. The switch port has no pool: its alloc gives nothing.
 * Close what was opened on the device before the switch port. `entries`: packets per direction, a power of two.
 * -EINVAL, -ENOMEM; DPDK has room for RTE_MAX_ETHPORTS (32) devices. */
int weft_ethdev_ring_pair(const char *name, uint32_t entries, struct weft_port **switch_end, struct weft_err *err);

/* Nanoseconds of a monotonic clock from the TSC, sampled by shells once per burst; 0 near process start. */
weft_ns weft_clock_ns(void);

/* Binds the calling thread to a CPU of the port's NUMA node when there is more than one node (libnuma); no-op
 * otherwise. */
void weft_ethdev_bind_thread(const struct weft_port *port);

/* Sleeps until one of the ports signals received packets, or `timeout_ns` is over. Polling threads call it when they
 * found nothing: a packet that comes between their last look and the call may go unnoticed until the timeout. Ports
 * without interrupts (weft_ethdev_rx_fd < 0) wake nobody. At most 64 ports are listened to. */
void weft_ethdev_sleep(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns);

/* The same, but `fd` becoming readable ends the sleep too. */
void weft_ethdev_sleep_or(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns, int fd);

/* Packets that come after this call end the next weft_ethdev_sleep, so that one look in between leaves no gap. */
void weft_ethdev_arm(struct weft_port *const *ports, unsigned n);

/* Becomes readable when packets arrive while weft_ethdev_sleep sleeps, or -1: the device has no receive interrupts.
 * vhost-user and virtio-user have. */
int weft_ethdev_rx_fd(const struct weft_port *port);

WEFT_END_DECLS

#endif
