/* SPDX-License-Identifier: BSD-3-Clause */
#include "series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "csv.h"
#include "name_match.h"
#include "series_conn.h"
#include "series_credit.h"
#include "series_flow.h"

/* A port as of the last sample. */
struct series_port {
	struct weft_port_counts counts;
	double unsent_bytes; /* of the packet in service, not on the link yet */
	uint32_t id;
	bool idle;      /* its last row says that nothing happens, or there is none */
	weft_ps row_at; /* of the last row; WEFT_NEVER: there is none */
};

struct series {
	struct lab *lab;
	const char *dir; /* the caller's */
	struct csv ports_csv;
	struct series_conns conns;
	struct series_flows flows;
	struct series_credits credits;
	struct series_port *ports; /* those that were asked for */
	uint32_t port_count;
	weft_ps since; /* the last sample */
};

static int choose_ports(struct series *s, const char *patterns, struct weft_err *err)
{
	const struct weft_net *net = lab_net(s->lab);
	uint32_t all = weft_net_port_count(net);
	s->ports = calloc(all, sizeof *s->ports);
	if (!s->ports)
		return weft_err_set(err, -ENOMEM, "no memory for a time series of %u ports", all);
	for (uint32_t id = 0; id < all; id++) {
		struct weft_port_info info;
		weft_net_port_info(net, id, &info);
		if (!patterns || match_any(patterns, info.name))
			s->ports[s->port_count++] = (struct series_port){.id = id, .idle = true, .row_at = WEFT_NEVER};
	}
	if (!s->port_count)
		return weft_err_set(err, -EINVAL, "series-ports: no port is called '%.80s'", patterns);
	return 0;
}

static int open_samples(struct series *s, const struct outputs_conf *conf, struct weft_err *err)
{
	series_credits_open(&s->credits, conf->dir);
	int rc = choose_ports(s, conf->series_ports, err);
	if (!rc)
		rc = csv_open(&s->ports_csv, conf->dir, "ports.csv",
			      "time_us,port,queue_bytes,utilisation,tx_bytes,marked,trimmed,dropped,"
			      "credits_dropped,credits_marked",
			      err);
	if (!rc)
		rc = series_conns_open(&s->conns, conf->dir, err);
	return rc ? rc : series_flows_open(&s->flows, s->lab, conf->dir, err);
}

int series_open(struct lab *lab, const struct outputs_conf *conf, struct series **out, struct weft_err *err)
{
	int rc = file_make_dir(conf->dir, err);
	if (rc)
		return rc;
	struct series *s = calloc(1, sizeof *s);
	if (!s)
		return weft_err_set(err, -ENOMEM, "no memory");
	s->lab = lab;
	s->dir = conf->dir;
	rc = conf->series_ns ? open_samples(s, conf, err) : 0;
	if (rc) {
		series_close(s, 0, false, NULL);
		return rc;
	}
	*out = s;
	return 0;
}

/* Share of a time, 0 to 1. */
static double share_of(double busy_ps, weft_ps time)
{
	double share = time ? busy_ps / (double)time : 0;
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

static double utilisation(double bytes, uint64_t bps, weft_ps time)
{
	return share_of(bytes * 8e12 / (double)bps, time);
}

static bool port_moved(const struct weft_port_counts *was, const struct weft_port_counts *is)
{
	return is->sent_bytes != was->sent_bytes || is->queue_bytes || is->marked != was->marked ||
	       is->trimmed != was->trimmed || is->dropped != was->dropped ||
	       is->credits.dropped != was->credits.dropped;
}

static void write_idle_port(const struct series *s, const char *name, weft_ps at)
{
	fprintf(s->ports_csv.file, "%.3f,%s,0,0,0,0,0,0,0,0\n", csv_us(at), name);
}

/* Writes the row of the port's interval, and rows of zeros at both ends of a pause. True: it has written something. */
static bool sample_port(struct series *s, struct series_port *p, weft_ps now)
{
	const struct weft_net *net = lab_net(s->lab);
	struct weft_port_info info;
	struct weft_port_counts is, was = p->counts;
	weft_net_port_counts(net, p->id, &is);
	bool moved = port_moved(&was, &is) || p->unsent_bytes > 0;
	if (!moved && p->idle)
		return false;
	weft_net_port_info(net, p->id, &info);
	if (moved && p->idle && p->row_at != s->since)
		write_idle_port(s, info.name, s->since);
	p->idle = !moved;
	p->row_at = now;
	if (!moved) {
		write_idle_port(s, info.name, now);
		return true;
	}
	double unsent = is.busy_until > now ? (double)(is.busy_until - now) * (double)info.bps / 8e12 : 0;
	double sent = (double)(is.sent_bytes - was.sent_bytes) + p->unsent_bytes - unsent;
	fprintf(s->ports_csv.file,
		"%.3f,%s,%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
		csv_us(now), info.name, is.queue_bytes, utilisation(sent, info.bps, now - s->since),
		is.sent_bytes - was.sent_bytes, is.marked - was.marked, is.trimmed - was.trimmed,
		is.dropped - was.dropped, is.credits.dropped - was.credits.dropped,
		is.credits.marked - was.credits.marked);
	p->counts = is;
	p->unsent_bytes = unsent;
	return true;
}

int series_sample(struct series *s, weft_ps now, bool *active, struct weft_err *err)
{
	uint32_t hosts = weft_net_hosts(lab_net(s->lab));
	*active = false;
	for (uint32_t i = 0; i < s->port_count; i++)
		*active |= sample_port(s, &s->ports[i], now);
	series_conns_begin(&s->conns, s->since, now);
	series_credits_begin(&s->credits, now);
	for (uint32_t h = 0; h < hosts; h++) {
		series_conns_host(&s->conns, h, lab_engine(s->lab, h));
		series_credits_host(&s->credits, h, lab_engine(s->lab, h));
	}
	*active |= s->conns.active || s->credits.active;
	*active |= series_flows_sample(&s->flows, s->lab, s->since, now);
	s->since = now;
	int rc = csv_check(&s->ports_csv, err);
	if (!rc)
		rc = csv_check(&s->flows.csv, err);
	if (!rc)
		rc = series_credits_check(&s->credits, err);
	return rc ? rc : series_conns_check(&s->conns, err);
}

void series_skip(struct series *s, weft_ps until)
{
	s->since = until;
}

/* Ports of one switch in one direction: those that packets are spread over. */
static bool same_group(const struct weft_port_info *a, const struct weft_port_info *b)
{
	return a->dir == b->dir && a->tier == b->tier && a->sw == b->sw;
}

/* Bytes of the group that begins at port `first`; *count is how many ports it has. */
static uint64_t group_bytes(const struct weft_net *net, uint32_t first, uint32_t *count)
{
	struct weft_port_info leader, info;
	uint64_t bytes = 0;
	weft_net_port_info(net, first, &leader);
	for (*count = 0; !weft_net_port_info(net, first + *count, &info) && same_group(&leader, &info); ++*count)
		bytes += info.counts.sent_bytes;
	return bytes;
}

static void write_links(const struct weft_net *net, weft_ps now, FILE *file)
{
	for (uint32_t first = 0, count; first < weft_net_port_count(net); first += count) {
		uint64_t all = group_bytes(net, first, &count);
		for (uint32_t id = first; id < first + count; id++) {
			struct weft_port_info info;
			weft_net_port_info(net, id, &info);
			uint64_t bytes = info.counts.sent_bytes;
			fprintf(file, "%s,%g,%" PRIu64 ",%" PRIu64 ",%.4f,%.4f,%.3f\n", info.name,
				(double)info.bps / 1e9, info.counts.sent_pkts, bytes,
				all ? (double)bytes / (double)all : 0, share_of((double)info.busy_ps, now),
				(double)info.counts.paused_ns / 1e3);
		}
	}
}

/* The end of the run. */
static int finish(struct series *s, weft_ps now, struct weft_err *err)
{
	bool active;
	int rc = s->ports_csv.file && now > s->since ? series_sample(s, now, &active, err) : 0;
	struct csv csv = {0};
	if (!rc)
		rc = csv_open(&csv, s->dir, "links.csv", "port,gbps,packets,bytes,share,utilisation,paused_us", err);
	if (rc)
		return rc;
	write_links(lab_net(s->lab), now, csv.file);
	return csv_close(&csv, err);
}

int series_close(struct series *s, weft_ps now, bool whole, struct weft_err *err)
{
	if (!s)
		return 0;
	int rc = whole ? finish(s, now, err) : 0;
	int ports = csv_close(&s->ports_csv, rc ? NULL : err);
	rc = rc ? rc : ports;
	int conns = series_conns_close(&s->conns, rc ? NULL : err);
	rc = rc ? rc : conns;
	int flows = series_flows_close(&s->flows, rc ? NULL : err);
	rc = rc ? rc : flows;
	int credits = series_credits_close(&s->credits, rc ? NULL : err);
	rc = rc ? rc : credits;
	free(s->ports);
	free(s);
	return rc;
}
