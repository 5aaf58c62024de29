/* SPDX-License-Identifier: BSD-3-Clause */
#include "bottleneck.h"

static weft_ns bn_now(const struct bottleneck *bn)
{
	return (bn->slot + 1) * bn->slot_ns;
}

void bn_init(struct bottleneck *bn, const struct weft_cc_ops *ops, weft_ns slot_ns)
{
	bn->slot_ns = slot_ns;
	bn->params.link_bps = (uint64_t)bn->params.mtu_bytes * 8 * 1000000000 / slot_ns;
	bn->params.brtt_ns = bn->bdp_pkts * slot_ns;
	bn->rng.state = bn->seed;
	for (uint32_t i = 0; i < bn->flows; i++) {
		struct bn_flow *flow = &bn->flow[i];
		flow->cc.ops = ops;
		flow->cc.params = &bn->params;
		ops->init(&flow->cc, bn_now(bn));
	}
}

static void deliver_ack(struct bottleneck *bn)
{
	uint32_t at = bn->slot % BN_RING;
	struct bn_flow *flow = &bn->flow[bn->ack[at].pkt.flow];

	if (!bn->ack[at].valid)
		return;
	bn->ack[at].valid = false;
	flow->inflight_bytes -= bn->params.mtu_bytes;
	flow->delivered++;
	struct weft_cc_ack ev = {.bytes = bn->params.mtu_bytes,
				 .inflight_bytes = flow->inflight_bytes,
				 .rtt_ns = (bn->slot - bn->ack[at].pkt.sent) * bn->slot_ns,
				 .brtt_ns = bn->params.brtt_ns,
				 .ce = bn->ack[at].ce};
	flow->cc.ops->on_ack(&flow->cc, &ev, bn_now(bn));
}

static void deliver_losses(struct bottleneck *bn)
{
	bool *lost = bn->loss[bn->slot % BN_RING];

	for (uint32_t i = 0; i < bn->flows; i++) {
		struct bn_flow *flow = &bn->flow[i];
		if (!lost[i])
			continue;
		lost[i] = false;
		flow->inflight_bytes -= bn->params.mtu_bytes;
		flow->to_send++;
		flow->lost++;
		struct weft_cc_loss ev = {.kind = bn->params.trimming ? WEFT_CC_LOSS_TRIM : WEFT_CC_LOSS_GAP,
					  .bytes = bn->params.mtu_bytes,
					  .inflight_bytes = flow->inflight_bytes};
		flow->cc.ops->on_loss(&flow->cc, &ev, bn_now(bn));
	}
}

static void send(struct bottleneck *bn, uint32_t i)
{
	struct bn_flow *flow = &bn->flow[i];
	uint32_t mtu = bn->params.mtu_bytes;

	if (bn->slot < flow->start || flow->to_send == 0 || flow->inflight_bytes + mtu > flow->cc.cwnd_bytes)
		return;
	flow->to_send--;
	flow->inflight_bytes += mtu;
	struct weft_cc_sent ev = {.bytes = mtu, .inflight_bytes = flow->inflight_bytes};
	if (flow->cc.ops->on_sent)
		flow->cc.ops->on_sent(&flow->cc, &ev, bn_now(bn));
	bn->arrival[(bn->slot + bn->bdp_pkts / 2) % BN_RING][i] = true;
}

/* The packet was sent half a base RTT ago. A trim reaches the sender one base RTT after the sending; a drop is
 * noticed BN_LOSS_RTTS base RTTs after it. */
static void enqueue(struct bottleneck *bn, uint32_t i)
{
	bool *arrived = &bn->arrival[bn->slot % BN_RING][i];
	uint64_t sent = bn->slot - bn->bdp_pkts / 2;

	if (!*arrived)
		return;
	*arrived = false;
	if (bn->queue_len < bn->bdp_pkts) {
		bn->queue[(bn->queue_head + bn->queue_len++) % (BN_BDP_MAX + 1)] = (struct bn_pkt){i, sent};
		return;
	}
	uint64_t heard = sent + (bn->params.trimming ? 1 : BN_LOSS_RTTS) * bn->bdp_pkts;
	bn->loss[heard % BN_RING][i] = true;
}

static bool marked(struct bottleneck *bn)
{
	double share = (double)bn->queue_len / bn->bdp_pkts;

	return (share - 0.2) / 0.6 * 65536 > rng_below(&bn->rng, 65536);
}

static void dequeue(struct bottleneck *bn)
{
	uint32_t at = (bn->slot + bn->bdp_pkts - bn->bdp_pkts / 2) % BN_RING;

	if (bn->queue_len > bn->queue_max)
		bn->queue_max = bn->queue_len;
	if (bn->queue_len == 0) {
		bn->idle_slots++;
		return;
	}
	bn->ack[at].pkt = bn->queue[bn->queue_head];
	bn->queue_head = (bn->queue_head + 1) % (BN_BDP_MAX + 1);
	bn->queue_len--;
	bn->ack[at].ce = marked(bn);
	bn->ack[at].valid = true;
}

void bn_run(struct bottleneck *bn, uint64_t slots)
{
	for (uint64_t end = bn->slot + slots; bn->slot < end; bn->slot++) {
		deliver_ack(bn);
		deliver_losses(bn);
		for (uint32_t i = 0; i < bn->flows; i++)
			send(bn, (i + (uint32_t)(bn->slot % bn->flows)) % bn->flows);
		for (uint32_t i = 0; i < bn->flows; i++)
			enqueue(bn, (i + (uint32_t)(bn->slot % bn->flows)) % bn->flows);
		dequeue(bn);
	}
}

void bn_reset(struct bottleneck *bn)
{
	bn->idle_slots = 0;
	bn->queue_max = 0;
	for (uint32_t i = 0; i < bn->flows; i++)
		bn->flow[i].delivered = bn->flow[i].lost = 0;
}

double bn_utilisation(const struct bottleneck *bn)
{
	uint64_t delivered = 0;

	for (uint32_t i = 0; i < bn->flows; i++)
		delivered += bn->flow[i].delivered;
	return (double)delivered / (double)(delivered + bn->idle_slots);
}

double bn_jain(const struct bottleneck *bn, uint32_t flows)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < flows; i++) {
		double x = (double)bn->flow[i].delivered;
		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (flows * squares) : 0;
}
