/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of an idle fabric: store and forward at each link, propagation, switch latency. */
#include "net_impl.h"

enum { PATH_LINKS_MAX = 2 * WEFT_TOPO_TIERS_MAX };

struct path {
	uint32_t links;
	uint64_t ps_per_byte[PATH_LINKS_MAX]; /* see PORT_PS_SHIFT */
	uint64_t pace[PATH_LINKS_MAX];        /* the same of all links together that are parallel to this one */
	bool alone[PATH_LINKS_MAX];           /* there is no other link for the last packet */
	weft_ps latency_ps[PATH_LINKS_MAX];   /* propagation, and the switch at the end of the link */
};

uint64_t path_ps_per_byte(uint64_t bps)
{
	assert(bps > 0);
	return (uint64_t)(((unsigned __int128)UINT64_C(8000000000000) << PORT_PS_SHIFT) / bps);
}

/* How many tiers a packet climbs. */
static uint32_t path_height(const struct weft_topo *t, uint32_t src, uint32_t dst)
{
	if (src / t->tier[0].radix_down == dst / t->tier[0].radix_down)
		return 1;
	return src / t->pod_hosts == dst / t->pod_hosts ? 2 : 3;
}

/* What a host's packets get of the tier's links in both directions: all of its leaf or pod. */
static uint64_t tier_ps_per_byte(const struct weft_topo *t, uint32_t tier, uint32_t host)
{
	if (tier == 0)
		return path_ps_per_byte(t->tier[0].down_bps);
	uint32_t group = host / (tier == 1 ? t->tier[0].radix_down : t->pod_hosts);
	return path_ps_per_byte(weft_topo_group_up_bps(t, tier - 1, group));
}

static void path_find(const struct weft_topo *t, uint32_t src, uint32_t dst, struct path *path)
{
	assert(src < t->hosts && dst < t->hosts);
	uint32_t height = path_height(t, src, dst);

	assert(height <= t->tiers);
	path->links = 2 * height;
	for (uint32_t i = 0; i < height; i++) {
		const struct weft_topo_tier *tier = &t->tier[i];
		uint32_t down = path->links - 1 - i;
		weft_ns switch_below_ns = i ? t->tier[i - 1].switch_latency_ns : 0;
		path->ps_per_byte[i] = path->ps_per_byte[down] = path_ps_per_byte(tier->down_bps);
		path->pace[i] = tier_ps_per_byte(t, i, src);
		path->pace[down] = tier_ps_per_byte(t, i, dst);
		path->alone[i] = path->pace[i] >= path->ps_per_byte[i];
		path->alone[down] = path->pace[down] >= path->ps_per_byte[down];
		path->latency_ps[i] = 1000 * (tier->down_latency_ns + tier->switch_latency_ns);
		path->latency_ps[down] = 1000 * (tier->down_latency_ns + switch_below_ns);
	}
}

static weft_ps bytes_ps(uint64_t bytes, uint64_t ps_per_byte)
{
	return (weft_ps)((unsigned __int128)bytes * ps_per_byte >> PORT_PS_SHIFT);
}

static weft_ps serialize_ps(const struct path *path, uint32_t link, uint64_t bytes)
{
	assert(link < path->links);
	return bytes_ps(bytes, path->ps_per_byte[link]);
}

static weft_ps later(weft_ps a, weft_ps b)
{
	return a > b ? a : b;
}

/* One packet alone, first bit out to last bit in. */
static weft_ps one_way_ps(const struct path *path, uint32_t bytes)
{
	weft_ps sum = 0;

	for (uint32_t i = 0; i < path->links; i++)
		sum += serialize_ps(path, i, bytes) + path->latency_ps[i];
	return sum;
}

weft_ps path_brtt_ps(const struct weft_topo *t, uint32_t mtu_bytes)
{
	struct path path;

	path_find(t, 0, t->hosts - 1, &path);
	return one_way_ps(&path, mtu_bytes) + one_way_ps(&path, NET_ACK_BYTES);
}

weft_ns weft_net_brtt_ns(const struct weft_net *net)
{
	return (net->brtt_ps + 999) / 1000;
}

/* The packets before the last one have left link i when the last of them has come and passed it, and not before all
 * have passed it and its parallel links at their pace, which begins when the first has come. The last packet follows
 * them where they share one link. */
static weft_ps flow_ps(const struct path *path, uint64_t before_bytes, uint32_t first_bytes, uint32_t last_bytes)
{
	assert(first_bytes <= before_bytes);
	weft_ps first_in = 0, before_in = 0, last_in = 0;

	for (uint32_t i = 0; i < path->links; i++) {
		weft_ps first_ps = serialize_ps(path, i, first_bytes);
		weft_ps all_ps =
			bytes_ps(first_bytes, path->pace[i]) + bytes_ps(before_bytes - first_bytes, path->pace[i]);
		weft_ps before_out = later(before_in + first_ps, first_in + all_ps);
		weft_ps start = path->alone[i] ? later(before_out, last_in) : last_in;
		last_in = start + serialize_ps(path, i, last_bytes) + path->latency_ps[i];
		first_in += first_ps + path->latency_ps[i];
		before_in = before_out + path->latency_ps[i];
	}
	return later(before_in, last_in);
}

weft_ps weft_net_ideal_cut_ps(const struct weft_net *net, uint32_t src, uint32_t dst, uint64_t wire_bytes_total,
			      uint32_t last_wire_bytes, uint32_t ack_wire_bytes, const struct weft_net_cut *cut)
{
	struct path there, back;
	uint64_t before = wire_bytes_total - last_wire_bytes;
	uint32_t first = before < net->conf.mtu_bytes ? (uint32_t)before : net->conf.mtu_bytes;

	path_find(&net->tree.topo, src, dst, &there);
	path_find(&net->tree.topo, dst, src, &back);
	for (uint32_t i = 0; cut && i < there.links; i++)
		there.pace[i] = i == cut->tier ? path_ps_per_byte(cut->bps) : 0;
	return flow_ps(&there, before, first, last_wire_bytes) + one_way_ps(&back, ack_wire_bytes);
}

weft_ps weft_net_ideal_ps(const struct weft_net *net, uint32_t src, uint32_t dst, uint64_t wire_bytes_total,
			  uint32_t last_wire_bytes, uint32_t ack_wire_bytes)
{
	return weft_net_ideal_cut_ps(net, src, dst, wire_bytes_total, last_wire_bytes, ack_wire_bytes, NULL);
}
