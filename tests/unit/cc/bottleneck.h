/* SPDX-License-Identifier: BSD-3-Clause */
/* A closed loop for congestion control tests: flows with equal paths share one link. Time passes in slots, one packet
 * on the link each. The queue holds one BDP, marks at dequeue between 20 % and 80 % and trims or drops what does not
 * fit. A flow sends at most one packet per slot (its own link is as fast) and every packet is acknowledged. */
#ifndef BOTTLENECK_H
#define BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"
#include "weft/spi/cc.h"

enum { BN_FLOWS_MAX = 64, BN_BDP_MAX = 512, BN_RING = 8 * BN_BDP_MAX, BN_LOSS_RTTS = 4 };

struct bn_flow {
	struct weft_cc cc;
	uint64_t inflight_bytes;
	uint64_t to_send;   /* packets */
	uint64_t delivered; /* packets, since the last bn_reset */
	uint64_t lost;      /* trims and drops, since the last bn_reset */
	uint64_t start;     /* first slot it sends in */
};

struct bn_pkt {
	uint32_t flow;
	uint64_t sent;
};

/* Zero it, set flows, bdp_pkts, params and seed, then bn_init. */
struct bottleneck {
	struct weft_cc_params params; /* link_bps and brtt_ns are filled in by bn_init */
	uint32_t flows, bdp_pkts;
	uint64_t seed;
	struct rng rng;
	weft_ns slot_ns;
	uint64_t slot;
	uint64_t idle_slots; /* without a packet on the link, since the last bn_reset */
	struct bn_flow flow[BN_FLOWS_MAX];
	struct bn_pkt queue[BN_BDP_MAX + 1];
	uint32_t queue_head, queue_len, queue_max;
	bool arrival[BN_RING][BN_FLOWS_MAX]; /* by slot of arrival at the queue */
	bool loss[BN_RING][BN_FLOWS_MAX];    /* by slot the sender hears of it */
	struct {
		bool valid, ce;
		struct bn_pkt pkt;
	} ack[BN_RING];
};

void bn_init(struct bottleneck *bn, const struct weft_cc_ops *ops, weft_ns slot_ns);
void bn_run(struct bottleneck *bn, uint64_t slots);

/* Starts a measurement. */
void bn_reset(struct bottleneck *bn);

/* Share of the slots since bn_reset that carried a packet. */
double bn_utilisation(const struct bottleneck *bn);

/* Jain's index of what the first `flows` flows got since bn_reset. */
double bn_jain(const struct bottleneck *bn, uint32_t flows);

#endif
