/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric in real time: packets that arrive at ports travel through the lab's switches, queues and links, which keep
 * their rates by the clock, and leave through other ports. */
#ifndef WEFT_RTNET_H
#define WEFT_RTNET_H

#include <stdatomic.h>
#include <stdint.h>

#include "net.h"
#include "topo.h"
#include "weft/addr.h"
#include "weft/err.h"
#include "weft/spi/port.h"
#include "weft/time.h"

struct rtnet;

/* One switch of the topology by itself; its neighbours are elsewhere, with the same topology and seed. Its ports are
 * its cables, those down first. Hosts have the addresses 10.x.y.z of weft_net_host_ip, nothing is learned. */
struct rtnet_part {
	uint32_t tier, sw;
};

/* Who has which addresses, when that is fixed: nothing else leaves a port. */
struct rtnet_assigned {
	uint32_t uplink; /* the port behind which everybody else is; packets from there with a source of the others' are
			    refused */
	const struct rtnet_addr {
		struct weft_ip ip;
		uint32_t port;
	} * addrs; /* distinct; a port may have several, or none; copied */
	uint32_t count;
};

struct rtnet_conf {
	const struct weft_topo *topo;  /* copied */
	const struct rtnet_part *part; /* NULL: all switches are here */
	/* NULL: addresses are learned. With them ports also take turns where one of them is crowded, in the order of
	 * who sent least, and a port that takes nothing for 50 ms has nothing kept for it. Not with `part`. */
	const struct rtnet_assigned *assigned;
	uint32_t held_pkts;       /* with `assigned`: packets from the uplink that may wait for one port, so that ports
				     that take theirs slowly leave buffers of the uplink for others; further ones are
				     dropped. 0: any number */
	struct weft_net_conf net; /* free_pkt and free_arg are set here */
	struct weft_port *const *ports; /* DPDK ports; host h is behind ports[h], with `part` see there. They stay the
					   caller's and outlive the rtnet; packets go from one to another without
					   copies */
	uint32_t port_count;            /* 1..topo->hosts */
	uint32_t uplink_pkts;           /* waiting for a host's uplink; beyond it packets stay in the port. 0: 128 */
	uint32_t downlink_pkts;         /* waiting for a port to take them; beyond it they are dropped. 0: 1024 */
};

/* -EINVAL, -ENOMEM with a message. */
int rtnet_create(const struct rtnet_conf *conf, weft_ns now, struct rtnet **out, struct weft_err *err);
void rtnet_destroy(struct rtnet *r);

/* Moves everything that is due at `now` (weft_clock_ns). Returns `now` when anything moved, else the time of the next
 * event, which packets arriving at a port may precede, or WEFT_NEVER. */
weft_ns rtnet_poll(struct rtnet *r, weft_ns now);

/* Polls until *stop. Idle, it yields, then sleeps until a port has packets or, without interrupts, in growing steps of
 * at most a millisecond. `tick`, if not NULL, is called about every `tick_ns`. */
void rtnet_run(struct rtnet *r, const atomic_bool *stop, weft_ns tick_ns, void (*tick)(void *arg), void *arg);

/* The host at `port` has this address (no effect with `part`), unless it is another port's: src_refused. Also learned
 * from the source of every packet; until then 10.x.y.z leads to the host whose address it is in every fabric
 * (weft_net_host_ip), and is its port's until that host uses others. An address moves to another port when the link of
 * the one that has it is down. Addresses are told apart by their low 32 bits. */
void rtnet_learn(struct rtnet *r, uint32_t port, const struct weft_ip *ip);

/* The rate of both links of a port, when it is not the topology's. With `assigned` alone. */
void rtnet_set_bps(struct rtnet *r, uint32_t port, uint64_t bps);

struct rtnet_stats {
	uint64_t rx_pkts, tx_pkts;
	uint64_t port_dropped;  /* the port took them, but had no link, neighbour or route for them, or they were too
				   large for it; not in tx_pkts */
	uint64_t rx_foreign;    /* not UDP over IP: dropped */
	uint64_t src_refused;   /* packets from, and announcements of, an address that is another port's: dropped */
	uint64_t uplink_full;   /* polls that left packets in a port because its host's uplink was busy */
	uint64_t unknown_dst;   /* nobody has that address: dropped */
	uint64_t downlink_full; /* the port did not take them in time, or lost its link: dropped */
	uint64_t stuck;         /* times when the port had taken nothing for 50 ms, although packets waited */
};
/* Of one port, or with `port` == UINT32_MAX of all. */
void rtnet_get_stats(const struct rtnet *r, uint32_t port, struct rtnet_stats *stats);

/* The link of the fabric that leads to a port. */
struct weft_link_id rtnet_link(const struct rtnet *r, uint32_t port);

/* The fabric inside, for its counters and for faults; only between polls. */
struct weft_net *rtnet_net(struct rtnet *r);

#endif
