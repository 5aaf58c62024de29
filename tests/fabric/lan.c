/* SPDX-License-Identifier: BSD-3-Clause */
#include "lan.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "text_file.h"

static struct weft_pkt *lan_pull(void *arg)
{
	struct lan_host *h = arg;
	struct weft_pkt *pkt = h->first;

	if (pkt && !(h->first = pkt->next))
		h->last = &h->first;
	return pkt;
}

/* A list of all classes: what waits before the first packet of these is passed by. */
static struct weft_pkt *pull_class(struct lan_host *h, uint8_t flags)
{
	struct weft_pkt **at = &h->first, *pkt;

	while (*at && !((*at)->flags & flags))
		at = &(*at)->next;
	pkt = *at;
	if (pkt && !(*at = pkt->next))
		h->last = at;
	return pkt;
}

static struct weft_pkt *lan_pull_control(void *arg)
{
	return pull_class(arg, WEFT_PKT_CONTROL);
}

static struct weft_pkt *lan_pull_credit(void *arg)
{
	return pull_class(arg, WEFT_PKT_CREDIT);
}

static void record(struct lan_host *h, const struct weft_pkt *pkt, weft_ps now)
{
	bool trimmed = pkt->flags & WEFT_PKT_TRIMMED, control = pkt->flags & WEFT_PKT_CONTROL;

	h->trimmed += trimmed;
	h->control += control && !trimmed;
	h->credits += (pkt->flags & WEFT_PKT_CREDIT) != 0;
	h->data += !control;
	h->marked += pkt->ecn == WEFT_ECN_CE;
	h->bytes += pkt->wire_bytes;
	h->last_at = now;
}

static void lan_deliver(void *arg, struct weft_pkt *pkt, weft_ps now)
{
	struct lan_host *h = arg;
	struct lan *lan = h->lan;

	record(h, pkt, now);
	if (lan->on_deliver)
		lan->on_deliver(h, pkt, now);
	if (h->ack_bytes && !(pkt->flags & WEFT_PKT_CONTROL) && h->data >= h->ack_from)
		lan_send(lan, now,
			 (struct lan_send){.src = h->id,
					   .dst = pkt->src - weft_net_host_ip(0),
					   .wire_bytes = h->ack_bytes,
					   .entropy = pkt->entropy,
					   .control = true});
	sim_slab_put(lan->slab, pkt);
}

static void lan_wake(void *arg, weft_ps now)
{
	struct lan_host *h = arg;

	h->wakes++;
	h->wake_at = now;
}

static const struct weft_nic_ops lan_ops = {.pull = lan_pull,
					    .deliver = lan_deliver,
					    .wake = lan_wake,
					    .pull_control = lan_pull_control,
					    .pull_credit = lan_pull_credit};

static void lan_free(void *arg, struct weft_pkt *pkt)
{
	struct lan *lan = arg;

	lan->freed++;
	sim_slab_put(lan->slab, pkt);
}

struct weft_net_conf lan_conf(void)
{
	return (struct weft_net_conf){.seed = 1, .mtu_bytes = LAN_MTU};
}

int lan_refused(const char *topology, uint64_t bps, struct weft_net_conf conf, struct weft_err *err)
{
	struct weft_topo topo;
	struct weft_net *net;

	conf.free_pkt = lan_free;
	assert_int_equal(weft_topo_preset(topology, bps, &topo, err), 0);
	int rc = weft_net_create(&conf, &topo, 0, &net, err);
	assert_int_not_equal(rc, 0);
	return rc;
}

void lan_open_topo(struct lan *lan, const struct weft_topo *topo, struct weft_net_conf conf)
{
	struct weft_err err = {""};

	*lan = (struct lan){.slab = sim_slab_create(1 << 20)};
	conf.free_pkt = lan_free;
	conf.free_arg = lan;
	if (weft_net_create(&conf, topo, 0, &lan->net, &err))
		fail_msg("%s", err.msg);
	lan->hosts = calloc(topo->hosts, sizeof *lan->hosts);
	for (uint32_t i = 0; i < topo->hosts; i++) {
		lan->hosts[i] = (struct lan_host){.lan = lan, .id = i, .last = &lan->hosts[i].first};
		weft_net_attach(lan->net, i, &lan_ops, &lan->hosts[i]);
	}
}

void lan_open(struct lan *lan, const char *topology, uint64_t bps, struct weft_net_conf conf)
{
	size_t len = 0;
	char *text = config_read(topology, &len);
	struct weft_err err = {""};
	struct weft_topo topo;
	int rc =
		text ? weft_topo_parse(text, len, topology, &topo, &err) : weft_topo_preset(topology, bps, &topo, &err);

	free(text);
	if (rc)
		fail_msg("%s", err.msg);
	weft_topo_set_bps(&topo, bps);
	lan_open_topo(lan, &topo, conf);
}

void lan_close(struct lan *lan)
{
	uint32_t hosts = weft_net_hosts(lan->net);

	weft_net_destroy(lan->net);
	for (uint32_t i = 0; i < hosts; i++)
		for (struct weft_pkt *pkt; (pkt = lan_pull(&lan->hosts[i]));)
			sim_slab_put(lan->slab, pkt);
	assert_int_equal(sim_slab_used(lan->slab), 0);
	sim_slab_destroy(lan->slab);
	free(lan->hosts);
}

/* Real headers, so that marking and trimming work on bytes. */
static struct weft_pkt *make_pkt(struct lan *lan, const struct lan_send *s, uint32_t i)
{
	struct weft_pkt *pkt = sim_slab_get(lan->slab);
	bool control = s->control || s->credit;
	uint32_t wire_bytes = s->wire_bytes ? s->wire_bytes : s->credit ? WEFT_WIRE_MIN_BYTES : LAN_MTU;
	struct plain_pkt w = {
		.net = {.src = weft_ip_v4(weft_net_host_ip(s->src)),
			.dst = weft_ip_v4(weft_net_host_ip(s->dst)),
			.entropy = (uint16_t)(s->entropy + (s->spray ? i : 0)),
			.dst_port = WIRE_UDP_PORT,
			.dscp = s->credit        ? WIRE_DSCP_CREDIT
				: s->control     ? WIRE_DSCP_CONTROL
				: s->no_trim     ? 0
				: s->ordered     ? WIRE_DSCP_ORDERED
				: s->unscheduled ? WIRE_DSCP_UNSCHEDULED
						 : WIRE_DSCP_TRIMMABLE,
			.ecn = s->control || s->no_ect ? WEFT_ECN_NOT : WEFT_ECN_ECT0},
		.pds = {.type = control ? WIRE_PDS_ACK : WIRE_PDS_RUD_REQ, .psn = i},
	};

	assert_non_null(pkt);
	size_t head = plain_encode(&w, pkt->head);
	w.payload_bytes = (uint16_t)(wire_bytes - WEFT_L1_OVERHEAD_BYTES - head);
	pkt->head_len = (uint16_t)plain_encode(&w, pkt->head);
	pkt->payload_len = w.payload_bytes;
	assert_true(wire_peek(pkt));
	assert_int_equal(pkt->wire_bytes, wire_bytes);
	return pkt;
}

void lan_queue(struct lan *lan, struct lan_send s)
{
	struct lan_host *h = &lan->hosts[s.src];

	for (uint32_t i = 0; i < (s.count ? s.count : 1); i++) {
		struct weft_pkt *pkt = make_pkt(lan, &s, i);
		pkt->next = NULL;
		*h->last = pkt;
		h->last = &pkt->next;
	}
}

void lan_send(struct lan *lan, weft_ps now, struct lan_send s)
{
	lan_queue(lan, s);
	weft_net_kick(lan->net, s.src, now);
}

struct weft_net_stats lan_stats(const struct lan *lan)
{
	struct weft_net_stats stats;

	weft_net_get_stats(lan->net, &stats);
	return stats;
}

uint64_t lan_data(const struct lan *lan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < weft_net_hosts(lan->net); i++)
		sum += lan->hosts[i].data;
	return sum;
}
