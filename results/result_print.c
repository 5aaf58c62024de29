/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as a table for people: lines of text with metrics in braces. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"
#include "route.h"

/* A line, or a part of one. {NAME} stands for a count, {NAME:D} for a number with D decimals, {NAME%D} for a share in
 * percent. */
struct line {
	const char *when; /* a metric; the line is there when it is above 0. NULL: always */
	const char *text;
};

#define TIMES(path)                                                                                                    \
	"min {" path ".min:1}  mean {" path ".mean:1}  p50 {" path ".p50:1}  p99 {" path ".p99:1}  max {" path         \
	".max:1} us\n"
#define WAITING(place) "waiting mean {hops." place ".wait_mean_us:3}, max {hops." place ".wait_max_us:1} us\n"
#define SPREAD(dir)                                                                                                    \
	"lengths mean {queue_spread." dir ".mean:3}, p99 {queue_spread." dir ".p99:2} packets; "                       \
	"standard deviation over a leaf's links mean {queue_spread." dir ".sd_mean:3}, max {queue_spread." dir         \
	".sd_max:2}\n"

static const struct line lines[] = {
	{NULL,
	 "flows          {flows.count}, {flows.completed} completed, {flows.verified} verified, {failed} failed\n"},
	{NULL, "FCT            " TIMES("fct_us")},
	{NULL, "delivery       " TIMES("delivered_us")},
	{"background", "foreground     " TIMES("foreground_fct_us")},
	{"background", "background     " TIMES("background_fct_us")},
	{"slowdown.max",
	 "slowdown       min {slowdown.min:3}  mean {slowdown.mean:3}  p50 {slowdown.p50:3}  p99 {slowdown.p99:3}  "
	 "max {slowdown.max:3}, each flow over its ideal alone\n"},
	{NULL, "makespan       {makespan_us:1} us, ideal {ideal_us:1} us, inflation {inflation:3}\n"},
	{NULL, "goodput        {goodput_gbps:1} Gb/s in all, Jain {jain:4}\n"},
	{NULL,
	 "packets        {packets.data} data, {retransmitted} retransmitted, {trimmed} trimmed, {dropped} dropped, "
	 "{marked} marked\n"},
	{NULL, "control        {packets.acks} ACKs, {packets.nacks} NACKs, {packets.credits} credits, {timeouts} "
	       "timeouts\n"},
	{"reordering.packets", "order          {reordering.reordered} of {reordering.packets} packets late, by p99 "
			       "{reordering.extent.p99}, max "
			       "{reordering.extent.max} packets; flows with duplicate ACKs {dup_ack_flows%2} %, three "
			       "{dup_ack3_flows%2} %\n"},
	{"dropped",
	 "drops          {drops.data} data and {drops.control} control in full queues, {drops.down} by failed links, "
	 "{drops.error} by bit errors, {drops.route} without a route, {drops.host} in full rings of hosts\n"},
	{NULL, "queues         max {queue_max_bytes} bytes, mean {queue_mean_bytes:0} bytes\n"},
	{"wait_leaf_host_max_us", "leaf_host      " WAITING("leaf_host")},
	{"wait_leaf_up_max_us", "leaf_up        " WAITING("leaf_up")},
	{"wait_spine_up_max_us", "spine_up       " WAITING("spine_up")},
	{"wait_spine_down_max_us", "spine_down     " WAITING("spine_down")},
	{"wait_core_down_max_us", "core_down      " WAITING("core_down")},
	{"queue_spread.up.lengths", "spread up      " SPREAD("up")},
	{"queue_spread.down.lengths", "spread down    " SPREAD("down")},
	{"credit_queues.injected", "credit queues  {credit_queues.injected} credits, {credit_queues.dropped} dropped, "
				   "{credit_queues.marked} marked, "
				   "at all ports together\n"},
	{"queues.pauses", "pauses         {queues.pauses}, {queues.paused_us:1} us in all ports together\n"},
	{NULL, "run            {run.virtual_us:1} us in {run.wall_s:2} s, {run.events} events, {run.packet_hops} hops"},
};

enum { LINES = sizeof lines / sizeof *lines, NAME_MAX_CHARS = 48 };

/* With its decimals; "-": not known. */
static void print_real(FILE *out, double value, int decimals)
{
	if (isnan(value))
		fputc('-', out);
	else
		fprintf(out, "%.*f", decimals, value);
}

/* Prints the metric between braces: `len` characters, with its format. */
static void print_metric(FILE *out, const char *text, size_t len, const struct run_record *record)
{
	char name[NAME_MAX_CHARS];
	size_t name_len = strcspn(text, ":%}");
	assert(name_len <= len && name_len < sizeof name);
	memcpy(name, text, name_len);
	name[name_len] = '\0';
	const struct metric *m = metric_find(name);
	assert(m);
	if (name_len == len)
		fprintf(out, "%" PRIu64, metric_count(m, record));
	else
		print_real(out, metric_value(m, record) * (text[name_len] == '%' ? 100 : 1), atoi(text + name_len + 1));
}

static void print_text(FILE *out, const char *text, const struct run_record *record)
{
	while (*text) {
		size_t plain = strcspn(text, "{"), len;
		fwrite(text, 1, plain, out);
		text += plain;
		if (!*text)
			return;
		len = strcspn(++text, "}");
		print_metric(out, text, len, record);
		text += len + 1;
	}
}

static bool is_shown(const struct line *l, const struct run_record *record)
{
	return !l->when || metric_value(metric_find(l->when), record) > 0;
}

/* Algorithms, and why they were chosen. */
static void print_names(FILE *out, const struct run_result *r)
{
	bool routed = r->route && strcmp(r->route, weft_route_table[0]->name) != 0;
	fprintf(out, "%-14s %s + %s%s%s, seed %" PRIu64 "\n", r->mode, r->cc, r->lb, routed ? ", switches " : "",
		routed ? r->route : "", r->seed);
	if (r->cc_reason)
		fprintf(out, "%-14s %s\n", r->cc, r->cc_reason);
	if (r->lb_reason)
		fprintf(out, "%-14s %s\n", r->lb, r->lb_reason);
	if (r->warning)
		fprintf(out, "warning        %s\n", r->warning);
}

/* The rest of the line about the run itself, and its digest. */
static void print_run(FILE *out, const struct run_result *r)
{
	if (r->wall_s > 0)
		fprintf(out, " (%.2f M events/s, %.2f M hops/s)", (double)r->events / 1e6 / r->wall_s,
			(double)r->packet_hops / 1e6 / r->wall_s);
	fprintf(out, ", %" PRIu64 " KiB\n", r->max_rss_kib);
	if (r->digest)
		fprintf(out, "digest         %016" PRIx64 "\n", r->digest);
}

int result_print(const struct run_result *r, FILE *out, struct weft_err *err)
{
	struct run_record record = {.result = *r};
	int rc = result_summarise(r, &record.summary);
	if (rc)
		return weft_err_set(err, rc, "no memory for the result");
	print_names(out, r);
	for (uint32_t i = 0; i < LINES; i++) {
		if (is_shown(&lines[i], &record))
			print_text(out, lines[i].text, &record);
	}
	print_run(out, r);
	return 0;
}
