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
#include "weft/ethdev_stats.h"
#include "weft/kernel_if.h"
#include "weft/spi/port.h"

WEFT_BEGIN_DECLS

/* Memory in MiB for packets and tables is -m; a later -m wins. */
#define WEFT_EAL_NO_HUGEPAGES "--iova-mode=va --no-huge --no-shconf -m 512"
/* What EAL is started with: no hardware, no hugepages, no privileges, nothing shared with other processes. */
#define WEFT_EAL_ALONE "--no-pci " WEFT_EAL_NO_HUGEPAGES
/* Nor a socket that tells of this process, see weft/telemetry.h. */
#define WEFT_EAL_DEFAULTS WEFT_EAL_ALONE " --no-telemetry"

/* Starts EAL once per process (later calls return 0): no PCI, no hugepages, no telemetry, no root needed unless
 * `eal_args` (blank separated, replaces the defaults) says otherwise. NULL: $WEFT_EAL_ARGS, else the defaults. Without
 * --file-prefix and --proc-type among them, the process shares no files with others (--in-memory, or --no-shconf
 * beside --no-huge), and has its telemetry socket, if any, below the prefix weft-PID. -E2BIG, -ENOMEM, or the error of
 * rte_eal_init (-EIO when that has none), with a message. */
int weft_eal_start(const char *eal_args, struct weft_err *err);

/* The same with arguments that suit `count` devices, named as in weft_ethdev_conf: with the PCI devices among them, on
 * hugepages when there are any free. $WEFT_EAL_ARGS decides instead when it is set. `telemetry`: with DPDK's telemetry
 * socket, in a runtime directory weft-PID that goes when the process exits (weft/telemetry.h). */
int weft_eal_start_for(const char *const *devs, unsigned count, bool telemetry, struct weft_err *err);

/* Code points (0..63) a fabric's switches know the classes of packets by, instead of those of
 * doc/reference/protocol.md. They are translated where packets enter and leave the port. All zero: nothing is
 * translated. */
struct weft_dscp {
	uint8_t data;            /* trimmable data; 8 */
	uint8_t ordered;         /* of background flows; 10 */
	uint8_t unscheduled;     /* that no credit requested; 12 */
	uint8_t trimmed;         /* data a switch has trimmed; 16 */
	uint8_t trimmed_lasthop; /* the same at the last hop; 18 */
	uint8_t credit;          /* 40 */
	uint8_t control;         /* ACKs and the like; 46 */
};

/* Reads "data:26,control:48": classes by the names of these fields; the others get the numbers above. -EINVAL, with a
 * message that begins with `what`, if that is not NULL: not such a list, or two classes with one code point. */
int weft_dscp_parse(const char *what, const char *text, struct weft_dscp *dscp, struct weft_err *err);

/* The network behind a port. All zero: everybody is on the link, frames are untagged. */
struct weft_ethdev_net {
	uint8_t prefix_len; /* of `ip`, bits of its address family; 0: only `routes` and the kernel say who is on the
			       link, or everybody is */
	uint32_t route_count;
	const struct weft_route *routes; /* the caller's until the port is open; gateways are on the link */
	const char *kernel_if; /* an interface of the kernel whose routes are taken and followed, the caller's until the
				  port is open; NULL: none. `routes` come before them */
	uint16_t vlan;         /* 1..4094: frames carry this tag, and others are dropped; 0: untagged */
	uint8_t vlan_pcp;      /* 0..7: priority in the tag */
	struct weft_dscp dscp;
};

/* What a device can do in place of the CPU. All of it is used where the device offers it. */
enum weft_ethdev_offload {
	WEFT_OFFLOAD_TX_SEGMENTS = 1,  /* the driver copies payload from where the sender has it, so that we need not */
	WEFT_OFFLOAD_RX_SEGMENTS = 2,  /* it receives into small buffers, a frame in as many as it takes */
	WEFT_OFFLOAD_RX_CHECKSUM = 4,  /* it finds wrong checksums of IPv4 headers */
	WEFT_OFFLOAD_RX_INTERRUPT = 8, /* it wakes a thread that sleeps until packets come */
};

struct weft_ethdev_conf {
	/* Name of an existing DPDK port, devargs of one to create ("net_memif0,role=client,..."), "shm:PATH" for a port
	 * of weft_ethdev_shm_serve (-EBUSY: another process has it; -ETIMEDOUT), a PCI address, or an
	 * interface of the kernel ("eth0"), which keeps everything but UET's packets: then `ip` should be an address of
	 * it. -EADDRINUSE: another process has that address there. It is reached by AF_XDP, or if that cannot be had
	 * by packet sockets, see weft_ethdev_note. */
	const char *dev;
	/* Which of the ports that share the device this one is, from 0: it uses that queue pair. -EBUSY when another
	 * port is it. */
	uint16_t queue;
	/* Ports that may share the device, as the first one on it says, at most 64; 0: queue + 1. A queue pair is
	 * configured for each as far as the device has so many; the others use one of another port, too. All have the
	 * first one's packet size and number of packets, and `ip` of each is its own (-EADDRINUSE): packets find their
	 * port by it, whatever queue they come to. One thread may poll each port. */
	uint16_t queues;
	struct weft_ip ip; /* our address: announced every second; ARP and neighbour solicitations for it are answered.
			      All zero: a switch port. It takes every packet, remembers the MAC addresses of senders and
			      answers ARP and solicitations for everybody else */
	uint32_t max_ip_bytes;    /* largest IP packet wanted, -EINVAL when the device can't; 0: 9000 or what the device
				     can, see port->max_ip_bytes */
	uint32_t pool_pkts;       /* mbufs; 0: 8191, fewer when packets are large or memory is short */
	uint32_t rx_buffer_bytes; /* receive into buffers of so many bytes, at least 256, a frame in as many as it
				     takes; -EINVAL: the device can't. 0: a buffer holds a frame */
	uint8_t rx_interrupt;     /* ask the driver of a NIC for receive interrupts, too: some choose slower paths then.
				     Others     need not be asked */
	uint32_t offloads_off;    /* of enum weft_ethdev_offload: not to be used */
	weft_ns link_wait_ns;     /* how long to wait for the link of a NIC to come up; it may still be down then */
	uint8_t no_arp; /* peers' MAC addresses are derived from their IP (02:00 + low 32 bits), nothing is asked:
			   fabrics of ours */
	/* Further addresses behind this port, all of the family of `ip`: questions for them are answered as for `ip`,
	 * and packets for them are received. The caller's until the port is open. An interface of the kernel is reached
	 * by packet sockets then. */
	const struct weft_ip *proxied;
	uint32_t proxied_count;
	struct weft_ethdev_net net; /* IPv6 with a prefix, and neither routes nor kernel_if: routers that advertise
				       themselves are listened to */
};

/* Opens a port for one thread. The pool and rings lie on the device's NUMA node. The message names the device and what
 * failed. */
int weft_ethdev_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err);

/* Why the port does not reach its interface of the kernel in the best way there is; empty: nothing to say. The port's.
 */
const char *weft_ethdev_note(const struct weft_port *port);

/* Copies the value of `key` in "name,key=value,..."; NULL as value only asks. False when it is not there or does not
 * fit. */
bool weft_ethdev_arg(const char *devargs, const char *key, char *value, size_t size);

/* 0 if a port of one queue can reach the kernel's interface `iface` by AF_XDP; -ENOTSUP and why not, when packet
 * sockets are used in its place; -ENODEV and others: no such interface. Starts nothing. */
int weft_ethdev_af_xdp(const char *iface, struct weft_err *err);

/* True when receiving and sending may make system calls: interfaces of the kernel and virtual devices. */
bool weft_ethdev_calls_kernel(const struct weft_port *port);

/* Copies the counters of a port of weft_ethdev_open or weft_ethdev_ring_pair to the caller's `stats`. Called by the
 * thread that polls the port. */
void weft_ethdev_stats(const struct weft_port *port, struct weft_ethdev_stats *stats);

/* What a port knows of a neighbour's MAC address. */
enum weft_neigh_state {
	WEFT_NEIGH_ASKED,     /* nothing: it was asked for */
	WEFT_NEIGH_LEARNED,   /* packets came from it */
	WEFT_NEIGH_TOLD,      /* the neighbour said so unasked */
	WEFT_NEIGH_CONFIRMED, /* it answered */
	WEFT_NEIGH_LOST,      /* it does not answer any more, or never did */
};

/* One neighbour of a port. */
struct weft_neigh_row {
	struct weft_ip ip;
	uint8_t mac[6];        /* all zero: not known */
	uint8_t state;         /* enum weft_neigh_state */
	bool in_use;           /* we send to it; else it only spoke to us */
	uint32_t waiting_pkts; /* packets that wait for its MAC address */
	weft_ns age_ns;        /* since ARP or ND last told its MAC address; WEFT_NEVER: they have not */
};

/* Copies rows of the neighbour table, at most `n`, and moves `*cursor`, which is 0 at first and again when all have
 * been shown. Called by the thread that polls the port. */
unsigned weft_ethdev_neighs(const struct weft_port *port, weft_ns now, uint32_t *cursor, struct weft_neigh_row *rows,
			    unsigned n);

/* What the device's RSS spreads packets by over the queues of ports that share it. */
enum weft_queue_hash {
	WEFT_HASH_NONE,      /* there is one queue */
	WEFT_HASH_ADDRESSES, /* or nothing: a peer's packets stay on one queue */
	WEFT_HASH_PORTS,     /* UDP ports, too, and cannot be told not to: most packets come to another port's queue */
	WEFT_HASH_UNKNOWN,   /* the device does not tell */
};

/* How packets find one of the ports that share a device. Those that come to another's queue are handed over by the
 * thread that finds them (rx_handed_over, rx_taken_over). */
struct weft_ethdev_steering {
	uint16_t ports;  /* that may share the device; 1: it is the port's alone */
	uint16_t queues; /* of the device, for them */
	uint16_t queue;  /* the port's */
	bool by_rule;    /* a flow rule of the device brings packets for the port's address to its queue */
	enum weft_queue_hash hash;
};

void weft_ethdev_steering(const struct weft_port *port, struct weft_ethdev_steering *steering);

/* What the device does in place of the CPU: enum weft_ethdev_offload. */
uint32_t weft_ethdev_offloads(const struct weft_port *port);
/* Their names, separated by blanks; empty: none. 64 bytes are enough. */
void weft_ethdev_offload_names(uint32_t offloads, char *out, size_t size);

/* Called from inside rx when ARP or ND told the address of a neighbour (not for every packet). NULL: nobody. */
typedef void (*weft_neigh_fn)(void *arg, const struct weft_ip *ip);
void weft_ethdev_on_neigh(struct weft_port *port, weft_neigh_fn fn, void *arg);

enum weft_link_state {
	WEFT_LINK_UP,
	WEFT_LINK_DOWN,    /* packets are dropped and counted; it may come back */
	WEFT_LINK_REMOVED, /* the device is gone for good: close the port */
};

/* Called from inside rx when the link of a NIC or of an interface of the kernel has changed, or only its rate;
 * port->link_bps is that of now. Nothing may be sent from inside. NULL: nobody. */
typedef void (*weft_link_fn)(void *arg, enum weft_link_state state);
void weft_ethdev_on_link(struct weft_port *port, weft_link_fn fn, void *arg);

/* True when the device says that its link is up (of vhost-user and memif: somebody is connected), or does not say. */
bool weft_ethdev_has_link(const struct weft_port *port);

/* Makes a pair of rings in this process: one end is the device "net_ring_<name>" for weft_ethdev_open (by <name> alone,
 * too), the other end a switch port, to be polled by one thread. The switch port has no pool: its alloc gives nothing.
 * Close what was opened on the device before the switch port. `entries`: packets per direction, a power of two.
 * -EINVAL, -ENOMEM; DPDK has room for RTE_MAX_ETHPORTS (32) devices. */
int weft_ethdev_ring_pair(const char *name, uint32_t entries, struct weft_port **switch_end, struct weft_err *err);

/* Switch ports for processes of this machine, which open them as the device "shm:PATH" with the path of the port's
 * socket, one process each. All of them share the memory that packets are in, so that a packet goes from one process
 * through the switch to another without a copy; a process can read, and alter, packets of all others. */
struct weft_ethdev_shm_conf {
	const char *const *paths; /* of the sockets, which are not there yet; the caller's until the ports are open. Who
				     may write to a socket may connect */
	uint32_t count;           /* of the ports, 1..254 */
	uint32_t max_ip_bytes;    /* largest IP packet, 576..65000; 0: 9000 */
	uint32_t pool_pkts; /* packets of each port, 64..2048; 0: 2048. Those that are never used take no memory */
	struct weft_dscp dscp;
};

/* The path in a device "shm:PATH"; NULL: `dev` is NULL or another kind of device. */
const char *weft_ethdev_shm_path(const char *dev);

/* Opens them all, to be polled by one thread. `ports` has room for `count`. The sockets stay when the ports are closed.
 * -EINVAL, -ENOMEM, -EADDRINUSE and other errors of the system, with a message that names the first socket or the one
 * that failed. */
int weft_ethdev_shm_serve(const struct weft_ethdev_shm_conf *conf, struct weft_port **ports, struct weft_err *err);

/* Nanoseconds of a monotonic clock from the TSC, sampled by shells once per burst; 0 near process start. */
weft_ns weft_clock_ns(void);

/* Of a thread that polls, or of all that poll one port. Zeroed at first. */
struct weft_yield {
	weft_ns not_before_ns; /* until then yielding costs too much; read and written atomically */
};

/* Gives the processor to other threads that poll, such as a peer's or a switch's, which give it back within
 * microseconds. A thread that computes keeps it until the scheduler's time slice is over: after that this does nothing
 * for 32 times as long as the processor was kept. `now`: the present time of weft_clock_ns. */
void weft_yield(struct weft_yield *y, weft_ns now);

/* Whether weft_yield would yield. Where it would not, sleeping until there are packets is better: who is woken runs
 * before who computes. */
bool weft_yield_pays(const struct weft_yield *y, weft_ns now);

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

/* Becomes readable when packets arrive while weft_ethdev_sleep sleeps, or -1: the device has no receive interrupts, or
 * several ports share it. vhost-user, virtio-user, tap and interfaces of the kernel have. */
int weft_ethdev_rx_fd(const struct weft_port *port);

WEFT_END_DECLS

#endif
