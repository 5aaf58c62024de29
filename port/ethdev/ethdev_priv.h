/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the DPDK port share. */
#ifndef WEFT_ETHDEV_PRIV_H
#define WEFT_ETHDEV_PRIV_H

#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "weft/ethdev.h"

enum {
	ETHDEV_BURST = 32,
	ETHDEV_NEIGHS = 1024,  /* neighbours of one port */
	ETHDEV_PENDING = 32,   /* packets that wait for one neighbour's MAC address: the first burst to a new peer */
	ETHDEV_LEARNED = 1024, /* senders that are known, by the end of their addresses; a power of two */
	ETHDEV_IP_MAX_BYTES = 9000,
	ETHDEV_CRC_BYTES = 4,
	UET_PORT = 4793,        /* UDP destination port of packets ... */
	UET_PORT_49150 = 49150, /* ... and of those of some peers, */
	UET_PROTOCOL = 253,     /* or IP protocol of those without UDP */
	IFACE_GUARDS = 3,       /* one for each */
};

/* The metadata of a packet is the private area of its mbuf, directly behind it. */
_Static_assert(sizeof(struct rte_mbuf) % RTE_CACHE_LINE_MIN_SIZE == 0, "the private area starts a cache line");
_Static_assert(sizeof(struct weft_pkt) % RTE_MBUF_PRIV_ALIGN == 0, "a valid size of a private area");

static inline struct weft_pkt *mbuf_pkt(struct rte_mbuf *m)
{
	return (struct weft_pkt *)(m + 1);
}

static inline struct rte_mbuf *pkt_mbuf(struct weft_pkt *pkt)
{
	return (struct rte_mbuf *)pkt - 1;
}

struct neigh_table;

/* What is watched of a NIC or an interface of the kernel. */
struct ethdev_link {
	weft_ns look_at_ns; /* when to look at it again; WEFT_NEVER: it is not watched */
	enum weft_link_state state;
	unsigned index;                                /* the interface's */
	int fd;                                        /* a socket in its network namespace; -1: none */
	const struct weft_port_ops *ops_up, *ops_down; /* the port's in either state */
	const struct weft_port_ops *ops_parked;        /* while nothing may touch the device */
	_Atomic uint32_t changes;                      /* counted on vhost's thread for its ports */
	_Atomic bool reset_asked;                      /* by the driver, on another thread */
	bool heeds_resets;                             /* the driver is listened to */
	_Atomic bool removal_asked;                    /* by the kernel, on another thread */
	char removal_of[RTE_DEV_NAME_MAX_LEN];         /* the device whose removal is listened for; "": none */
	bool rejoins;                                  /* a link that is down asks for a reset, see slot_rejoins */
	bool is_parked;                                /* the device waits to be set up anew, see slot_park ... */
	uint32_t restarts;                             /* ... and had been so often before */
	weft_link_fn changed;                          /* NULL: nobody */
	void *changed_arg;
};

/* See ethdev_guest.h. */
struct ethdev_guest {
	pthread_mutex_t lock; /* held while its memory is read */
	bool is_watched;      /* the lock exists, and vhost waits for it */
};

struct paths;
struct edge;
struct share_end;
struct shm_port;

struct ethdev {
	struct weft_port port; /* first: weft_port is what callers hold */
	uint16_t id;           /* ethdev port, or RTE_MAX_ETHPORTS for bare rings and shared memory */
	uint16_t queue;        /* of the device */
	uint16_t engine;       /* which of the engines that share the device */
	uint16_t tx_run;   /* packets framed before one burst; small after a refusal, so that little is framed twice */
	bool is_switch;    /* conf.ip was zero */
	bool calls_kernel; /* see weft_ethdev_calls_kernel */
	bool no_arp;
	uint16_t vlan;      /* that the device admits to us, 0: untagged */
	bool mac_derived;   /* from our address: other engines of the device have others */
	bool is_special;    /* has bare rings, shared memory or an edge, or shares the device */
	uint8_t src_low_at; /* where in an IP header of our family the source's last four bytes are */
	bool copies;        /* the driver copies what it transmits before it returns: payload may lie elsewhere */
	uint32_t offloads;  /* in use: enum weft_ethdev_offload */
	struct rte_ring *rx_ring, *tx_ring; /* bare rings: read and written instead of a device */
	struct rte_mempool *pool;           /* NULL for bare rings */
	struct weft_ip ip;
	struct weft_ip *proxied; /* addresses behind us */
	uint32_t proxied_count;
	struct rte_ether_addr mac;     /* source of our frames */
	struct rte_ether_addr mac_too; /* also ours: the other one of the device's and the derived address */
	struct share_end *share;       /* with other engines; NULL: the device is ours alone */
	struct shm_port *shm;          /* in place of a device; NULL: there is none */
	struct neigh_table *neigh;
	struct paths *paths;                       /* routes; NULL on bare rings: everybody is on the link */
	struct edge *edge;                         /* VLAN tag and code points to translate; NULL: none */
	weft_ns periodic_at;                       /* when neigh_periodic has something to do */
	weft_ns announce_at;                       /* next time we tell everybody our address */
	int rx_fd;                                 /* epoll set with the queue's interrupt or socket, or -1 */
	uint8_t unwoken;                           /* sleeps in a row that packets should have ended, and did not */
	uint32_t unwoken_by;                       /* link.changes at the first of them */
	bool wake_is_given_up;                     /* because of them, until another peer comes */
	bool rx_fd_is_socket;                      /* it is readable while there are packets, needs no arming */
	int node;                                  /* NUMA node, or -1 */
	struct rte_mbuf_ext_shared_info elsewhere; /* of payload that is not ours: counted, never freed */
	weft_neigh_fn on_neigh;
	void *on_neigh_arg;
	struct weft_ethdev_stats stats;
	struct weft_ethdev_steering steering;
	char name[RTE_DEV_NAME_MAX_LEN];
	struct ethdev_link link;
	struct ethdev_guest guest;
	char iface[IFNAMSIZ];             /* the kernel's interface we stand on; empty: none */
	int guard_fds[IFACE_GUARDS];      /* keep the kernel silent about our packets, or -1 */
	int tap_fd;                       /* where ARP comes in beside an AF_XDP socket, or -1 */
	struct weft_err note;             /* see weft_ethdev_note */
	uint32_t learned[ETHDEV_LEARNED]; /* last four bytes, as sent, of senders neigh_learn_sender needs no further
					     word of */
};

static inline struct ethdev *to_ethdev(struct weft_port *port)
{
	return (struct ethdev *)port;
}

/* ---- ethdev_io.c ---- */

/* weft_port_ops (port.h) of devices and bare rings. */
uint16_t ethdev_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
uint16_t ethdev_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
/* Brings nothing, and leaves the device alone. */
uint16_t ethdev_rx_parked(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
/* Takes everything, and drops it. */
uint16_t ethdev_tx_down(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
uint16_t ethdev_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
void ethdev_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);

/* ---- ethdev_sleep.c ---- */

/* After the device has started: the queue's interrupt, or the driver's socket. WEFT_OFFLOAD_RX_INTERRUPT goes from
 * d->offloads when there is neither. */
void ethdev_wake_init(struct ethdev *d, const struct rte_eth_dev_info *info);
void ethdev_wake_fini(struct ethdev *d);
/* Before the device goes, to be made anew, and after it has started again: d->rx_fd stays. */
void ethdev_wake_detach(struct ethdev *d);
void ethdev_wake_attach(struct ethdev *d);

/* ---- ethdev_link.c ---- */

/* After the device has started: its speed, once the link is up or `wait_ns` are over. */
void ethdev_link_init(struct ethdev *d, const struct rte_eth_dev_info *info, weft_ns wait_ns);
void ethdev_link_fini(struct ethdev *d);
/* What is due at `now`: a look at the link, and neigh_periodic. */
void ethdev_periodic(struct ethdev *d, weft_ns now);

/* ---- ethdev_pool.c ---- */

enum { ETHDEV_NAME_MAX = 25 };

/* A name nobody else in this process has, of at most ETHDEV_NAME_MAX characters: a program and a plugin may hold a copy
 * of this library each, over one DPDK. `serial` counts what is named `what`, of at most ten characters, one variable in
 * each copy. */
void ethdev_unique_name(char *name, size_t size, const char *what, _Atomic uint32_t *serial);

struct ethdev_pool_want {
	const char *dev;         /* for messages */
	uint32_t ip_bytes;       /* an element holds an IP packet of this length in an Ethernet frame ... */
	uint32_t elem_bytes_max; /* ... and is no larger than this with all that belongs to it; 0: no limit */
	uint32_t buffer_bytes;   /* not 0: instead of all that, an element holds so many bytes of a frame */
	int node;                /* NUMA node, or -1 */
};

/* A pool of `pkts` packets. -ENOMEM, with a message. */
int ethdev_pool_create(const struct ethdev_pool_want *want, uint32_t pkts, struct rte_mempool **pool,
		       struct weft_err *err);
/* A pool of mbufs without room for data in their elements, which the caller completes. NULL: no memory, rte_errno. */
struct rte_mempool *ethdev_pool_of(uint32_t pkts, uint32_t elem_bytes, struct rte_pktmbuf_pool_private *private);
/* Longest IP packet in an element of at most `elem_bytes`, of which the driver takes `driver_bytes`. */
uint32_t ethdev_pool_ip_bytes(uint32_t elem_bytes, uint32_t driver_bytes);
/* Frees the pool now, or, when others still hold its packets, at a later call once they are back. NULL: only looks for
 * such pools. */
void ethdev_pool_retire(struct rte_mempool *pool);

/* ---- ethdev_neigh.c ---- */

/* NULL: no memory. */
struct neigh_table *neigh_create(int node);
void neigh_destroy(struct neigh_table *t);

/* ---- ethdev_nud.c, ethdev_neigh_input.c ---- */

/* The MAC address every member of a no_arp fabric has: 02:00 and the low 32 bits of its IP. */
struct rte_ether_addr mac_derive(uint32_t ip_low32);

/* MAC address of the next hop of the IP packet at `ip`; false: not known yet, or no route. */
bool neigh_mac(struct ethdev *d, const uint8_t *ip, struct rte_ether_addr *mac);
/* Queues a framed packet until its next hop answers, and probes. The mbuf becomes the table's or is dropped (counted).
 */
void neigh_queue(struct ethdev *d, struct rte_mbuf *m, const uint8_t *ip);
/* Consumes an ARP frame. */
void neigh_arp_input(struct ethdev *d, struct rte_mbuf *m);
/* Consumes the frame and returns true when it is a neighbour solicitation or advertisement. */
bool neigh_nd_input(struct ethdev *d, struct rte_mbuf *m);
/* A switch port remembers where the sender of an IP packet is. */
void neigh_learn_ip(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac);
/* A host remembers who speaks to it, so that its answer waits for no question. What it knows already stays: only ARP
 * and ND change that. To be called when neigh_is_learned says no. */
void neigh_learn_sender(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac);

/* Where the sender of the IP packet at `ip` is noted as known, as an index in `learned`, and the last four bytes of its
 * address in `low`. */
static inline uint32_t neigh_learned_slot(const struct ethdev *d, const uint8_t *ip, uint32_t *low)
{
	memcpy(low, ip + d->src_low_at, sizeof *low);
	return rte_be_to_cpu_32(*low) % ETHDEV_LEARNED;
}

static inline bool neigh_is_learned(const struct ethdev *d, const uint8_t *ip)
{
	uint32_t low, slot = neigh_learned_slot(d, ip, &low);
	return d->learned[slot] == low;
}
/* `reach` and `doubt` of struct weft_port_ops. */
int neigh_reach(const struct ethdev *d, const struct weft_ip *ip, struct weft_ip *next_hop);
void neigh_doubt(struct ethdev *d, const struct weft_ip *ip);
/* Announces us, follows routes, probes again for neighbours that did not answer, gives up on others. */
void neigh_periodic(struct ethdev *d, weft_ns now);

#endif
