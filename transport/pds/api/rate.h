/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate of our link where nobody vouches for one: found from what is acknowledged, over all connections. It stands
 * between PDS and the congestion control, as a table of handlers like the algorithm's own, so an engine that was told
 * its rate runs none of this. doc/reference/protocol.md has the rules. */
#ifndef WEFT_RATE_H
#define WEFT_RATE_H

#include "weft/spi/cc.h"

/* weft_engine_tune.probe_rate: what link_bps is. */
enum rate_known { RATE_TOLD, RATE_BOUND, RATE_UNKNOWN };

enum {
	/* Window that doubling begins with: TCP's on any path (RFC 6928), of packets of the size that connections begin
	 * with. Where that is small, a trimmed packet takes a tenth of the time of a whole one. */
	RATE_START_PKTS = 10,
	RATE_FLOOR_PKTS = 5, /* and the smallest BDP: see rate_floor_ns; a leaf-spine stores and forwards four times */
};

/* A round: the time of a round trip, from ACK to ACK. */
struct rate_round {
	weft_ns from_ns, until_ns;      /* 0: none has begun; it ends with the first ACK after `until_ns` */
	weft_ns heard_ns;               /* latest ACK */
	weft_ns min_rtt_ns, max_rtt_ns; /* samples in it; WEFT_NEVER, 0: none */
	uint64_t acked_bytes, marked_bytes;
	weft_ns longest_ns; /* largest base RTT of connections with full packets in it */
	bool limited;       /* a window was full in it: the application had more to send */
};

struct rate {
	struct weft_cc_params params; /* of our connections, link_bps follows from the estimate; first: it leads here */
	struct weft_cc_ops start;     /* handlers of a connection while the rate is looked for */
	struct weft_cc_ops steady;    /* ... and afterwards; they call the algorithm's */
	const struct weft_cc_ops *cc, *chosen; /* the algorithm's table, and the one its init chose; NULL: not yet */
	uint64_t bps;                          /* the estimate */
	uint64_t bound_bps;                    /* the estimate never exceeds it */
	weft_ns brtt_ns;                       /* of the longest path, as configured */
	uint32_t floor_pkts;                   /* no BDP is smaller: see rate_floor_ns */
	uint32_t start_cwnd_bytes;             /* window that doubling begins with */
	struct rate_round round;
	uint64_t round_bps;    /* of the round before */
	uint64_t best_bps[2];  /* highest rate of this and the previous window of rounds */
	weft_ns longest_ns[2]; /* largest base RTT in this and the previous window */
	uint64_t window_acked_bytes, window_lost_bytes;
	uint64_t full_bps;   /* doubling: the last rate that was clearly higher than the one before */
	weft_ns knee_rtt_ns; /* the least RTT of that round; 0: not known */
	uint8_t full_rounds; /* rounds since then */
	uint8_t rounds;      /* of the present window */
	uint8_t changes;     /* of the estimate, modulo 256 */
	bool starting;       /* doubling */
	bool leaving;        /* the network is full: no more doubling */
	bool left;           /* ... and a round has ended since */
};

/* `params` as for an engine that was told; params->link_bps: the bound of RATE_BOUND, or 0. `first_bytes`: wire bytes
 * of the packets that a connection begins with, no more than params->mtu_bytes. */
void rate_init(struct rate *r, const struct weft_cc_ops *cc, const struct weft_cc_params *params, enum rate_known known,
	       uint32_t floor_pkts, uint32_t first_bytes);
/* Sets up the congestion control of a new connection. */
void rate_open(struct rate *r, struct weft_cc *cc, weft_ns now);
/* The port tells another speed; 0: none. */
void rate_set_bound(struct rate *r, uint64_t link_bps);
/* Base RTTs count as no less than this. A link of the estimated rate stores and forwards a full packet at every hop;
 * where a shaper imitates it, the first packets pass as fast as the link below, and a base RTT measured with them
 * would leave room for less than a packet. */
weft_ns rate_floor_ns(uint64_t link_bps, uint32_t mtu_bytes, uint32_t pkts);

#endif
