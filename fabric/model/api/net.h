/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric: switches, queues and links between hosts' NICs, driven by time given as an argument. In the lab the caller
 * advances virtual time from event to event; in `weft switch` it passes the real time and events happen when due. Same
 * code, same objects. */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "net_conf.h"
#include "topo.h"
#include "weft/err.h"
#include "weft/spi/pkt.h"

struct weft_net;
struct weft_lb_turns;

enum weft_nic_call { WEFT_NIC_PULL, WEFT_NIC_DELIVER, WEFT_NIC_WAKE };

/* What the fabric asks of one host's NIC. `arg` is given at attach. All calls come from inside weft_net_run. */
struct weft_nic_ops {
	/* The next packet for the host's uplink, control class first, or NULL. Ownership goes to the fabric. */
	struct weft_pkt *(*pull)(void *arg);
	/* The last bit of a packet arrived at the host. Ownership goes to the host. */
	void (*deliver)(void *arg, struct weft_pkt *pkt, weft_ps now);
	/* The time asked for with weft_net_wake came. */
	void (*wake)(void *arg, weft_ps now);
	/* Optional hint: `call` comes a few events from now, deliver with `pkt`. Called for `stage` 0, 1, 2, nearer and
	 * nearer, so that what each stage fetches into the caches can lead the next one on; the line at `arg` is there.
	 */
	void (*prefetch)(void *arg, enum weft_nic_call call, const struct weft_pkt *pkt, uint32_t stage);
	/* The next packet of the control class, or NULL: what a NIC may send while the switch has paused its data.
	 * NULL: such a NIC sends nothing then. Only needed with pfc. */
	struct weft_pkt *(*pull_control)(void *arg);
	/* The next credit (WEFT_PKT_CREDIT), or NULL; called from weft_net_kick, for its queue begins in the NIC. NULL:
	 * this NIC has none, its credits come with `pull` as all control. Only with conf.tune.credit_queue. */
	struct weft_pkt *(*pull_credit)(void *arg);
};

/* `topo` is copied. Errors: -EINVAL with a message, -ENOMEM. Time starts at `now`. */
int weft_net_create(const struct weft_net_conf *conf, const struct weft_topo *topo, weft_ps now, struct weft_net **out,
		    struct weft_err *err);
void weft_net_destroy(struct weft_net *net); /* packets inside go to free_pkt */

uint32_t weft_net_hosts(const struct weft_net *net);

/* Address of host h in every fabric: 10.x.y.z with the low 24 bits = h + 1 (IPv6: fd00:77:: with the same low 32 bits).
 */
static inline uint32_t weft_net_host_ip(uint32_t host)
{
	return UINT32_C(0x0a000001) + host;
}

/* Puts a NIC at `host`, in place of another; ops NULL: nobody, what is sent there is dropped (dropped_route). `ops`
 * must stay. */
void weft_net_attach(struct weft_net *net, uint32_t host, const struct weft_nic_ops *ops, void *arg);

/* Tells the fabric that the host has packets to pull. Cheap when the uplink is busy. */
void weft_net_kick(struct weft_net *net, uint32_t host, weft_ps now);

/* Asks for one ops->wake at `at` (replaces an earlier request; WEFT_NEVER cancels). */
void weft_net_wake(struct weft_net *net, uint32_t host, weft_ps at);

/* Runs all events up to and including `until`, in order of (time, insertion). Returns the time of the next event, or
 * WEFT_NEVER. */
weft_ps weft_net_run(struct weft_net *net, weft_ps until);

/* Runs exactly one event if there is one at or before `until`; false when there is none. *now is its time. */
bool weft_net_step(struct weft_net *net, weft_ps until, weft_ps *now);

/* For fabrics that run for longer than a weft_ps counts: after weft_net_run up to `now`, all times of the fabric are
 * less by what is returned, a multiple of `unit`. As much is left of `now` as it takes to know what was a moment ago;
 * 0: it is too early. Nothing else changes, packets may be anywhere. */
weft_ps weft_net_set_back(struct weft_net *net, weft_ps now, weft_ps unit);

/* Of all ports of a tier in one direction. */
struct weft_hop_stats {
	uint64_t data;             /* data packets that were sent, also into a link that is down */
	weft_ps wait_ps;           /* for the last bit of what was before them, all together */
	weft_ps wait_max_ps;       /* of one packet */
	uint64_t dropped, trimmed; /* as in struct weft_port_counts */
};

/* What credit queues did; all 0 without them. injected = sent + dropped + waiting + lost with their link. */
struct weft_credit_counts {
	uint64_t injected; /* credits that came */
	uint64_t sent;     /* into the link */
	uint64_t dropped;  /* that found the queue full */
	uint64_t marked;   /* sent with CE set here */
	uint64_t waiting;  /* now */
};

struct weft_net_stats {
	uint64_t hops; /* packets that crossed a link */
	uint64_t events;
	uint64_t marked; /* data packets marked CE */
	uint64_t trimmed;
	uint64_t dropped_data;    /* data queue full (with PFC: the incoming link's buffer), trimming off */
	uint64_t dropped_control; /* control queue full */
	uint64_t dropped_down;    /* a link or switch was down */
	uint64_t dropped_error;   /* damaged by bit errors */
	uint64_t dropped_route;   /* no such host, nobody attached there, or no way that routing does not avoid */
	uint64_t max_queue_bytes; /* deepest data queue of any switch port */
	uint64_t queue_byte_ps;   /* integral of data queue depth over time, summed over switch ports, /2^20 */
	uint64_t ports;           /* switch ports */
	uint64_t pauses;          /* PFC: pause frames sent; frames that end a pause are not counted */
	uint64_t paused_ns;       /* PFC: time ports were paused, summed over ports, hosts' NICs included */
	struct weft_credit_counts credits; /* over all ports, hosts' NICs included; in no other counter but hops,
					      dropped_down and dropped_error */
	uint64_t digest;                   /* hash over all delivered packets: (time, host, header bytes) */
	struct weft_hop_stats at[WEFT_TOPO_TIERS_MAX][WEFT_PORT_DIRS]; /* by tier and enum weft_port_dir */
};
void weft_net_get_stats(const struct weft_net *net, struct weft_net_stats *stats);

/* Links for faults and observation. A link is one direction. Ids are stable for a topology: see weft_net_link_find. */
struct weft_link_id {
	uint32_t index; /* of its port, see weft_net_port_info */
};
/* The uplink `up` (0..) of switch `sw` (0..) in `tier` (0 = leaf) or, with `down`, the same cable's other direction.
 * -ENOENT. */
int weft_net_link_find(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up, bool down,
		       struct weft_link_id *id);
/* The link from a host's NIC or, with `down`, to it. -ENOENT. */
int weft_net_host_link(const struct weft_net *net, uint32_t host, bool down, struct weft_link_id *id);

/* The n-th link that begins or ends at a switch. -ENOENT: it has no more, or there is no such switch. */
int weft_net_switch_link(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t n, struct weft_link_id *id);

/* A packet came out of the link `port` at a switch that is elsewhere; ownership goes to the callee. */
typedef void (*weft_net_out_fn)(void *arg, uint32_t port, struct weft_pkt *pkt, weft_ps now);
/* Makes this fabric one switch of its topology, number `sw` of `tier`: the others are elsewhere, in fabrics with the
 * same topology and seed. What arrives at one of them goes to `out`, at the time at which it would be there. The hosts
 * of the switch are attached as usual. Once, before anything moves. -ENOENT; -EINVAL with PFC and with choices that
 * need all switches. */
int weft_net_part(struct weft_net *net, uint32_t tier, uint32_t sw, weft_net_out_fn out, void *arg,
		  struct weft_err *err);
/* A packet comes over a link from such a switch. Latencies were accounted for where it was sent: it is where the switch
 * decides at `now`, or when the link's rate allows after the packet before it. Returns that time. `pkt` as for `pull`.
 */
weft_ps weft_net_inject(struct weft_net *net, struct weft_link_id id, struct weft_pkt *pkt, weft_ps now);

/* Down links lose what is queued behind them and what is sent into them (dropped_down); what is on the wire arrives. A
 * link that is brought up stays down while a switch at one of its ends is. */
void weft_net_link_set_up(struct weft_net *net, struct weft_link_id id, bool up);
/* Queue and marking thresholds that are a share of the BDP follow the rate; rates below 1 Mb/s are 1 Mb/s. */
void weft_net_link_set_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps);
/* The far end has no room: the switch sends nothing into the link before `until`, packets wait in its queue. Without
 * effect when it is busy longer anyway. */
void weft_net_link_hold(struct weft_net *net, struct weft_link_id id, weft_ps until);
/* The rate the topology gives it. */
uint64_t weft_net_link_nominal_bps(const struct weft_net *net, struct weft_link_id id);
/* Bit error rate in 10^-18: a packet of n bytes on the wire is lost (dropped_error) with the probability
 * 1 - (1 - rate)^(8 n), drawn by the seed. 0: none; at most 10^18. */
void weft_net_link_set_ber(struct weft_net *net, struct weft_link_id id, uint64_t rate_e18);
/* Packets and bytes that were sent into the link so far (also while it is down). */
void weft_net_link_counts(const struct weft_net *net, struct weft_link_id id, uint64_t *pkts, uint64_t *bytes);

/* A switch that goes down loses all that is queued in it and on its way to it (dropped_down), and takes its links with
 * it. -ENOENT. */
int weft_net_switch_set_up(struct weft_net *net, uint32_t tier, uint32_t sw, bool up);

/* Routing that reconverges: what the switches know of faults, apart from the faults themselves. They avoid a link or
 * switch, and what leads only there, from the next weft_net_reroute on; ECMP stays uniform over what is left, and flows
 * whose path is left keep it. Packets without any way are dropped (dropped_route). By default nothing is avoided. */
void weft_net_avoid_link(struct weft_net *net, struct weft_link_id id, bool avoid);
int weft_net_avoid_switch(struct weft_net *net, uint32_t tier, uint32_t sw, bool avoid); /* -ENOENT */
/* The rate that routing takes a link to have when it weighs paths, from the next weft_net_reroute on; the nominal one
 * by default, whatever the rate is. */
void weft_net_route_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps);
/* -ENOMEM: routes stay as they were. */
int weft_net_reroute(struct weft_net *net);

/* What routing tells the host `src` of the paths to the host `dst` where they are named by digits: turns by capacity, a
 * path's slowest link, over those that are left. *out NULL: all paths are alike, there is none, both hosts have one
 * leaf, or one does not exist. Found when first asked for, and kept for the pair of leaves: not to be asked between a
 * change of what routing knows and the weft_net_reroute that ends what was answered before. -ENOMEM. */
int weft_net_turns(struct weft_net *net, uint32_t src, uint32_t dst, const struct weft_lb_turns **out);

enum { WEFT_PORT_NAME_MAX = 32 };

struct weft_port_counts {
	uint64_t queue_bytes; /* data and control that wait now, without the packet in service; 0 at a host's NIC */
	uint64_t sent_pkts, sent_bytes; /* that went into the link, also while it was down */
	uint64_t marked, trimmed;
	uint64_t dropped;                  /* by full queues, or lost on the link */
	struct weft_credit_counts credits; /* in none of the above but what was sent or lost on the link */
	uint64_t pauses;                   /* PFC: pause frames sent to this port */
	uint64_t paused_ns;                /* PFC: time its data was paused */
	weft_ps busy_until;                /* the last bit of the packet in service leaves */
	bool up;                           /* the link carries packets */
};

struct weft_port_info {
	char name[WEFT_PORT_NAME_MAX];
	enum weft_port_dir dir;
	uint32_t tier;   /* 0 = leaf; 0 for a host's NIC, too */
	uint32_t sw;     /* number in its tier; of a host's NIC, the host */
	uint32_t index;  /* cable among the switch's cables in that direction; the host with WEFT_PORT_HOST and _NIC */
	uint64_t bps;    /* now */
	bool up;         /* the link carries packets */
	weft_ps busy_ps; /* how long counts.sent_bytes take, at the rates that it had meanwhile */
	struct weft_port_counts counts;
};

uint32_t weft_net_port_count(const struct weft_net *net);
/* -ENOENT. */
int weft_net_port_info(const struct weft_net *net, uint32_t port, struct weft_port_info *info);
/* The counts alone, cheap enough for every port at every sample. `port` must exist. */
void weft_net_port_counts(const struct weft_net *net, uint32_t port, struct weft_port_counts *counts);

/* Idle round trip of a full data packet and its ACK between the two farthest hosts: store-and-forward, latencies. */
weft_ns weft_net_brtt_ns(const struct weft_net *net);
/* Least completion time of a flow from src to dst alone on an idle fabric, until the last ACK is back. Its packets are
 * spread over all parallel links. Exact where the slowest link of the path is the only one of its tier, or a host's. */
weft_ps weft_net_ideal_ps(const struct weft_net *net, uint32_t src, uint32_t dst, uint64_t wire_bytes_total,
			  uint32_t last_wire_bytes, uint32_t ack_wire_bytes);

/* Where several flows share the path. */
struct weft_net_cut {
	uint32_t tier; /* the link below a switch of this tier, which the path goes up */
	uint64_t bps;  /* what all of them together get there */
};
/* The same for bytes of several flows of which the last one goes from src to dst: they wait for each other at the cut
 * alone. */
weft_ps weft_net_ideal_cut_ps(const struct weft_net *net, uint32_t src, uint32_t dst, uint64_t wire_bytes_total,
			      uint32_t last_wire_bytes, uint32_t ack_wire_bytes, const struct weft_net_cut *cut);

/* A look at the packets of some ports, for captures; costs nothing where it is off. */
enum weft_tap_event {
	WEFT_TAP_SENT,      /* the first bit goes into the port's link */
	WEFT_TAP_DELIVERED, /* the last bit arrived at the host; `port` is the host's NIC */
	WEFT_TAP_DROPPED    /* the port's queue was full, or the link lost it: it was not sent */
};
typedef void (*weft_net_tap_fn)(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt,
				weft_ps now);
/* Who looks; NULL: nobody, at no port. */
void weft_net_tap(struct weft_net *net, weft_net_tap_fn fn, void *arg);
/* Opens a port to the look; after weft_net_tap. `port` must exist. */
void weft_net_tap_port(struct weft_net *net, uint32_t port);

#endif
