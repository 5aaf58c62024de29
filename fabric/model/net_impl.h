/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a fabric: what its parts share. One event source per port side, so that a hop costs one event when the port
 * is idle (arrival at the other end) and two when packets wait (the port becomes free). */
#ifndef WEFT_NET_IMPL_H
#define WEFT_NET_IMPL_H

#include <assert.h>

#include "credit_queue.h"
#include "evq.h"
#include "net.h"
#include "rng.h"
#include "routing.h"

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

/* What a port has sent at rates that it no longer has. Same index as its net_port. */
struct net_past {
	uint64_t bytes;
	weft_ps busy_ps; /* for which the link carried them */
};

/* Ordered data that waits at a port, apart from all other data. Same index as its net_port. */
struct net_ordered {
	struct weft_pkt *head, *tail;
	int64_t lead; /* what it got beyond its share since both queues wait: bytes times 100 */
};

/* Credits that wait at a port. Same index as its net_port. */
struct net_credits {
	struct credit_queue q;
	struct weft_pkt *head, *tail; /* q.waiting of them */
	uint64_t flushed;             /* of q.dropped: lost with the link */
};

struct net_host {
	const struct weft_nic_ops *ops; /* NULL: nobody there */
	void *arg;
	weft_ps wake_at; /* asked for; the event may be earlier and then asks again */
};

/* Of ports of one tier and direction; see struct weft_hop_stats. */
struct net_hop {
	uint64_t control; /* packets sent that are not data: fewer to count than data, which is all that was sent but
			     these */
	weft_ps wait_ps, wait_max_ps;
};

struct weft_net {
	struct weft_net_conf conf;
	struct net_tree tree;
	struct evq evq;
	struct net_host *hosts; /* with PFC as many more as ports, without anybody there: prefetching takes its events
				   for hosts' */
	struct net_pfc *pfc;    /* per port; NULL: switches drop */
	struct net_past *past;  /* per port */
	struct net_ordered *ordered; /* per port; NULL: one data queue */
	struct net_credits *credits; /* per port; NULL: credits are control */
	bool special; /* routes, PFC, credit queues, a choice, links with unlike cables or only a part of it here:
			 forwarding is not the usual one */
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
	assert(host <= net->tree.topo.hosts);
	return 2 * net->tree.port_count + host;
}

static inline uint32_t event_pfc(const struct weft_net *net, uint32_t port) /* a PFC frame arrives; only with pfc */
{
	assert(net->conf.tune.pfc && port <= net->tree.port_count);
	return 2 * net->tree.port_count + net->tree.topo.hosts + port;
}

static inline uint32_t event_count(const struct weft_net *net)
{
	return net->conf.tune.pfc ? event_pfc(net, net->tree.port_count) : event_wake(net, net->tree.topo.hosts);
}

/* Index in net->hops. */
static inline uint8_t hop_of(uint32_t tier, enum weft_port_dir dir)
{
	assert(tier < WEFT_TOPO_TIERS_MAX && dir < WEFT_PORT_DIRS);
	return (uint8_t)(tier * WEFT_PORT_DIRS + dir);
}

/* Data queues' bytes change by `bytes`: accounts for their depth up to now. */
static inline void net_depth_change(struct weft_net *net, int32_t bytes)
{
	assert(bytes >= 0 || net->depth_bytes >= (uint64_t)(-(int64_t)bytes));
	net->depth_integral += (unsigned __int128)net->depth_bytes * (net->evq.now - net->depth_since);
	net->depth_since = net->evq.now;
	net->depth_bytes += (uint64_t)(int64_t)bytes;
}

/* Forwarding is not the usual one, from now on or no longer. */
static inline void net_note_special(struct weft_net *net)
{
	net->special = net->pfc || net->credits || net->out || route_is_special(&net->tree);
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

/* Drops a packet that waited at port `p`, and counts it there as well. */
static inline void port_drop(struct weft_net *net, const struct net_port *p, struct weft_pkt *pkt, uint64_t *counter)
{
	port_cold(&net->tree, p)->dropped++;
	if (p->flags & PORT_TAPPED)
		net->tap(net->tap_arg, (uint32_t)(p - net->tree.ports), WEFT_TAP_DROPPED, pkt, net->evq.now);
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

/* How long the bytes that the port has sent take, each at the rate of its time. */
weft_ps port_busy_ps(const struct weft_net *net, uint32_t port);
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

/* queue_ordered.c: the queue for ordered data. All but ordered_init only with net->ordered. */
/* -ENOMEM. */
int ordered_init(struct weft_net *net);
void ordered_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
struct weft_pkt *ordered_dequeue(struct weft_net *net, uint32_t port);
/* True: the next data packet of the port is an ordered one. Some data waits. */
bool ordered_is_next(const struct weft_net *net, uint32_t port);
/* `pkt` is sent, from the ordered queue or the other. */
void ordered_account(struct weft_net *net, uint32_t port, const struct weft_pkt *pkt, bool ordered);

/* queue_credit.c: the queue for credits. All but credit_init only with net->credits. */
/* Once all is wired; time begins at `now`. -ENOMEM. */
int credit_init(struct weft_net *net, weft_ps now);
/* The link of `port`, or the one back, has another rate. */
void credit_resize(struct weft_net *net, uint32_t port, weft_ps now);
/* Takes over `pkt`. False: the queue was full, it is dropped and counted. */
bool credit_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
/* The first credit, which is due, marked or not. */
struct weft_pkt *credit_dequeue(struct weft_net *net, uint32_t port);
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
bool pfc_charge(struct weft_net *net, uint32_t from, const struct weft_pkt *pkt);
/* ... waits no longer. */
void pfc_release(struct weft_net *net, const struct weft_pkt *pkt);
/* Sends port `from` a frame if what waits asks for one and none is under way. */
void pfc_update(struct weft_net *net, uint32_t from);
/* The frame that is under way to `port` arrives. True: a pause is over, the port may send data again. To be followed by
 * pfc_update once it has. */
bool pfc_arrive(struct weft_net *net, uint32_t port);
/* Time the port was paused so far. */
weft_ps pfc_paused_ps(const struct weft_net *net, uint32_t port);

/* link.c: the wire behind a port. */
/* Puts `pkt` on the wire now; the port is busy for its serialization time. */
void link_xmit(struct weft_net *net, uint32_t port, struct weft_pkt *pkt);
/* Puts `pkt` on the wire so that it arrives at `arrival`, not before what is on it already. Each packet's time stands
 * with the one before it, where link_receive looks for it; the first one's is its event's. */
static inline void link_propagate(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt, weft_ps arrival)
{
	assert(!p->pipe_head || !p->pipe_tail->next);
	pkt->next = NULL;
	if (p->pipe_head) {
		p->pipe_tail->next = pkt;
		p->pipe_tail->fabric.next_arrival_ps = arrival;
	} else {
		p->pipe_head = pkt;
		evq_set(&net->evq, event_arrive((uint32_t)(p - net->tree.ports)), arrival);
	}
	p->pipe_tail = pkt;
}
/* Takes the packet that arrives now off the wire. */
struct weft_pkt *link_receive(struct weft_net *net, uint32_t port);
/* Loses the packets on the wire, with what is being sent. */
void link_cut(struct weft_net *net, uint32_t port);
/* Returns the packets on the wire to the owner's pool. */
void link_clear(struct weft_net *net, uint32_t port);

#endif
