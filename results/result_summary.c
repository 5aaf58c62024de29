/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "stat.h"

/* Sorts `us`. Percentiles by nearest rank. */
static struct run_times times_of(double *us, uint32_t n)
{
	if (!n)
		return (struct run_times){NAN, NAN, NAN, NAN, NAN};
	stat_sort(us, n);
	return (struct run_times){
		.min = us[0],
		.mean = stat_mean(us, n),
		.p50 = stat_percentile(us, n, 0.50),
		.p99 = stat_percentile(us, n, 0.99),
		.max = us[n - 1],
	};
}

static double us(weft_ps ps)
{
	return (double)ps / 1e6;
}

/* Sums that the summary's ratios are made of. */
struct sums {
	weft_ps first, last;
	uint64_t bytes;
	double rate, rate_squared;
};

static void count_flow(const struct run_flow *f, struct run_summary *s, struct sums *sums, double *fct)
{
	double rate = (double)f->bytes / us(f->acked - f->start);
	fct[s->completed++] = us(f->acked - f->start);
	sums->rate += rate;
	sums->rate_squared += rate * rate;
	sums->bytes += f->bytes;
	if (f->start < sums->first)
		sums->first = f->start;
	if (f->acked > sums->last)
		sums->last = f->acked;
}

/* The FCTs of the flows of one kind; `fct` has room for all. */
static struct run_times times_of_kind(const struct run_result *r, bool background, double *fct)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->flow_count; i++)
		if (r->flows[i].background == background && r->flows[i].acked != WEFT_NEVER)
			fct[n++] = us(r->flows[i].acked - r->flows[i].start);
	return times_of(fct, n);
}

/* Of the completed flows whose ideal is known; `ratio` has room for all. */
static struct run_times slowdown_of(const struct run_result *r, double *ratio)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->flow_count; i++)
		if (r->flows[i].ideal && r->flows[i].acked != WEFT_NEVER)
			ratio[n++] = (double)(r->flows[i].acked - r->flows[i].start) / (double)r->flows[i].ideal;
	return times_of(ratio, n);
}

int result_summarise(const struct run_result *r, struct run_summary *s)
{
	double *fct = calloc(2 * (size_t)r->flow_count + 1, sizeof *fct), *delivered = fct + r->flow_count;
	uint32_t delivered_count = 0;
	struct sums sums = {.first = WEFT_NEVER};
	if (!fct)
		return -ENOMEM;
	*s = (struct run_summary){
		.ideal_us = us(r->ideal), .makespan_us = NAN, .inflation = NAN, .goodput_gbps = NAN, .jain = NAN};
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct run_flow *f = &r->flows[i];
		if (f->acked != WEFT_NEVER)
			count_flow(f, s, &sums, fct);
		if (f->delivered != WEFT_NEVER)
			delivered[delivered_count++] = us(f->delivered - f->start);
		s->verified += f->verified;
		s->background += f->background;
	}
	s->failed = r->flow_count - s->verified;
	s->fct_us = times_of(fct, s->completed);
	s->delivered_us = times_of(delivered, delivered_count);
	s->foreground_fct_us = times_of_kind(r, false, fct);
	s->background_fct_us = times_of_kind(r, true, fct);
	s->slowdown = slowdown_of(r, fct);
	free(fct);
	if (!s->completed)
		return 0;
	double elapsed_us = us(sums.last - sums.first);
	s->goodput_gbps = (double)sums.bytes * 8 / 1e3 / elapsed_us;
	s->jain = sums.rate * sums.rate / (s->completed * sums.rate_squared);
	if (s->completed == r->flow_count) {
		s->makespan_us = elapsed_us;
		s->inflation = r->ideal ? elapsed_us / s->ideal_us : NAN;
	}
	return 0;
}

void result_add_engine(struct run_packets *p, const struct weft_stats *stats)
{
	p->data += stats->tx_data;
	p->retransmitted += stats->tx_retx;
	p->acks += stats->tx_ack;
	p->nacks += stats->tx_nack;
	p->credits += stats->tx_credit;
	p->timeouts += stats->timeouts;
}

static void set_hops(struct run_result *r, const struct weft_net_stats *stats)
{
	for (uint32_t tier = 0; tier < WEFT_TOPO_TIERS_MAX; tier++) {
		for (uint32_t dir = 0; dir < WEFT_PORT_DIRS; dir++) {
			const struct weft_hop_stats *at = &stats->at[tier][dir];
			r->hops[tier][dir] = (struct run_hop){
				.data = at->data,
				.wait_mean_us = at->data ? (double)at->wait_ps / 1e6 / (double)at->data : 0,
				.wait_max_us = (double)at->wait_max_ps / 1e6,
				.dropped = at->dropped,
				.trimmed = at->trimmed,
			};
		}
	}
}

static uint64_t sum_drops(const struct run_drops *d)
{
	return d->data + d->control + d->down + d->error + d->route + d->host;
}

void result_set_fabric(struct run_result *r, const struct weft_net_stats *stats, weft_ps now)
{
	r->fabric = true;
	r->drops = (struct run_drops){
		.data = stats->dropped_data,
		.control = stats->dropped_control,
		.down = stats->dropped_down,
		.error = stats->dropped_error,
		.route = stats->dropped_route,
	};
	set_hops(r, stats);
	r->packets.trimmed = stats->trimmed;
	r->packets.dropped = sum_drops(&r->drops);
	r->packets.marked = stats->marked;
	r->queue_max_bytes = stats->max_queue_bytes;
	if (now && stats->ports)
		r->queue_mean_bytes = (double)stats->queue_byte_ps * (1 << 20) / (double)now / (double)stats->ports;
	r->credits = stats->credits;
	r->pauses = stats->pauses;
	r->paused_us = (double)stats->paused_ns / 1e3;
	r->events = stats->events;
	r->packet_hops = stats->hops;
	r->digest = stats->digest;
}

void result_add_host_drops(struct run_result *r, uint64_t pkts)
{
	r->drops.host += pkts;
	r->packets.dropped = sum_drops(&r->drops);
}

void result_set_reordering(struct run_result *r, const struct reorder_sum *sum)
{
	struct run_reordering *o = &r->order;
	double share = r->flow_count ? 1.0 / r->flow_count : 0;
	*o = (struct run_reordering){
		.known = sum->packets > 0,
		.packets = sum->packets,
		.reordered = sum->reordered,
		.beyond = sum->beyond,
		.extent_p50 = reorder_percentile(sum, 0.50),
		.extent_p99 = reorder_percentile(sum, 0.99),
		.extent_max = sum->extent_max,
		.ooo_p50 = reorder_wait_percentile(sum, 0.50),
		.ooo_p99 = reorder_wait_percentile(sum, 0.99),
	};
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct reorder_counts *c = &r->flows[i].order;
		o->ooo_max = c->ooo_max > o->ooo_max ? c->ooo_max : o->ooo_max;
		o->dup_acks_max = c->dup_acks > o->dup_acks_max ? c->dup_acks : o->dup_acks_max;
		o->dup_ack_flows += c->dup_acks ? share : 0;
		o->dup_ack3_flows += c->dup_acks >= REORDER_THRESHOLD ? share : 0;
		o->reorder_ack_flows += c->reorder_dup_acks ? share : 0;
		o->reorder_ack3_flows += c->reorder_dup_acks >= REORDER_THRESHOLD ? share : 0;
	}
}

uint64_t result_max_rss_kib(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss;
}
