/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_report.h"

#include <stdio.h>

const char *const perf_op_names[PERF_OPS + 1] = {"message", "tagged", "write", "read", "atomic", NULL};
const char *const perf_test_names[PERF_TESTS + 1] = {"latency", "bandwidth", "both-ways", NULL};

void perf_print_about(const struct perf_side *side, const char *server)
{
	const struct perf_job *job = &side->job;
	const struct fi_info *info = side->lanes[0].info;
	printf("weft perf: %s over %s (%s) to %s; %u connection%s, %u thread%s, %u outstanding%s\n",
	       perf_op_names[job->op], info->fabric_attr->prov_name, info->domain_attr->name, server, job->connections,
	       job->connections == 1 ? "" : "s", job->threads, job->threads == 1 ? "" : "s", job->window,
	       job->check ? ", every byte compared" : "");
}

void perf_print_head(const struct perf_side *side, enum perf_test test)
{
	if (test == PERF_LATENCY)
		printf("\n%s, us\n%10s %12s %10s %10s %10s %10s %10s %10s\n",
		       perf_has_receiver(side->job.op) ? "latency, half a round trip" : "latency, until completed",
		       "#bytes", "#iterations", "min", "mean", "p50", "p99", "p99.9", "max");
	else
		printf("\nbandwidth, %s\n%10s %12s %12s %10s %10s\n", test == PERF_BANDWIDTH ? "one way" : "both ways",
		       "#bytes", "#iterations", "MB/s", "Gb/s", "Mmsg/s");
	fflush(stdout); /* a row may take as long as the caller wants */
}

static double bytes_per_second(const struct perf_result *r)
{
	return r->seconds > 0 ? (double)r->operations * r->bytes / r->seconds : 0;
}

static double operations_per_second(const struct perf_result *r)
{
	return r->seconds > 0 ? (double)r->operations / r->seconds : 0;
}

void perf_print_row(const struct perf_result *r)
{
	const struct perf_summary *l = &r->latency;
	if (r->test == PERF_LATENCY)
		printf("%10u %12llu %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f\n", r->bytes, (unsigned long long)l->seen,
		       l->min_us, l->mean_us, l->p50_us, l->p99_us, l->p999_us, l->max_us);
	else
		printf("%10u %12llu %12.1f %10.2f %10.4f\n", r->bytes, (unsigned long long)r->operations,
		       bytes_per_second(r) / 1e6, bytes_per_second(r) * 8 / 1e9, operations_per_second(r) / 1e6);
	fflush(stdout);
}

json_t *perf_about_to_json(const struct perf_side *side, const char *server)
{
	const struct perf_job *job = &side->job;
	const struct fi_info *info = side->lanes[0].info;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:[]}", "schema", "weft.perf/1", "server",
			 server, "provider", info->fabric_attr->prov_name, "domain", info->domain_attr->name, "op",
			 perf_op_names[job->op], "connections", (int)job->connections, "threads", (int)job->threads,
			 "window", (int)job->window, "check", job->check, "rows");
}

json_t *perf_row_to_json(const struct perf_result *r)
{
	const struct perf_summary *l = &r->latency;
	if (r->test == PERF_LATENCY)
		return json_pack("{s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "test", perf_test_names[r->test],
				 "bytes", (int)r->bytes, "iterations", (json_int_t)l->seen, "min_us", l->min_us,
				 "mean_us", l->mean_us, "p50_us", l->p50_us, "p99_us", l->p99_us, "p999_us", l->p999_us,
				 "max_us", l->max_us);
	return json_pack("{s:s, s:i, s:I, s:f, s:f, s:f}", "test", perf_test_names[r->test], "bytes", (int)r->bytes,
			 "iterations", (json_int_t)r->operations, "seconds", r->seconds, "bytes_per_second",
			 bytes_per_second(r), "messages_per_second", operations_per_second(r));
}
