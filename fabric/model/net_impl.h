/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a fabric: what its parts share. One event source per port side, so that a hop costs one event when the port
 * is idle (arrival at the other end) and two when packets wait (the port becomes free). */
#ifndef WEFT_NET_IMPL_H
#define WEFT_NET_IMPL_H

#include "credit_queue.h"
#include "evq.h"
#include "net.h"
#include "rng.h"

enum port_flags {
	PORT_UP = 1,       /* the link carries packets */
	PORT_NIC = 2,      /* a host's uplink: packets are pulled from the host */
	PORT_LAST_HOP = 4, /* the link leads to a host */
	PORT_ERRORS = 8,   /* the link damages packets */
	PORT_TAPPED = 16,  /* somebody looks at its packets */
	PORT_PFC = 32,     /* of a switch with PFC: its packets are accounted to the links they came over */
	PORT_PAUSED = 64,  /* PFC: data waits, control goes */
	PORT_CREDIT = 128, /* credits have a queue of their own */
};

/* Why a link is down: a link fails by itself and with the switches at its ends, and is back when no reason is left. */
enum down_reason {
	DOWN_LINK = 1,
	DOWN_SENDER = 2, /* the switch before it */
	DOWN_PEER = 4,   /* the switch behind it */
};

/* Fixed point of ps_per_byte: 2^-24 ps. At 1 Mb/s a byte is 2^47 of them, times 2^16 bytes fits 64 bits. */
enum { PORT_PS_SHIFT = 24 };

#define PORT_NONE UINT32_MAX

/* An egress port and the link behind it. Line 0 is what queueing touches, line 1 what sending touches. */
struct net_port {
	weft_ps busy_until;         /* the last bit of the packet in service leaves */
	struct weft_pkt *data_head; /* waiting data, without the packet in service */
	struct weft_pkt *data_tail;
	struct weft_pkt *data_prev; /* before data_tail, while there are two or more */
	struct weft_pkt *ctl_head;
	struct weft_pkt *ctl_tail;
	uint32_t data_bytes;         /* waiting */
	uint32_t ctl_bytes;          /* waiting */
	uint32_t service_data_bytes; /* of the packet in service if it is data: counts until busy_until */
	uint8_t flags;               /* enum port_flags */
	uint8_t hop;                 /* of net->hops */

	struct weft_pkt *pipe_head; /* on the wire, by arrival time */
	struct weft_pkt *pipe_tail;
	weft_ps latency_ps;        /* propagation and the next switch's latency */
	uint64_t ps_per_byte;      /* serialization, see PORT_PS_SHIFT */
	uint32_t peer;             /* switch, or host with PORT_LAST_HOP */
	uint32_t limit_bytes;      /* of the data queue; control has twice that */
	uint32_t red_min, red_max; /* marking thresholds in bytes; red_max 0: no marking */
	uint64_t sent_pkts, sent_bytes;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct net_port) == 128, "two cache lines");
_Static_assert(offsetof(struct net_port, pipe_head) == 64, "line 1 begins with the wire");

/* What a port counts rarely and what describes it. Same index as its net_port. */
struct net_port_cold {
	uint64_t marked, trimmed;
	uint64_t dropped; /* by its queues, or lost on its link */
	uint64_t bps;     /* now */
	uint64_t nominal_bps;
	uint64_t byte_survives; /* probability that a byte crosses unharmed, of 2^64; with PORT_ERRORS */
	uint32_t sw;            /* of its tier, or the host with PORT_NIC */
	uint32_t place;         /* among the switch's cables up, or down */
	uint32_t reverse;       /* port of the cable's other direction */
	uint8_t tier;
	uint8_t dir;     /* enum weft_port_dir */
	uint8_t down;    /* enum down_reason; 0 with PORT_UP */
	uint8_t avoided; /* ... as the routing knows it: what is down may not be known yet */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct net_port_cold) == 64, "one cache line");

/* PFC's view of a port: the buffer that the switch behind its link keeps for what comes over it. Same index as its
 * net_port. */
struct net_pfc {
	uint64_t waiting_bytes; /* data from this port in the switch's queues, without packets in service */
	uint64_t xoff_bytes;    /* more: the port is told to pause */
	uint64_t xon_bytes;     /* no more than this: it is told to go on */
	uint64_t limit_bytes;   /* xoff_bytes and headroom; more is dropped */
	uint64_t pauses;        /* frames sent to it */
	weft_ps paused_since;   /* with PORT_PAUSED */
	weft_ps paused_ps;      /* by pauses that are over */
};

/* Ordered data that waits at a port, apart from all other data. Same index as its net_port. */
struct net_ordered {
	struct weft_pkt *head, *tail;
	uint32_t bytes;
	int64_t lead; /* what it got beyond its share since both queues wait: bytes times 100 */
};

/* Credits that wait at a port. Same index as its net_port. */
struct net_credits {
	struct credit_queue q;
	struct weft_pkt *head, *tail; /* q.waiting of them */
	uint64_t flushed;             /* of q.dropped: lost with the link */
};

struct net_switch {
	uint64_t salt;                 /* of the ECMP hash */
	uint64_t child_recip;          /* ceil(2^32 / hosts below a child): division by multiplication */
	uint32_t low, span;            /* hosts below: low..low+span-1 */
	uint32_t first_down, first_up; /* ports; the cables to a child are neighbours */
	uint32_t bundle;               /* cables to each child; with net->down_first only the ports of one */
	uint32_t up_cables;
	uint32_t children; /* leaves, hosts or pods that its ports down lead to */
	uint32_t down_at;  /* with net->down_first: where its children begin there */
};

/* Which leaves a switch above the leaves can reach without the links that routing avoids. Rows of one bit per leaf, by
 * switch from the second tier on. */
struct net_routes {
	uint32_t row_words;
	uint64_t reach[];
};

struct net_host {
	const struct weft_nic_ops *ops; /* NULL: nobody there */
	void *arg;
	weft_ps wake_at; /* asked for; the event may be earlier and then asks again */
};

/* How switches choose when it is not by ECMP. */
struct net_choice {
	const struct weft_route_ops *ops;
	void *tune;      /* its parameters */
	void **state;    /* by switch, in `states`; NULL where none is needed */
	void *states;    /* of all switches together */
	uint32_t *ports; /* room for the usable ways of one packet */
};

/* Of ports of one tier and direction; see struct weft_hop_stats. */
struct net_hop {
	uint64_t control; /* packets sent that are not data: fewer to count than data, which is all that was sent but
			     these */
	weft_ps wait_ps, wait_max_ps;
};

struct weft_net {
	struct weft_net_conf conf;
	struct weft_topo topo;
	struct evq evq;
	struct net_port *ports; /* host h's uplink is port h, switch ports follow by tier and switch */
	struct net_port_cold *cold;
	struct net_switch *switches;
	struct net_host *hosts; /* with PFC as many more as ports, without anybody there: prefetching takes its events
				   for hosts' */
	uint32_t port_count, switch_count;
	uint32_t tier_first[WEFT_TOPO_TIERS_MAX]; /* index of a tier's first switch */
	uint32_t
		*down_first; /* first port to each child, by switch, and the end; NULL: all links have as many cables */
	struct net_routes *routes;   /* NULL while routing avoids nothing */
	struct net_turns *turns;     /* of unlike paths, as far as hosts asked since the last reroute; NULL: none did */
	struct net_plan *plan;       /* parts of unlike paths; NULL: all are alike, or it does not matter */
	struct net_pfc *pfc;         /* per port; NULL: switches drop */
	struct net_ordered *ordered; /* per port; NULL: one data queue */
	struct net_credits *credits; /* per port; NULL: credits are control */
	bool special; /* routes, PFC, credit queues, a choice, links with unlike cables or only a part of it here:
			 forwarding is not the usual one */
	uint32_t avoided_ports; /* how many ports have a reason in `avoided` */
	uint64_t *known_bps;    /* by port: the rate that routing takes the link to have */
	uint32_t slow_ports;    /* how many have another one than the nominal there */
	struct net_choice choice;
	struct rng rng;
	struct rng error_rng;  /* of bit errors: they leave marks and coins as they are */
	struct rng credit_rng; /* of credits' marks, likewise */
	weft_net_tap_fn tap;
	void *tap_arg;
	weft_ps brtt_ps;
	struct weft_net_stats stats; /* without `at`, `queue_byte_ps` and the pauses */
	struct net_hop hops[WEFT_TOPO_TIERS_MAX * WEFT_PORT_DIRS];
	uint64_t depth_bytes;             /* data waiting in all switch ports */
	weft_ps depth_since;              /* when depth_bytes last changed */
	unsigned __int128 depth_integral; /* byte ps */
	weft_net_out_fn out;              /* takes what arrives at other switches than `part`; NULL: all are here */
	void *out_arg;
	uint32_t part; /* index of the only switch that is here */
};

/* Event ids. */
static inline uint32_t event_free(uint32_t port) /* the port can send the next packet */
{
	return 2 * port;
}

static inline uint32_t event_arrive(uint32_t port) /* the first packet of the port's wire arrives */
{
	return 2 * port + 1;
}

static inline uint32_t event_wake(const struct weft_net *net, uint32_t host)
{
	return 2 * net->port_count + host;
}

static inline uint32_t event_pfc(const struct weft_net *net, uint32_t port) /* a PFC frame arrives; only with pfc */
{
	return 2 * net->port_count + net->topo.hosts + port;
}

static inline uint32_t event_count(const struct weft_net *net)
{
	return net->conf.tune.pfc ? event_pfc(net, net->port_count) : event_wake(net, net->topo.hosts);
}

static inline bool host_of(const struct weft_net *net, const struct weft_pkt *pkt, uint32_t *host)
{
	*host = (pkt->dst & 0xffffff) - 1;
	return *host < net->topo.hosts;
}

static inline weft_ps port_serialize_ps(const struct net_port *p, uint32_t bytes)
{
	return bytes * p->ps_per_byte >> PORT_PS_SHIFT;
}

static inline struct net_port_cold *port_cold(const struct weft_net *net, const struct net_port *p)
{
	return &net->cold[p - net->ports];
}

/* Index in net->hops. */
static inline uint8_t hop_of(uint32_t tier, enum weft_port_dir dir)
{
	return (uint8_t)(tier * WEFT_PORT_DIRS + dir);
}

/* Puts an event at `at`, unless it comes earlier anyway. */
static inline void net_advance(struct weft_net *net, uint32_t id, weft_ps at)
{
	if (evq_pending(&net->evq, id)) {
		if (evq_at(&net->evq, id) <= at)
			return;
		evq_cancel(&net->evq, id);
	}
	evq_set(&net->evq, id, at);
}

/* Gives a packet back that no port had, and counts it. */
static inline void net_drop(struct weft_net *net, struct weft_pkt *pkt, uint64_t *counter)
{
	++*counter;
	net->conf.free_pkt(net->conf.free_arg, pkt);
}

/* ... that port `p` had. */
static inline void port_drop(struct weft_net *net, const struct net_port *p, struct weft_pkt *pkt, uint64_t *counter)
{
	port_cold(net, p)->dropped++;
	if (p->flags & PORT_TAPPED)
		net->tap(net->tap_arg, (uint32_t)(p - net->ports), WEFT_TAP_DROPPED, pkt, net->evq.now);
	net_drop(net, pkt, counter);
}

/* Wire bytes of an acknowledgement: Ethernet and preamble 38, IPv4 20, UDP 8, ACK_CC 32, response 12. */
enum { NET_ACK_BYTES = WEFT_L1_OVERHEAD_BYTES + 20 + 8 + 32 + 12 };

/* path.c */
uint64_t path_ps_per_byte(uint64_t bps);
weft_ps path_brtt_ps(const struct weft_topo *t, uint32_t mtu_bytes);

/* net_build.c: ports, switches and their wiring. -ENOMEM. */
int net_build(struct weft_net *net);
/* Sets the link's rate and what is derived from it: thresholds in time stay what they are. */
void port_set_bps(struct weft_net *net, struct net_port *p, uint64_t bps);
/* The ports of switch `s` to its child `child`, 0..children-1: *count from the returned one on. */
static inline uint32_t switch_child(const struct weft_net *net, const struct net_switch *s, uint32_t child,
				    uint32_t *count)
{
	if (!net->down_first) {
		*count = s->bundle;
		return s->first_down + child * s->bundle;
	}
	const uint32_t *first = net->down_first + s->down_at + child;
	*count = first[1] - first[0];
	return first[0];
}

/* queue.c: a port's queues. */
/* Takes over `pkt`: sends it at once if the port is free, else queues, trims or drops it. */
void queue_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
/* The port is free: sends the next packet. */
void queue_service(struct weft_net *net, uint32_t port);
/* The same two for ports with PORT_PFC; `from` is the port whose link `pkt` came over. */
void queue_enqueue_pfc(struct weft_net *net, uint32_t port, struct weft_pkt *pkt, uint32_t from);
void queue_service_pfc(struct weft_net *net, uint32_t port);
/* The same two for ports with PORT_CREDIT. */
void queue_enqueue_credit(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
void queue_service_credit(struct weft_net *net, uint32_t port);
/* Drops all that waits, as lost with the link. */
void queue_flush(struct weft_net *net, uint32_t port);
/* Bytes of data that wait at `port`, ordered and other. */
static inline uint64_t queue_data_bytes(const struct weft_net *net, uint32_t port)
{
	return (uint64_t)net->ports[port].data_bytes + (net->ordered ? net->ordered[port].bytes : 0);
}
/* Accounts for the depth of all data queues up to now; call before depth_bytes changes. */
void queue_depth_note(struct weft_net *net);

/* queue_ordered.c: the queue for ordered data. All but ordered_init only with net->ordered. */
/* -ENOMEM. */
int ordered_init(struct weft_net *net);
void ordered_push(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
struct weft_pkt *ordered_pop(struct weft_net *net, uint32_t port);
/* True: the next data packet of the port is an ordered one. Some data waits. */
bool ordered_is_next(const struct weft_net *net, uint32_t port);
/* `pkt` is sent, from the ordered queue or the other. */
void ordered_account(struct weft_net *net, uint32_t port, const struct weft_pkt *pkt, bool ordered);

/* queue_credit.c: the queue for credits. All but credit_init only with net->credits. */
/* Once all is wired. -ENOMEM. */
int credit_init(struct weft_net *net);
/* The link of `port`, or the one back, has another rate. */
void credit_resize(struct weft_net *net, uint32_t port);
/* Takes over `pkt`. False: the queue was full, it is dropped and counted. */
bool credit_push(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
/* The first credit, which is due, marked or not. */
struct weft_pkt *credit_pop(struct weft_net *net, uint32_t port);
/* What waits is lost with the link. */
void credit_flush(struct weft_net *net, uint32_t port);
/* Adds the port's counts to `counts`. */
void credit_counts(const struct weft_net *net, uint32_t port, struct weft_credit_counts *counts);
static inline bool credit_is_due(const struct weft_net *net, uint32_t port)
{
	return credit_queue_due(&net->credits[port].q, net->evq.now);
}

/* pfc.c: buffers by incoming link, and who is paused. All but pfc_init only with net->pfc. */
/* Once all is wired. -ENOMEM. */
int pfc_init(struct weft_net *net);
/* The link of `port`, or the one back, has another rate: the headroom grows with what may be under way. */
void pfc_resize(struct weft_net *net, uint32_t port);
/* Data that came from port `from` waits now. False: its buffer is full. */
bool pfc_take(struct weft_net *net, uint32_t from, const struct weft_pkt *pkt);
/* ... waits no longer. */
void pfc_release(struct weft_net *net, const struct weft_pkt *pkt);
/* The frame that is under way to `port` arrives. */
void pfc_arrive(struct weft_net *net, uint32_t port);
/* Time the port was paused so far. */
weft_ps pfc_paused_ps(const struct weft_net *net, uint32_t port);

/* link.c: the wire behind a port. */
/* Puts `pkt` on the wire now; the port is busy for its serialization time. */
void link_send(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
/* Puts `pkt` on the wire so that it arrives at `arrival`, not before what is on it already. Each packet's time stands
 * with the one before it, where link_receive looks for it; the first one's is its event's. */
static inline void link_bring(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt, weft_ps arrival)
{
	pkt->next = NULL;
	if (p->pipe_head) {
		p->pipe_tail->next = pkt;
		p->pipe_tail->fabric.next_arrival_ps = arrival;
	} else {
		p->pipe_head = pkt;
		evq_set(&net->evq, event_arrive((uint32_t)(p - net->ports)), arrival);
	}
	p->pipe_tail = pkt;
}
/* Takes the packet that arrives now off the wire. */
struct weft_pkt *link_receive(struct weft_net *net, uint32_t port);
/* Loses the packets on the wire, with what is being sent. */
void link_cut(struct weft_net *net, uint32_t port);
/* Returns the packets on the wire to the owner's pool. */
void link_clear(struct weft_net *net, uint32_t port);

/* route.c: the port of `sw` that leads to `host`; up ports and cables of a bundle are chosen by the ECMP hash. */
uint32_t route_port(const struct net_switch *sw, uint32_t host, const struct weft_pkt *pkt);
/* A hash of the packet's flow at this switch that says nothing of the choice by ECMP hash after it. */
uint32_t route_part_hash(const struct net_switch *sw, const struct weft_pkt *pkt);
/* 0..n-1 by the ECMP hash of the packet at this switch. */
uint32_t route_hash(const struct net_switch *sw, const struct weft_pkt *pkt, uint32_t n);
/* True when routing leaves the port's link out. */
static inline bool route_avoided(const struct weft_net *net, uint32_t port)
{
	const struct weft_route_ops *ops = net->choice.ops;

	return net->cold[port].avoided || (ops && ops->both_ways && net->cold[net->cold[port].reverse].avoided);
}
/* False: as far as routing knows all links of a tier are alike. */
static inline bool route_unlike(const struct weft_net *net)
{
	return net->avoided_ports || net->slow_ports || net->topo.link_count;
}
/* Ports from `first` on to one peer: their end, how many of them routing uses, and the rate it takes them to have. */
static inline uint32_t route_same_peer(const struct weft_net *net, uint32_t first, uint32_t end, uint32_t *cables,
				       uint64_t *bps)
{
	uint32_t port = first;

	*cables = 0;
	*bps = 0;
	for (; port < end && net->ports[port].peer == net->ports[first].peer; port++) {
		if (route_avoided(net, port))
			continue;
		++*cables;
		*bps += net->known_bps[port];
	}
	return port;
}
/* True when `port` is not avoided and what is behind it still leads to `leaf`. Only with net->routes. */
bool route_usable(const struct weft_net *net, uint32_t port, uint32_t leaf);
/* The same choice with unlike links, and among the usable ports with net->routes: uniform over them; flows whose port
 * is usable keep it. PORT_NONE: there is no way. */
uint32_t route_around(const struct weft_net *net, const struct net_switch *sw, uint32_t host,
		      const struct weft_pkt *pkt);

/* route_choose.c: choices with state, and other than by hash. */
/* After net_build; as conf.route says. -ENOMEM, or why this topology has no such choice. */
int route_build(struct weft_net *net, struct weft_err *err);
void route_free(struct weft_net *net);
/* route_plan.c: parts of unlike paths. */
struct route_ways;
/* For what is avoided now and the choice's parameters; *out NULL: nothing to tell apart. -ENOMEM. */
int route_plan_build(const struct weft_net *net, struct net_plan **out);
void route_plan_free(struct net_plan *plan);
/* Cuts the ways down to the part that the packet's flow is assigned to; false: all are alike. Only with net->plan. */
bool route_plan_part(const struct weft_net *net, struct route_ways *ways, const struct weft_pkt *pkt);

/* The port to `host` for a packet that came over the link of port `from` and is at the switch there now; changes that
 * switch's state. PORT_NONE: there is no way. Only with net->special. */
uint32_t route_special(const struct weft_net *net, uint32_t from, uint32_t host, const struct weft_pkt *pkt);

#endif
