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

/* A measure of one of the run's files. */
struct file_measure {
	const char *name, *help;
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

static const struct file_measure measures[] = {
	{"flow_fct_max_us", "slowest of `flows`", "flows.csv", "fct_us", tally_max},
	{"flow_fct_mean_us", "mean of `flows`", "flows.csv", "fct_us", tally_mean},
	{"flow_dup_acks_max", "most arrivals beyond one gap of `flows`", "flows.csv", "dup_acks", tally_max},
	{"flow_reordered_mean", "mean of the packets of `flows` that came late", "flows.csv", "reordered", tally_mean},
	{"port_queue_max_bytes", "deepest sampled queue of `ports`, between `from` and `to`", "ports.csv",
	 "queue_bytes", tally_max},
	{"port_queue_mean_bytes", "mean of the sampled queues that are not empty", "ports.csv", "queue_bytes",
	 tally_mean},
	{"port_utilisation_mean", "mean utilisation of the samples of `ports`", "ports.csv", "utilisation", tally_mean},
	{"port_utilisation_max", "largest sample", "ports.csv", "utilisation", tally_max},
	{"port_utilisation_min", "smallest sample", "ports.csv", "utilisation", tally_min},
	{"port_marked", "packets marked with ECN at `ports`", "ports.csv", "marked", tally_sum},
	{"port_bytes", "bytes sent by `ports`", "ports.csv", "tx_bytes", tally_sum},
	{"port_dropped", "packets dropped at `ports`", "ports.csv", "dropped", tally_sum},
	{"port_trimmed", "packets trimmed at `ports`", "ports.csv", "trimmed", tally_sum},
	{"link_share_max", "largest share of one of `ports` in its group", "links.csv", "share", tally_max},
	{"link_share_min", "smallest such share", "links.csv", "share", tally_min},
	{"link_share_spread", "their difference", "links.csv", "share", tally_spread},
	{"link_utilisation_mean", "mean utilisation of `ports` over the run", "links.csv", "utilisation", tally_mean},
	{"cwnd_mean_bytes", "mean window of all samples between `from` and `to`", "conns.csv", "cwnd_bytes",
	 tally_mean},
	{"cwnd_max_bytes", "largest sampled window", "conns.csv", "cwnd_bytes", tally_max},
	{"cwnd_min_bytes", "smallest sampled window", "conns.csv", "cwnd_bytes", tally_min},
	{"flow_gbps_mean", "mean payload rate of `flows`, between `from` and `to`", "arrivals.csv", NULL, NULL,
	 CLAIM_RATE_MEAN},
	{"flow_gbps_min", "the slowest of them", "arrivals.csv", NULL, NULL, CLAIM_RATE_MIN},
	{"flow_gbps_max", "the fastest of them", "arrivals.csv", NULL, NULL, CLAIM_RATE_MAX},
	{"flow_jain", "fairness of their rates, 1 is equal", "arrivals.csv", NULL, NULL, CLAIM_RATE_JAIN},
	{"flow_unsteadiness", "standard deviation over mean of a flow's samples, mean of `flows`", "arrivals.csv", NULL,
	 NULL, CLAIM_RATE_UNSTEADY},
	{"flow_reach_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate in one sample",
	 "arrivals.csv", NULL, NULL, CLAIM_RATE_REACH},
	{"flow_settle_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate and stay there",
	 "arrivals.csv", NULL, NULL, CLAIM_RATE_SETTLE},
	{"path_speed_least", "least speed of a path over the fastest's, permille, at any comparison of a receiver",
	 "credits.csv", "least_permille", tally_min},
	{"path_speed_mean", "mean of that over the samples' last comparisons", "credits.csv", "slowest_permille",
	 tally_mean},
	{"path_looks", "comparisons of the receiver that made most", "credits.csv", "looks", tally_max},
	{"paths_valid_min", "fewest paths that some receiver had left", "credits.csv", "valid", tally_min},
	{"credit_rate_mean", "mean of the sampled credit rates, permille of the link", "credits.csv", "rate_permille",
	 tally_mean},
	{"srtt_mean_us", "mean of the sampled smoothed RTTs", "conns.csv", "srtt_us", tally_mean},
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

static const struct file_measure *find_file_measure(const char *name)
{
	for (uint32_t i = 0; i < MEASURES; i++) {
		if (!strcmp(measures[i].name, name))
			return &measures[i];
	}
	return NULL;
}

bool measure_find(const char *name, struct measure *out)
{
	const struct metric *m = metric_find(name);
	*out = (struct measure){m && m->name && !strcmp(m->name, name) ? m : NULL, find_file_measure(name)};
	return out->metric || out->file;
}

void measure_print_all(FILE *out)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if (m->name)
			fprintf(out, "%-24s %s\n", m->name, m->help);
	}
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
static int in_scope(const struct file_measure *m, const struct claim_scope *scope, const struct table *table, bool *in,
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
static void columns_of(const struct file_measure *m, const char *names[3])
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

static int measure_file(const struct file_measure *m, const struct claim_scope *scope, const char *dir, double *value,
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

static int measure_files(const struct file_measure *m, const struct claim_scope *scope, const struct run_record *record,
			 const char *dir, double *value, struct weft_err *err)
{
	if (m->flows)
		return claim_flows(m->flows, scope, dir, value, err);
	if (!m->column)
		return claim_rate(m->rate, scope, record->result.flow_count, dir, value, err);
	int rc = scope->ports ? check_ports(scope, dir, err) : 0;
	return rc ? rc : measure_file(m, scope, dir, value, err);
}

int measure_run(const struct measure *m, const struct claim_scope *scope, const struct run_record *record,
		const char *dir, double *value, struct weft_err *err)
{
	if (!m->metric)
		return measure_files(m->file, scope, record, dir, value, err);
	*value = metric_value(m->metric, record);
	return 0;
}
