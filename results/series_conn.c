/* SPDX-License-Identifier: BSD-3-Clause */
#include "series_conn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static const struct weft_mem libc_mem;

/* What a row tells. Compared as bytes: made of zeros first. */
struct conn_values {
	uint64_t inflight_bytes;
	weft_ns srtt_ns, brtt_ns;
	uint32_t cwnd_bytes, cached_evs;
	int32_t ev;
	uint32_t frozen;
};

struct conn_state {
	struct conn_values values;
	weft_ps row_at; /* time of the last row */
};

int series_conns_open(struct series_conns *c, const char *dir, struct weft_err *err)
{
	u64map_init(&c->last, &libc_mem);
	return csv_open(&c->csv, dir, "conns.csv",
			"time_us,src,dst,cwnd_bytes,inflight_bytes,srtt_us,brtt_us,cached_evs,frozen,ev", err);
}

static void write_row(const struct series_conns *c, weft_ps at, uint32_t dst, const struct conn_values *v)
{
	fprintf(c->csv.file, "%.3f,%u,%u,%u,%" PRIu64 ",%.3f,%.3f,%u,%u,", csv_us(at), c->host, dst, v->cwnd_bytes,
		v->inflight_bytes, (double)v->srtt_ns / 1e3, (double)v->brtt_ns / 1e3, v->cached_evs, v->frozen);
	if (v->ev >= 0)
		fprintf(c->csv.file, "%d", v->ev);
	putc('\n', c->csv.file);
}

static struct conn_state *state_of(struct series_conns *c, uint64_t key)
{
	struct conn_state *s = u64map_get(&c->last, key);
	if (s)
		return s;
	s = calloc(1, sizeof *s);
	if (s && u64map_put(&c->last, key, s)) {
		s->row_at = WEFT_NEVER;
		return s;
	}
	free(s);
	weft_err_set(&c->broken, -ENOMEM, "no memory for a time series of connections");
	return NULL;
}

static void look(void *arg, const struct weft_conn_view *view)
{
	struct series_conns *c = arg;
	if (view->background || view->apart)
		return;
	uint32_t dst = weft_ip_low32(view->ip) - weft_net_host_ip(0);
	struct conn_state *s = state_of(c, (uint64_t)c->host << 32 | dst);
	struct conn_values v;
	if (!s)
		return;
	memset(&v, 0, sizeof v);
	v.inflight_bytes = view->inflight_bytes;
	v.srtt_ns = view->srtt_ns;
	v.brtt_ns = view->brtt_ns;
	v.cwnd_bytes = view->cwnd_bytes;
	v.cached_evs = view->lb.cached_evs;
	v.ev = view->ev;
	v.frozen = view->lb.frozen;
	if (s->row_at != WEFT_NEVER && !memcmp(&v, &s->values, sizeof v))
		return;
	/* What held until the last sample, so that a line drawn between rows does not begin to rise long before. */
	if (s->row_at != WEFT_NEVER && s->row_at < c->since)
		write_row(c, c->since, dst, &s->values);
	write_row(c, c->now, dst, &v);
	s->values = v;
	s->row_at = c->now;
	c->active = true;
}

void series_conns_begin(struct series_conns *c, weft_ps since, weft_ps now)
{
	c->since = since;
	c->now = now;
	c->active = false;
}

void series_conns_host(struct series_conns *c, uint32_t host, const struct weft_engine *engine)
{
	c->host = host;
	if (engine)
		weft_engine_view(engine, look, c);
}

int series_conns_check(const struct series_conns *c, struct weft_err *err)
{
	return c->broken.msg[0] ? weft_err_set(err, -ENOMEM, "%s", c->broken.msg) : csv_check(&c->csv, err);
}

int series_conns_close(struct series_conns *c, struct weft_err *err)
{
	for (uint32_t i = 0; c->last.count && i <= c->last.mask; i++)
		free(c->last.slots[i].value);
	if (c->last.mem)
		u64map_fini(&c->last);
	return csv_close(&c->csv, err);
}
