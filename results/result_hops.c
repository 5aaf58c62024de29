/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the fabric packets waited and were lost, and how evenly: in a result's JSON, and back. */
#include <errno.h>
#include <stdio.h>

#include "result_int.h"

static const char *const dir_names[WEFT_PORT_DIRS] = {"nic", "host", "up", "down"};
static const char *const spread_names[SPREAD_DIRS] = {"up", "down"};

/* "leaf_up": the ports' tier and direction; false: switches of the tier have no such ports. */
static bool hop_name(uint32_t tier, uint32_t dir, char name[24])
{
	snprintf(name, 24, "%s_%s", weft_topo_tier_name(tier), dir_names[dir]);
	return dir == WEFT_PORT_UP || dir == (tier ? WEFT_PORT_DOWN : WEFT_PORT_HOST);
}

void result_set_hops(struct run_result *r, const struct weft_net_stats *stats)
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

static json_t *json_hop(const struct run_hop *h)
{
	return json_pack("{s:I,s:f,s:f,s:I,s:I}", "data", (json_int_t)h->data, "wait_mean_us", h->wait_mean_us,
			 "wait_max_us", h->wait_max_us, "dropped", (json_int_t)h->dropped, "trimmed",
			 (json_int_t)h->trimmed);
}

static json_t *json_hops(const struct run_result *r)
{
	json_t *hops = json_object();
	for (uint32_t tier = 0; tier < WEFT_TOPO_TIERS_MAX; tier++) {
		for (uint32_t dir = 0; dir < WEFT_PORT_DIRS; dir++) {
			const struct run_hop *h = &r->hops[tier][dir];
			char name[24];
			if (hop_name(tier, dir, name) && (h->data || h->dropped))
				json_object_set_new(hops, name, json_hop(h));
		}
	}
	return hops;
}

static json_t *json_spread(const struct run_result *r)
{
	json_t *spread = json_object();
	for (uint32_t dir = 0; dir < SPREAD_DIRS; dir++) {
		const struct spread_result *s = &r->spread[dir];
		json_object_set_new(spread, spread_names[dir],
				    json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:f}", "samples", (json_int_t)s->samples,
					      "sd_mean", s->sd_mean, "sd_max", s->sd_max, "mean", s->mean, "p99",
					      s->p99, "p99999", s->p99999, "max", s->max));
	}
	return spread;
}

int result_add_hops(json_t *json, const struct run_result *r)
{
	int rc = r->fabric ? json_object_set_new(json, "hops", json_hops(r)) : 0;
	if (!rc && r->spread[SPREAD_UP].samples)
		rc = json_object_set_new(json, "queue_spread", json_spread(r));
	return rc ? -ENOMEM : 0;
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static uint64_t count(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

void result_read_hops(const json_t *json, struct run_result *r)
{
	const json_t *hops = json_object_get(json, "hops"), *spread = json_object_get(json, "queue_spread");
	r->fabric = json_is_object(hops);
	for (uint32_t tier = 0; tier < WEFT_TOPO_TIERS_MAX; tier++) {
		for (uint32_t dir = 0; dir < WEFT_PORT_DIRS; dir++) {
			char name[24];
			hop_name(tier, dir, name);
			const json_t *h = json_object_get(hops, name);
			r->hops[tier][dir] =
				(struct run_hop){count(h, "data"), number(h, "wait_mean_us"), number(h, "wait_max_us"),
						 count(h, "dropped"), count(h, "trimmed")};
		}
	}
	for (uint32_t dir = 0; dir < SPREAD_DIRS; dir++) {
		const json_t *s = json_object_get(spread, spread_names[dir]);
		r->spread[dir] = (struct spread_result){count(s, "samples"), number(s, "sd_mean"), number(s, "sd_max"),
							number(s, "mean"),   number(s, "p99"),     number(s, "p99999"),
							number(s, "max")};
	}
}

void result_print_hops(const struct run_result *r, FILE *out)
{
	for (uint32_t tier = 0; tier < WEFT_TOPO_TIERS_MAX; tier++) {
		for (uint32_t dir = 0; dir < WEFT_PORT_DIRS; dir++) {
			const struct run_hop *h = &r->hops[tier][dir];
			char name[24];
			if (hop_name(tier, dir, name) && h->wait_max_us > 0)
				fprintf(out, "%-14s waiting mean %.3f, max %.1f us\n", name, h->wait_mean_us,
					h->wait_max_us);
		}
	}
	for (uint32_t dir = 0; dir < SPREAD_DIRS; dir++) {
		const struct spread_result *s = &r->spread[dir];
		if (s->samples)
			fprintf(out,
				"spread %-7s lengths mean %.3f, p99 %.2f packets; standard deviation over a leaf's "
				"links "
				"mean %.3f, max %.2f\n",
				spread_names[dir], s->mean, s->p99, s->sd_mean, s->sd_max);
	}
}
