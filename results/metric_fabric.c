/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of the fabric, and of the run itself. */
#include <math.h>

#include "metric_int.h"

static bool has_fabric(const struct run_record *r)
{
	return r->result.fabric;
}

static bool has_spread_up(const struct run_record *r)
{
	return r->result.spread[SPREAD_UP].samples;
}

static bool has_spread_down(const struct run_record *r)
{
	return r->result.spread[SPREAD_DOWN].samples;
}

static double lost_at(const struct run_record *r, uint32_t tier, uint32_t dir)
{
	const struct run_hop *h = &r->result.hops[tier][dir];
	return (double)(h->dropped + h->trimmed);
}

static double lost_leaf_up(const struct run_record *r)
{
	return lost_at(r, 0, WEFT_PORT_UP);
}

static double lost_leaf_host(const struct run_record *r)
{
	return lost_at(r, 0, WEFT_PORT_HOST);
}

static double lost_spine_up(const struct run_record *r)
{
	return lost_at(r, 1, WEFT_PORT_UP);
}

static double lost_spine_down(const struct run_record *r)
{
	return lost_at(r, 1, WEFT_PORT_DOWN);
}

static double lost_core_down(const struct run_record *r)
{
	return lost_at(r, 2, WEFT_PORT_DOWN);
}

/* Share of all waiting in switches that happens at ports of this tier and direction. */
static double wait_share(const struct run_record *r, uint32_t tier, uint32_t dir)
{
	double here = 0, all = 0;
	for (uint32_t t = 0; t < WEFT_TOPO_TIERS_MAX; t++) {
		for (uint32_t d = 0; d < WEFT_PORT_DIRS; d++) {
			const struct run_hop *h = &r->result.hops[t][d];
			double us = d == WEFT_PORT_NIC ? 0 : h->wait_mean_us * (double)h->data;
			here += t == tier && d == dir ? us : 0;
			all += us;
		}
	}
	return all > 0 ? here / all : NAN;
}

static double wait_share_leaf_up(const struct run_record *r)
{
	return wait_share(r, 0, WEFT_PORT_UP);
}

static double wait_share_leaf_host(const struct run_record *r)
{
	return wait_share(r, 0, WEFT_PORT_HOST);
}

const struct metric metrics_of_fabric[] = {
	{.name = "queue_max_bytes",
	 .json = "queues.max_bytes",
	 .unit = "bytes",
	 .help = "deepest queue of the run",
	 METRIC_FIELD(result.queue_max_bytes)},
	{.name = "queue_mean_bytes",
	 .json = "queues.mean_bytes",
	 .unit = "bytes",
	 .help = "mean depth of all queues over the run",
	 METRIC_FIELD(result.queue_mean_bytes)},
	{.json = "queues.pauses", .help = "PFC frames that began a pause", METRIC_FIELD(result.pauses)},
	{.json = "queues.paused_us",
	 .unit = "us",
	 .help = "how long PFC kept ports from sending, summed over all",
	 METRIC_FIELD(result.paused_us)},
	{.json = "hops.leaf_up.data",
	 .unit = "packets",
	 .help = "data packets sent there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_UP].data)},
	{.name = "wait_leaf_up_mean_us",
	 .json = "hops.leaf_up.wait_mean_us",
	 .unit = "us",
	 .help = "mean time that data waits at ports from leaves to spines (DRILL's hop 1)",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_UP].wait_mean_us),
	 .is_known = has_fabric},
	{.name = "wait_leaf_up_max_us",
	 .json = "hops.leaf_up.wait_max_us",
	 .unit = "us",
	 .help = "the longest there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_UP].wait_max_us),
	 .is_known = has_fabric},
	{.json = "hops.leaf_up.dropped",
	 .unit = "packets",
	 .help = "packets dropped there, control included",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_UP].dropped)},
	{.json = "hops.leaf_up.trimmed",
	 .unit = "packets",
	 .help = "packets trimmed there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_UP].trimmed)},
	{.name = "lost_leaf_up",
	 .unit = "packets",
	 .help = "packets dropped or trimmed there",
	 METRIC_OF(lost_leaf_up),
	 .is_known = has_fabric},
	{.json = "hops.spine_up.data",
	 .unit = "packets",
	 .help = "data packets sent there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_UP].data)},
	{.name = "wait_spine_up_mean_us",
	 .json = "hops.spine_up.wait_mean_us",
	 .unit = "us",
	 .help = "mean time that data waits at ports from spines to cores",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_UP].wait_mean_us),
	 .is_known = has_fabric},
	{.name = "wait_spine_up_max_us",
	 .json = "hops.spine_up.wait_max_us",
	 .unit = "us",
	 .help = "the longest there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_UP].wait_max_us),
	 .is_known = has_fabric},
	{.json = "hops.spine_up.dropped",
	 .unit = "packets",
	 .help = "packets dropped there, control included",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_UP].dropped)},
	{.json = "hops.spine_up.trimmed",
	 .unit = "packets",
	 .help = "packets trimmed there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_UP].trimmed)},
	{.name = "lost_spine_up",
	 .unit = "packets",
	 .help = "packets dropped or trimmed there",
	 METRIC_OF(lost_spine_up),
	 .is_known = has_fabric},
	{.json = "hops.core_down.data",
	 .unit = "packets",
	 .help = "data packets sent there",
	 METRIC_FIELD(result.hops[2][WEFT_PORT_DOWN].data)},
	{.name = "wait_core_down_mean_us",
	 .json = "hops.core_down.wait_mean_us",
	 .unit = "us",
	 .help = "mean time that data waits at ports from cores to spines",
	 METRIC_FIELD(result.hops[2][WEFT_PORT_DOWN].wait_mean_us),
	 .is_known = has_fabric},
	{.name = "wait_core_down_max_us",
	 .json = "hops.core_down.wait_max_us",
	 .unit = "us",
	 .help = "the longest there",
	 METRIC_FIELD(result.hops[2][WEFT_PORT_DOWN].wait_max_us),
	 .is_known = has_fabric},
	{.json = "hops.core_down.dropped",
	 .unit = "packets",
	 .help = "packets dropped there, control included",
	 METRIC_FIELD(result.hops[2][WEFT_PORT_DOWN].dropped)},
	{.json = "hops.core_down.trimmed",
	 .unit = "packets",
	 .help = "packets trimmed there",
	 METRIC_FIELD(result.hops[2][WEFT_PORT_DOWN].trimmed)},
	{.name = "lost_core_down",
	 .unit = "packets",
	 .help = "packets dropped or trimmed there",
	 METRIC_OF(lost_core_down),
	 .is_known = has_fabric},
	{.json = "hops.spine_down.data",
	 .unit = "packets",
	 .help = "data packets sent there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_DOWN].data)},
	{.name = "wait_spine_down_mean_us",
	 .json = "hops.spine_down.wait_mean_us",
	 .unit = "us",
	 .help = "mean time that data waits at ports from spines to leaves (DRILL's hop 2)",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_DOWN].wait_mean_us),
	 .is_known = has_fabric},
	{.name = "wait_spine_down_max_us",
	 .json = "hops.spine_down.wait_max_us",
	 .unit = "us",
	 .help = "the longest there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_DOWN].wait_max_us),
	 .is_known = has_fabric},
	{.json = "hops.spine_down.dropped",
	 .unit = "packets",
	 .help = "packets dropped there, control included",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_DOWN].dropped)},
	{.json = "hops.spine_down.trimmed",
	 .unit = "packets",
	 .help = "packets trimmed there",
	 METRIC_FIELD(result.hops[1][WEFT_PORT_DOWN].trimmed)},
	{.name = "lost_spine_down",
	 .unit = "packets",
	 .help = "packets dropped or trimmed there",
	 METRIC_OF(lost_spine_down),
	 .is_known = has_fabric},
	{.json = "hops.leaf_host.data",
	 .unit = "packets",
	 .help = "data packets sent there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_HOST].data)},
	{.name = "wait_leaf_host_mean_us",
	 .json = "hops.leaf_host.wait_mean_us",
	 .unit = "us",
	 .help = "mean time that data waits at ports from leaves to hosts (DRILL's hop 3)",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_HOST].wait_mean_us),
	 .is_known = has_fabric},
	{.name = "wait_leaf_host_max_us",
	 .json = "hops.leaf_host.wait_max_us",
	 .unit = "us",
	 .help = "the longest there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_HOST].wait_max_us),
	 .is_known = has_fabric},
	{.json = "hops.leaf_host.dropped",
	 .unit = "packets",
	 .help = "packets dropped there, control included",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_HOST].dropped)},
	{.json = "hops.leaf_host.trimmed",
	 .unit = "packets",
	 .help = "packets trimmed there",
	 METRIC_FIELD(result.hops[0][WEFT_PORT_HOST].trimmed)},
	{.name = "lost_leaf_host",
	 .unit = "packets",
	 .help = "packets dropped or trimmed there",
	 METRIC_OF(lost_leaf_host),
	 .is_known = has_fabric},
	{.name = "wait_leaf_up_share",
	 .help = "share of all waiting in switches that is at ports from leaves to spines",
	 METRIC_OF(wait_share_leaf_up),
	 .is_known = has_fabric},
	{.name = "wait_leaf_host_share",
	 .help = "the same at ports from leaves to hosts",
	 METRIC_OF(wait_share_leaf_host),
	 .is_known = has_fabric},
	{.json = "queue_spread.up.samples",
	 .help = "samples of groups of queues",
	 METRIC_FIELD(result.spread[SPREAD_UP].samples)},
	{.name = "queue_up_sd",
	 .json = "queue_spread.up.sd_mean",
	 .unit = "packets",
	 .help = "with queue_sample_ns: standard deviation of a leaf's uplink queues, mean, in packets",
	 METRIC_FIELD(result.spread[SPREAD_UP].sd_mean),
	 .is_known = has_spread_up},
	{.json = "queue_spread.up.sd_max",
	 .unit = "packets",
	 .help = "the largest standard deviation of a leaf's uplink queues",
	 METRIC_FIELD(result.spread[SPREAD_UP].sd_max)},
	{.name = "queue_up_mean",
	 .json = "queue_spread.up.mean",
	 .unit = "packets",
	 .help = "mean length of a leaf's uplink queues, packets",
	 METRIC_FIELD(result.spread[SPREAD_UP].mean),
	 .is_known = has_spread_up},
	{.name = "queue_up_p99",
	 .json = "queue_spread.up.p99",
	 .unit = "packets",
	 .help = "99th percentile of the lengths",
	 METRIC_FIELD(result.spread[SPREAD_UP].p99),
	 .is_known = has_spread_up},
	{.name = "queue_up_p99999",
	 .json = "queue_spread.up.p99999",
	 .unit = "packets",
	 .help = "99.999th percentile of the lengths",
	 METRIC_FIELD(result.spread[SPREAD_UP].p99999),
	 .is_known = has_spread_up},
	{.json = "queue_spread.up.max",
	 .unit = "packets",
	 .help = "the longest of a leaf's uplink queues",
	 METRIC_FIELD(result.spread[SPREAD_UP].max)},
	{.json = "queue_spread.down.samples",
	 .help = "samples of groups of queues",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].samples)},
	{.name = "queue_down_sd",
	 .json = "queue_spread.down.sd_mean",
	 .unit = "packets",
	 .help = "the same of the queues from the spines to a leaf: mean standard deviation",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].sd_mean),
	 .is_known = has_spread_down},
	{.json = "queue_spread.down.sd_max",
	 .unit = "packets",
	 .help = "the largest standard deviation of these",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].sd_max)},
	{.name = "queue_down_mean",
	 .json = "queue_spread.down.mean",
	 .unit = "packets",
	 .help = "mean length of these",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].mean),
	 .is_known = has_spread_down},
	{.name = "queue_down_p99",
	 .json = "queue_spread.down.p99",
	 .unit = "packets",
	 .help = "99th percentile",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].p99),
	 .is_known = has_spread_down},
	{.name = "queue_down_p99999",
	 .json = "queue_spread.down.p99999",
	 .unit = "packets",
	 .help = "99.999th percentile",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].p99999),
	 .is_known = has_spread_down},
	{.json = "queue_spread.down.max",
	 .unit = "packets",
	 .help = "the longest of these",
	 METRIC_FIELD(result.spread[SPREAD_DOWN].max)},
	{.json = "run.virtual_us",
	 .unit = "us",
	 .help = "length of the run, in virtual time in the lab",
	 .offset = offsetof(struct run_record, result.elapsed),
	 .type = METRIC_PS},
	{.json = "run.wall_s", .unit = "s", .help = "how long it took", METRIC_FIELD(result.wall_s)},
	{.json = "run.events", .help = "events of the fabric", METRIC_FIELD(result.events)},
	{.json = "run.packet_hops", .unit = "packets", .help = "packets over links", METRIC_FIELD(result.packet_hops)},
	{.json = "run.max_rss_kib",
	 .unit = "KiB",
	 .help = "most memory of the process",
	 METRIC_FIELD(result.max_rss_kib)},
};

const uint32_t metrics_of_fabric_count = sizeof metrics_of_fabric / sizeof *metrics_of_fabric;
