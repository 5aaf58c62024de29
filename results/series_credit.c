/* SPDX-License-Identifier: BSD-3-Clause */
#include "series_credit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static const struct weft_mem libc_mem;

void series_credits_open(struct series_credits *s, const char *dir)
{
	s->dir = dir;
	u64map_init(&s->last, &libc_mem);
}

static bool open_file(struct series_credits *s)
{
	if (!s->csv.file && !s->broken.msg[0])
		csv_open(&s->csv, s->dir, "credits.csv",
			 "time_us,src,dst,rate_permille,paths,valid,looks,slowest_permille,least_permille", &s->broken);
	return s->csv.file;
}

static struct weft_rcc_view *state_of(struct series_credits *s, uint64_t key)
{
	struct weft_rcc_view *last = u64map_get(&s->last, key);
	if (last)
		return last;
	last = calloc(1, sizeof *last);
	if (last && u64map_put(&s->last, key, last))
		return last;
	free(last);
	weft_err_set(&s->broken, -ENOMEM, "no memory for a time series of credits");
	return NULL;
}

static void look(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *v)
{
	struct series_credits *s = arg;
	uint32_t src = weft_ip_low32(ip) - weft_net_host_ip(0);
	struct weft_rcc_view *last = open_file(s) ? state_of(s, (uint64_t)s->host << 32 | src) : NULL;
	if (!last || !memcmp(last, v, sizeof *v))
		return;
	*last = *v;
	fprintf(s->csv.file, "%.3f,%u,%u,%u,%u,%u,%u,%u,%u\n", csv_us(s->now), src, s->host, v->rate_permille, v->paths,
		v->valid, v->looks, v->slowest_permille, v->least_permille);
	s->active = true;
}

void series_credits_begin(struct series_credits *s, weft_ps now)
{
	s->now = now;
	s->active = false;
}

void series_credits_host(struct series_credits *s, uint32_t host, const struct weft_engine *engine)
{
	s->host = host;
	if (engine)
		weft_engine_credit_view(engine, look, s);
}

int series_credits_check(const struct series_credits *s, struct weft_err *err)
{
	return s->broken.msg[0] ? weft_err_set(err, -EIO, "%s", s->broken.msg) : csv_check(&s->csv, err);
}

int series_credits_close(struct series_credits *s, struct weft_err *err)
{
	for (uint32_t i = 0; s->last.count && i <= s->last.mask; i++)
		free(s->last.slots[i].value);
	if (s->last.mem)
		u64map_fini(&s->last);
	return csv_close(&s->csv, err);
}
