/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be claimed of a run: numbers of its result, and of its files over ports, flows and stretches of time. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "claim.h"
#include "claim_flows.h"
#include "claim_rates.h"
#include "file.h"
#include "report_csv.h"

/* Collects the values a file has for a measure. */
struct tally {
	uint64_t n;
	double sum, min, max;
};

struct measure {
	const char *name, *help;
	double (*of_result)(const struct run_record *r); /* or from a file: */
	const char *file;
	const char *column;
	double (*of_tally)(const struct tally *t);
	enum claim_rate rate;   /* of arrivals.csv, without a column */
	enum claim_flows flows; /* of flows.csv, without a column */
};

static double tally_mean(const struct tally *t)
{
	return t->n ? t->sum / (double)t->n : 0;
}

static double tally_max(const struct tally *t)
{
	return t->n ? t->max : 0;
}

static double tally_min(const struct tally *t)
{
	return t->n ? t->min : 0;
}

static double tally_spread(const struct tally *t)
{
	return tally_max(t) - tally_min(t);
}

static double tally_sum(const struct tally *t)
{
	return t->sum;
}

#define FROM_RESULT(name, expression)                                                                                  \
	static double name(const struct run_record *r)                                                                 \
	{                                                                                                              \
		return (double)(expression);                                                                           \
	}

/* Of completion times: not known while a flow has none. */
#define FROM_COMPLETE(name, expression)                                                                                \
	FROM_RESULT(name, r->summary.completed == r->result.flow_count ? (double)(expression) : NAN)

FROM_COMPLETE(fct_min, r->summary.fct_us.min)
FROM_COMPLETE(fct_mean, r->summary.fct_us.mean)
FROM_COMPLETE(fct_p50, r->summary.fct_us.p50)
FROM_COMPLETE(fct_p99, r->summary.fct_us.p99)
FROM_COMPLETE(fct_max, r->summary.fct_us.max)
FROM_COMPLETE(spread, r->summary.fct_us.max - r->summary.fct_us.min)
FROM_COMPLETE(unevenness, r->summary.fct_us.min > 0 ? r->summary.fct_us.max / r->summary.fct_us.min : 0)
FROM_COMPLETE(foreground_mean, r->summary.foreground_fct_us.mean)
FROM_COMPLETE(foreground_max, r->summary.foreground_fct_us.max)
FROM_COMPLETE(background_mean, r->summary.background_fct_us.mean)
FROM_COMPLETE(background_max, r->summary.background_fct_us.max)
FROM_COMPLETE(makespan, r->summary.makespan_us)
FROM_COMPLETE(inflation, r->summary.inflation)
FROM_COMPLETE(goodput, r->summary.goodput_gbps)
FROM_COMPLETE(jain, r->summary.jain)
FROM_RESULT(failed, r->summary.failed)
FROM_RESULT(retransmitted, r->result.packets.retransmitted)
FROM_RESULT(trimmed, r->result.packets.trimmed)
FROM_RESULT(dropped, r->result.packets.dropped)
FROM_RESULT(lost, r->result.packets.dropped + r->result.packets.trimmed)
FROM_RESULT(data_lost, r->result.drops.data + r->result.packets.trimmed)
FROM_RESULT(marked, r->result.packets.marked)
FROM_RESULT(timeouts, r->result.packets.timeouts)
/* Not known of runs without such numbers. */
#define FROM_ORDER(name, expression) FROM_RESULT(name, r->result.order.known ? (double)(expression) : NAN)

FROM_ORDER(reordered_share, (double)r->result.order.reordered / (double)r->result.order.packets)
FROM_ORDER(extent_p99, r->result.order.extent_p99)
FROM_ORDER(extent_max, r->result.order.extent_max)
FROM_ORDER(ooo_p99, r->result.order.ooo_p99)
FROM_ORDER(ooo_max, r->result.order.ooo_max)
FROM_ORDER(dup_acks_max, r->result.order.dup_acks_max)
FROM_ORDER(dup_ack_flows, r->result.order.dup_ack_flows)
FROM_ORDER(dup_ack3_flows, r->result.order.dup_ack3_flows)
FROM_ORDER(reorder_ack_flows, r->result.order.reorder_ack_flows)
FROM_ORDER(reorder_ack3_flows, r->result.order.reorder_ack3_flows)
/* By tier and direction. */
#define FROM_HOP(name, tier, dir)                                                                                      \
	FROM_RESULT(wait_mean_##name, HOP(tier, dir, wait_mean_us))                                                    \
	FROM_RESULT(wait_max_##name, HOP(tier, dir, wait_max_us))                                                      \
	FROM_RESULT(lost_##name, HOP(tier, dir, dropped) + HOP(tier, dir, trimmed))
#define HOP(tier, dir, field) (r->result.fabric ? (double)r->result.hops[tier][WEFT_PORT_##dir].field : NAN)
#define SPREAD(dir, field)    (r->result.spread[dir].samples ? r->result.spread[dir].field : NAN)

/* Of all waiting in switches, which share is in ports of this tier and direction. */
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
	return r->result.fabric && all > 0 ? here / all : NAN;
}

FROM_RESULT(wait_share_leaf_up, wait_share(r, 0, WEFT_PORT_UP))
FROM_RESULT(wait_share_leaf_host, wait_share(r, 0, WEFT_PORT_HOST))
FROM_HOP(leaf_up, 0, UP)
FROM_HOP(spine_up, 1, UP)
FROM_HOP(core_down, 2, DOWN)
FROM_HOP(spine_down, 1, DOWN)
FROM_HOP(leaf_host, 0, HOST)
FROM_RESULT(sd_up, SPREAD(SPREAD_UP, sd_mean))
FROM_RESULT(sd_down, SPREAD(SPREAD_DOWN, sd_mean))
FROM_RESULT(length_up, SPREAD(SPREAD_UP, mean))
FROM_RESULT(length_up_p99, SPREAD(SPREAD_UP, p99))
FROM_RESULT(length_up_p99999, SPREAD(SPREAD_UP, p99999))
FROM_RESULT(length_down, SPREAD(SPREAD_DOWN, mean))
FROM_RESULT(length_down_p99, SPREAD(SPREAD_DOWN, p99))
FROM_RESULT(length_down_p99999, SPREAD(SPREAD_DOWN, p99999))
FROM_RESULT(queue_max, r->result.queue_max_bytes)
FROM_RESULT(queue_mean, r->result.queue_mean_bytes)

static const struct measure measures[] = {
	{"fct_min_us", "fastest flow's completion time", fct_min, NULL, NULL, NULL},
	{"fct_mean_us", "mean completion time", fct_mean, NULL, NULL, NULL},
	{"fct_p50_us", "median completion time", fct_p50, NULL, NULL, NULL},
	{"fct_p99_us", "99th percentile of the completion times", fct_p99, NULL, NULL, NULL},
	{"fct_max_us", "slowest flow's completion time (tail)", fct_max, NULL, NULL, NULL},
	{"spread_us", "slowest less fastest completion time", spread, NULL, NULL, NULL},
	{"slowest_over_fastest", "slowest completion time over the fastest", unevenness, NULL, NULL, NULL},
	{"foreground_mean_us", "with background traffic: mean of the other flows", foreground_mean, NULL, NULL, NULL},
	{"foreground_max_us", "the slowest of them", foreground_max, NULL, NULL, NULL},
	{"background_mean_us", "mean of the background flows", background_mean, NULL, NULL, NULL},
	{"background_max_us", "the slowest of them", background_max, NULL, NULL, NULL},
	{"makespan_us", "first submission to last acknowledgement", makespan, NULL, NULL, NULL},
	{"inflation", "makespan over the ideal", inflation, NULL, NULL, NULL},
	{"goodput_gbps", "payload over the makespan, all hosts together", goodput, NULL, NULL, NULL},
	{"jain", "fairness of the flows' rates, 1 is equal", jain, NULL, NULL, NULL},
	{"failed", "flows that did not arrive whole", failed, NULL, NULL, NULL},
	{"retransmitted", "packets sent again", retransmitted, NULL, NULL, NULL},
	{"trimmed", "packets trimmed by switches", trimmed, NULL, NULL, NULL},
	{"dropped", "packets dropped by switches and links", dropped, NULL, NULL, NULL},
	{"lost", "packets trimmed or dropped", lost, NULL, NULL, NULL},
	{"data_lost", "data packets trimmed, or dropped by full queues", data_lost, NULL, NULL, NULL},
	{"marked", "packets marked with ECN", marked, NULL, NULL, NULL},
	{"timeouts", "retransmission timeouts", timeouts, NULL, NULL, NULL},
	{"reordered_share", "packets that arrived after one sent later, over all", reordered_share, NULL, NULL, NULL},
	{"reorder_extent_p99", "99th percentile over packets of how many sent later came first", extent_p99, NULL, NULL,
	 NULL},
	{"reorder_extent_max", "the largest", extent_max, NULL, NULL, NULL},
	{"ooo_p99", "99th percentile over packets of how many of its flow wait behind a gap when one arrives", ooo_p99,
	 NULL, NULL, NULL},
	{"ooo_max", "most packets of a flow waiting behind a gap", ooo_max, NULL, NULL, NULL},
	{"dup_acks_max", "most arrivals beyond one gap of a flow", dup_acks_max, NULL, NULL, NULL},
	{"dup_ack_flows", "share of flows with an arrival beyond a gap (duplicate ACK)", dup_ack_flows, NULL, NULL,
	 NULL},
	{"dup_ack3_flows", "share of flows with three beyond the same gap", dup_ack3_flows, NULL, NULL, NULL},
	{"reorder_ack_flows", "as dup_ack_flows, but not for gaps of lost packets", reorder_ack_flows, NULL, NULL,
	 NULL},
	{"reorder_ack3_flows", "as dup_ack3_flows, but not for gaps of lost packets", reorder_ack3_flows, NULL, NULL,
	 NULL},
	{"queue_max_bytes", "deepest queue of the run", queue_max, NULL, NULL, NULL},
	{"queue_mean_bytes", "mean depth of all queues over the run", queue_mean, NULL, NULL, NULL},
	{"wait_leaf_up_mean_us", "mean time that data waits at ports from leaves to spines (DRILL's hop 1)",
	 wait_mean_leaf_up, NULL, NULL, NULL},
	{"wait_leaf_up_max_us", "the longest there", wait_max_leaf_up, NULL, NULL, NULL},
	{"lost_leaf_up", "packets dropped or trimmed there", lost_leaf_up, NULL, NULL, NULL},
	{"wait_spine_up_mean_us", "mean time that data waits at ports from spines to cores", wait_mean_spine_up, NULL,
	 NULL, NULL},
	{"wait_spine_up_max_us", "the longest there", wait_max_spine_up, NULL, NULL, NULL},
	{"lost_spine_up", "packets dropped or trimmed there", lost_spine_up, NULL, NULL, NULL},
	{"wait_core_down_mean_us", "mean time that data waits at ports from cores to spines", wait_mean_core_down, NULL,
	 NULL, NULL},
	{"wait_core_down_max_us", "the longest there", wait_max_core_down, NULL, NULL, NULL},
	{"lost_core_down", "packets dropped or trimmed there", lost_core_down, NULL, NULL, NULL},
	{"wait_spine_down_mean_us", "mean time that data waits at ports from spines to leaves (DRILL's hop 2)",
	 wait_mean_spine_down, NULL, NULL, NULL},
	{"wait_spine_down_max_us", "the longest there", wait_max_spine_down, NULL, NULL, NULL},
	{"lost_spine_down", "packets dropped or trimmed there", lost_spine_down, NULL, NULL, NULL},
	{"wait_leaf_host_mean_us", "mean time that data waits at ports from leaves to hosts (DRILL's hop 3)",
	 wait_mean_leaf_host, NULL, NULL, NULL},
	{"wait_leaf_host_max_us", "the longest there", wait_max_leaf_host, NULL, NULL, NULL},
	{"lost_leaf_host", "packets dropped or trimmed there", lost_leaf_host, NULL, NULL, NULL},
	{"wait_leaf_up_share", "share of all waiting in switches that is at ports from leaves to spines",
	 wait_share_leaf_up, NULL, NULL, NULL},
	{"wait_leaf_host_share", "the same at ports from leaves to hosts", wait_share_leaf_host, NULL, NULL, NULL},
	{"queue_up_sd", "with queue_sample_ns: standard deviation of a leaf's uplink queues, mean, in packets", sd_up,
	 NULL, NULL, NULL},
	{"queue_up_mean", "mean length of a leaf's uplink queues, packets", length_up, NULL, NULL, NULL},
	{"queue_up_p99", "99th percentile of the lengths", length_up_p99, NULL, NULL, NULL},
	{"queue_up_p99999", "99.999th percentile of the lengths", length_up_p99999, NULL, NULL, NULL},
	{"queue_down_sd", "the same of the queues from the spines to a leaf: mean standard deviation", sd_down, NULL,
	 NULL, NULL},
	{"queue_down_mean", "mean length of these", length_down, NULL, NULL, NULL},
	{"queue_down_p99", "99th percentile", length_down_p99, NULL, NULL, NULL},
	{"queue_down_p99999", "99.999th percentile", length_down_p99999, NULL, NULL, NULL},
	{"flow_fct_max_us", "slowest of `flows`", NULL, "flows.csv", "fct_us", tally_max},
	{"flow_fct_mean_us", "mean of `flows`", NULL, "flows.csv", "fct_us", tally_mean},
	{"flow_dup_acks_max", "most arrivals beyond one gap of `flows`", NULL, "flows.csv", "dup_acks", tally_max},
	{"flow_reordered_mean", "mean of the packets of `flows` that came late", NULL, "flows.csv", "reordered",
	 tally_mean},
	{"port_queue_max_bytes", "deepest sampled queue of `ports`, between `from` and `to`", NULL, "ports.csv",
	 "queue_bytes", tally_max},
	{"port_queue_mean_bytes", "mean of the sampled queues that are not empty", NULL, "ports.csv", "queue_bytes",
	 tally_mean},
	{"port_utilisation_mean", "mean utilisation of the samples of `ports`", NULL, "ports.csv", "utilisation",
	 tally_mean},
	{"port_utilisation_max", "largest sample", NULL, "ports.csv", "utilisation", tally_max},
	{"port_utilisation_min", "smallest sample", NULL, "ports.csv", "utilisation", tally_min},
	{"port_marked", "packets marked with ECN at `ports`", NULL, "ports.csv", "marked", tally_sum},
	{"port_bytes", "bytes sent by `ports`", NULL, "ports.csv", "tx_bytes", tally_sum},
	{"port_dropped", "packets dropped at `ports`", NULL, "ports.csv", "dropped", tally_sum},
	{"port_trimmed", "packets trimmed at `ports`", NULL, "ports.csv", "trimmed", tally_sum},
	{"link_share_max", "largest share of one of `ports` in its group", NULL, "links.csv", "share", tally_max},
	{"link_share_min", "smallest such share", NULL, "links.csv", "share", tally_min},
	{"link_share_spread", "their difference", NULL, "links.csv", "share", tally_spread},
	{"link_utilisation_mean", "mean utilisation of `ports` over the run", NULL, "links.csv", "utilisation",
	 tally_mean},
	{"cwnd_mean_bytes", "mean window of all samples between `from` and `to`", NULL, "conns.csv", "cwnd_bytes",
	 tally_mean},
	{"cwnd_max_bytes", "largest sampled window", NULL, "conns.csv", "cwnd_bytes", tally_max},
	{"cwnd_min_bytes", "smallest sampled window", NULL, "conns.csv", "cwnd_bytes", tally_min},
	{"flow_gbps_mean", "mean payload rate of `flows`, between `from` and `to`", NULL, "arrivals.csv", NULL, NULL,
	 CLAIM_RATE_MEAN},
	{"flow_gbps_min", "the slowest of them", NULL, "arrivals.csv", NULL, NULL, CLAIM_RATE_MIN},
	{"flow_gbps_max", "the fastest of them", NULL, "arrivals.csv", NULL, NULL, CLAIM_RATE_MAX},
	{"flow_jain", "fairness of their rates, 1 is equal", NULL, "arrivals.csv", NULL, NULL, CLAIM_RATE_JAIN},
	{"flow_unsteadiness", "standard deviation over mean of a flow's samples, mean of `flows`", NULL, "arrivals.csv",
	 NULL, NULL, CLAIM_RATE_UNSTEADY},
	{"flow_reach_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate in one sample", NULL,
	 "arrivals.csv", NULL, NULL, CLAIM_RATE_REACH},
	{"flow_settle_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate and stay there", NULL,
	 "arrivals.csv", NULL, NULL, CLAIM_RATE_SETTLE},
	{"path_speed_least", "least speed of a path over the fastest's, permille, at any comparison of a receiver",
	 NULL, "credits.csv", "least_permille", tally_min},
	{"path_speed_mean", "mean of that over the samples' last comparisons", NULL, "credits.csv", "slowest_permille",
	 tally_mean},
	{"path_looks", "comparisons of the receiver that made most", NULL, "credits.csv", "looks", tally_max},
	{"paths_valid_min", "fewest paths that some receiver had left", NULL, "credits.csv", "valid", tally_min},
	{"credit_rate_mean", "mean of the sampled credit rates, permille of the link", NULL, "credits.csv",
	 "rate_permille", tally_mean},
	{"srtt_mean_us", "mean of the sampled smoothed RTTs", NULL, "conns.csv", "srtt_us", tally_mean},
	{.name = "fct_p999_us", .help = "99.9th percentile of the completion times", .flows = CLAIM_FLOWS_P999},
	{.name = "fct_p9999_us", .help = "99.99th percentile; of fewer flows the slowest", .flows = CLAIM_FLOWS_P9999},
	{.name = "foreground_p99_us", .help = "of flows not of the background", .flows = CLAIM_FLOWS_FOREGROUND_P99},
	{.name = "foreground_p9999_us", .help = "the same, 99.99th", .flows = CLAIM_FLOWS_FOREGROUND_P9999},
	{.name = "background_p99_us", .help = "of the background flows", .flows = CLAIM_FLOWS_BACKGROUND_P99},
	{.name = "background_p9999_us", .help = "the same, 99.99th", .flows = CLAIM_FLOWS_BACKGROUND_P9999},
	{.name = "foreground_gbps_mean",
	 .help = "mean of the payload rates of flows not of the background",
	 .flows = CLAIM_FLOWS_FOREGROUND_GBPS},
};

enum { MEASURES = sizeof measures / sizeof *measures };

const struct measure *measure_find(const char *name)
{
	for (uint32_t i = 0; i < MEASURES; i++) {
		if (!strcmp(measures[i].name, name))
			return &measures[i];
	}
	return NULL;
}

bool measure_of_result(const struct measure *m)
{
	return m->of_result;
}

void measure_print_all(FILE *out)
{
	for (uint32_t i = 0; i < MEASURES; i++)
		fprintf(out, "%-24s %s\n", measures[i].name, measures[i].help);
}

static void add(struct tally *t, double value)
{
	if (isnan(value))
		return;
	t->min = !t->n || value < t->min ? value : t->min;
	t->max = !t->n || value > t->max ? value : t->max;
	t->sum += value;
	t->n++;
}

static bool in_time(double time_us, const struct claim_scope *scope)
{
	double from_us = (double)scope->from_ns / 1e3, to_us = (double)scope->to_ns / 1e3;
	return time_us >= from_us && time_us <= to_us;
}

/* Whether a line is within the claim's scope: the first column says of which flow, port or time it tells. */
static int in_scope(const struct measure *m, const struct claim_scope *scope, const struct table *table, bool *in,
		    struct weft_err *err)
{
	double number = 0;
	int rc = 0;
	bool of_port = !strcmp(m->file, "ports.csv") || !strcmp(m->file, "links.csv");
	*in = !of_port || !scope->ports || !fnmatch(scope->ports, table_text(table, 1), 0);
	if (strcmp(m->file, "links.csv") != 0)
		rc = table_number(table, 2, &number, err);
	if (rc)
		return rc;
	if (!strcmp(m->file, "flows.csv"))
		*in = number >= scope->first_flow && number <= scope->last_flow;
	else if (strcmp(m->file, "links.csv") != 0)
		*in = *in && in_time(number, scope);
	return 0;
}

/* Columns: the measured one, the port (or whatever else names the line), and what limits the scope. */
static void columns_of(const struct measure *m, const char *names[3])
{
	bool flows = !strcmp(m->file, "flows.csv"),
	     conns = !strcmp(m->file, "conns.csv") || !strcmp(m->file, "credits.csv");
	bool links = !strcmp(m->file, "links.csv");
	names[0] = m->column;
	names[1] = flows ? "flow" : conns ? "src" : "port";
	names[2] = flows ? "flow" : links ? m->column : "time_us";
}

/* A misspelt pattern would measure nothing and so hold. Idle ports have no rows in ports.csv; links.csv names all. */
static int check_ports(const struct claim_scope *scope, const char *dir, struct weft_err *err)
{
	static const char *const names[] = {"port"};
	char path[FILE_PATH_MAX];
	struct table table;
	bool found = false;
	int rc = file_path(path, dir, "links.csv", err);
	if (rc)
		return rc;
	rc = table_open(&table, path, names, 1, err);
	while (!rc && !found && (rc = table_next(&table, err)) == 1) {
		found = !fnmatch(scope->ports, table_text(&table, 0), 0);
		rc = 0;
	}
	table_close(&table);
	if (rc < 0 || found)
		return rc < 0 ? rc : 0;
	return weft_err_set(err, -EINVAL, "%s: no port is called '%s'", path, scope->ports);
}

static int measure_file(const struct measure *m, const struct claim_scope *scope, const char *dir, double *value,
			struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	const char *names[3];
	struct table table;
	struct tally tally = {0};
	int rc = file_path(path, dir, m->file, err);
	if (rc)
		return rc;
	columns_of(m, names);
	rc = table_open(&table, path, names, 3, err);
	while (!rc && (rc = table_next(&table, err)) == 1) {
		bool in = false;
		double number;
		rc = in_scope(m, scope, &table, &in, err);
		if (!rc)
			rc = table_number(&table, 0, &number, err);
		if (!rc && in)
			add(&tally, number);
	}
	table_close(&table);
	*value = m->of_tally(&tally);
	return rc < 0 ? rc : 0;
}

int measure_run(const struct measure *m, const struct claim_scope *scope, const struct run_record *record,
		const char *dir, double *value, struct weft_err *err)
{
	if (m->flows)
		return claim_flows(m->flows, scope, dir, value, err);
	if (!m->of_result && !m->column)
		return claim_rate(m->rate, scope, record->result.flow_count, dir, value, err);
	if (!m->of_result) {
		int rc = scope->ports ? check_ports(scope, dir, err) : 0;
		return rc ? rc : measure_file(m, scope, dir, value, err);
	}
	*value = m->of_result(record);
	return 0;
}
