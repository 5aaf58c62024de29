/* SPDX-License-Identifier: BSD-3-Clause */
/* From a configuration to an engine, and back to nothing. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dgram.h"

enum {
	BRTT_GUESS_NS = 100000, /* until a probe has measured it */
	LINK_GUESS_GBPS = 10,   /* ports that do not know their rate */
	RTO_BRTTS = 7,          /* SMaRTT sec. III-D */
	REORDER_BRTTS = 3,
	TX_AHEAD_PKTS = 2,       /* full packets at the port while the link is busy */
	RUD_SES_BYTES = 12 + 44, /* PDS request and standard SES header */
	DEMAND_BYTES = 4,        /* what a request with congestion control state is longer */
};

#define TUNE(field, def, min, max, type, help)                                                                         \
	{                                                                                                              \
#field, help, def, min, max, offsetof(struct weft_engine_tune, field), type                            \
	}
#define TUNE64(field, def, min, max, help) TUNE(field, def, min, max, WEFT_PARAM_U64, help)
#define TUNE32(field, def, min, max, help) TUNE(field, def, min, max, WEFT_PARAM_U32, help)
#define TUNEON(field, def, help)           TUNE(field, def, 0, 1, WEFT_PARAM_BOOL, help)

const struct weft_param weft_engine_tunes[] = {
	TUNE64(link_bps, 0, 0, 10000000000000, "our link, bits per second; 0: what the port says"),
	TUNE64(brtt_ns, 0, 0, 10000000000, "base RTT of a full packet on the longest idle path, ns; 0: probed"),
	TUNE64(brtt_floor_ns, 0, 0, 10000000000, "measured base RTTs never go below this, ns"),
	TUNE64(rto_ns, 0, 0, 60000000000, "retransmission timeout, ns; 0: 7 base RTTs"),
	TUNE64(rto_max_ns, 8000000000, 1000, 60000000000, "ceiling of the retransmission timeout's back-off, ns"),
	TUNE64(reorder_ns, 0, 0, 60000000000,
	       "lost when a packet sent this much later was acknowledged, ns; 0: 3 base RTTs or the largest recent "
	       "RTT"),
	TUNE64(ack_delay_ns, 0, 0, 1000000000, "longest wait of a coalesced ACK, ns; 0: half a base RTT"),
	TUNE64(peer_timeout_ns, 5000000000, 1000, 3600000000000, "silence after which a peer's operations fail, ns"),
	TUNE64(idle_close_ns, 1000000000, 0, 3600000000000, "idle connections are closed after this, ns; 0: never"),
	TUNE64(unexpected_bytes, 268435456, 0, 1099511627776, "memory for messages that have no receive yet, bytes"),
	TUNE64(rndv_bytes, 0, 0, 4294967294,
	       "longer messages are announced and fetched by their receivers (rendezvous), bytes; 0: none is"),
	TUNE32(payload_bytes, 4096, 64, 8192, "payload of a full packet (UET Payload MTU), bytes"),
	TUNE32(ack_every, 1, 1, 64, "data packets per ACK"),
	TUNE32(acks_per_window, 0, 0, 256,
	       "ACKs a sender asks for in a window at least, however many packets the peer's ack_every coalesces; 0: "
	       "none"),
	TUNE32(dup_ack_threshold, 0, 0, 1024,
	       "lost when so many packets sent later were acknowledged, as with TCP (3); 0: by reorder_ns"),
	TUNE64(reorder_shim_ns, 0, 0, 1000000000,
	       "a target says nothing of packets beyond a gap for so long, ns, in case it closes by itself; 0: it "
	       "does"),
	TUNE32(reorder_shim_pkts, 64, 1, 32640, "... and of so many packets at most"),
	TUNE32(window_pkts, 1024, 128, 32640, "PSN window, packets; rounded up to a multiple of 128"),
	TUNE32(evs_size, 65536, 1, 65536, "entropy values in use"),
	TUNEON(trimming, 1, "the fabric trims: silent loss means a failed path"),
	TUNEON(crc, 0, "CRC32C trailer, sent and required"),
	TUNEON(go_back_n, 0, "deliver in order: a loss repeats everything after it; for one path per connection"),
	TUNEON(lb_all_acked, 0,
	       "the load balancer learns the entropies of all packets of a coalesced ACK, not only its own"),
	TUNEON(pacing, 1, "hand packets to the port at link rate"),
	TUNEON(ack_burst, 0,
	       "one ACK for the packets of a connection that one poll finds, but for those with news of their own"),
	{0},
};

static void *tune_copy(struct weft_engine *e, const void *given, const struct weft_param *table, size_t size)
{
	void *copy = weft_mem_alloc(&e->mem, size ? size : 1);
	if (copy && given)
		memcpy(copy, given, size);
	else if (copy)
		weft_param_defaults(table, copy);
	return copy;
}

static int check_packet_size(struct weft_engine *e, struct weft_err *err)
{
	uint32_t ip = e->is_v4 ? 20 : 40;
	uint32_t headers = ip + 8 + RUD_SES_BYTES + (e->rcc ? DEMAND_BYTES : 0) + (e->tune.crc ? 4 : 0);
	uint32_t ip_bytes = headers + e->tune.payload_bytes;
	if (ip_bytes > e->port->max_ip_bytes)
		return weft_err_set(err, -EINVAL, "payload_bytes %u needs IP packets of %u bytes, the port carries %u",
				    e->tune.payload_bytes, ip_bytes, e->port->max_ip_bytes);
	e->overhead_bytes = headers + WEFT_L1_OVERHEAD_BYTES;
	e->full_wire_bytes = ip_bytes + WEFT_L1_OVERHEAD_BYTES;
	return 0;
}

/* Coalesced ones count in part. */
static uint32_t ack_bytes(const struct weft_engine *e)
{
	uint32_t bytes = ACK_HEAD_BYTES + (e->is_v4 ? 0 : 20) + (e->tune.crc ? 4 : 0) + WEFT_L1_OVERHEAD_BYTES;
	return (bytes + e->tune.ack_every - 1) / e->tune.ack_every;
}

static void derive(struct weft_engine *e)
{
	struct weft_engine_tune *t = &e->tune;
	uint64_t bps = t->link_bps ? t->link_bps : e->port->link_bps;
	if (!bps)
		bps = LINK_GUESS_GBPS * UINT64_C(1000000000);
	weft_ns brtt = t->brtt_ns ? t->brtt_ns : BRTT_GUESS_NS;
	if (brtt < t->brtt_floor_ns)
		brtt = t->brtt_floor_ns;
	t->window_pkts = (t->window_pkts + 127) / 128 * 128;
	if (t->reorder_shim_ns)
		t->ack_burst = 0; /* an ACK at the end of a burst would tell of gaps that opened in it */
	e->cc_params = (struct weft_cc_params){bps, brtt, e->full_wire_bytes, t->trimming, e->cc_tune, ack_bytes(e)};
	uint64_t bdp_bytes = bps / 1000000 * brtt / 8000;
	uint64_t bdp_pkts = bdp_bytes / e->full_wire_bytes;
	e->lb_params.evs_size = t->evs_size;
	e->lb_params.bdp_pkts = bdp_pkts ? (uint32_t)bdp_pkts : 1;
	e->lb_params.brtt_ns = brtt;
	e->lb_params.payload_bytes = t->payload_bytes;
	e->lb_params.tune = e->lb_tune;
	e->background_lb_params = e->lb_params;
	e->background_lb_params.tune = e->background_lb_tune;
	e->rto_ns = t->rto_ns ? t->rto_ns : RTO_BRTTS * brtt;
	e->reorder_ns = t->reorder_ns ? t->reorder_ns : REORDER_BRTTS * brtt;
	e->ack_delay_ns = t->ack_delay_ns ? t->ack_delay_ns : brtt / 2;
	e->link_pace = t->pacing ? (8 * WEFT_S(1) << 20) / bps : 0;
	e->link_ahead_ns = TX_AHEAD_PKTS * (e->full_wire_bytes * e->link_pace >> 20);
	e->ask_below_bytes = (t->ack_every + 1) * e->full_wire_bytes;
	e->ack_each = t->ack_every == 1 && !t->ack_burst && !t->reorder_shim_ns;
	while (t->acks_per_window && UINT64_C(1) << e->ask_shift < (uint64_t)t->acks_per_window * e->full_wire_bytes)
		e->ask_shift++;
	e->rx_mask = 64;
	while (e->rx_mask < t->window_pkts)
		e->rx_mask *= 2;
	e->rx_mask--;
	pool_init(&e->windows, &e->mem, (e->rx_mask + 1) / 8 * 2, 4);
}

static int derive_credit(struct weft_engine *e, struct weft_err *err)
{
	if (!e->rcc)
		return 0;
	e->rcc_params = e->cc_params;
	e->rcc_params.tune = e->rcc_tune;
	e->rcc->limits(&e->rcc_params, &e->credit_limits);
	if (e->credit_limits.credit_bytes < e->full_wire_bytes || e->credit_limits.credit_bytes > WEFT_RCC_MAX_BYTES)
		return weft_err_set(err, -EINVAL, "%s: %u bytes of credit ahead are not between one packet and 1 GiB",
				    e->rcc->name, e->credit_limits.credit_bytes);
	if (e->credit_limits.paths > e->tune.evs_size)
		return weft_err_set(err, -EINVAL, "%s: %u paths, but only %u entropy values (evs_size)", e->rcc->name,
				    e->credit_limits.paths, e->tune.evs_size);
	return 0;
}

static void init_tables(struct weft_engine *e, weft_ns now)
{
	wheel_init(&e->wheel, now);
	list_init(&e->ready);
	list_init(&e->ack_due);
	list_init(&e->credit_wanting);
	list_init(&e->txs);
	list_init(&e->rxs);
	list_init(&e->eps);
	u64map_init(&e->syns, &e->mem);
	u64map_init(&e->remotes, &e->mem);
	u64map_init(&e->peer_ids, &e->mem);
	u64map_init(&e->rx_msgs, &e->mem);
	u64map_init(&e->mrs, &e->mem);
	list_init(&e->fetches);
	list_init(&e->stuck);
	pool_init(&e->tx_rmas, &e->mem, sizeof(struct tx_rma), 16);
	pool_init(&e->rx_rmas, &e->mem, sizeof(struct rx_rma), 16);
	pool_init(&e->tx_msgs, &e->mem, sizeof(struct tx_msg), 32);
	pool_init(&e->rx_msg_pool, &e->mem, sizeof(struct rx_msg), 32);
	pool_init(&e->rx_reqs, &e->mem, sizeof(struct rx_req), 32);
	pool_init(&e->cqe_nodes, &e->mem, sizeof(struct cqe_node), 64);
	dgram_init(e);
	pdc_ids_init(e);
	sendq_mem_init(&e->sendq_mem, &e->mem);
	e->now_ns = now;
	e->due_ns = WEFT_NEVER;
	e->credit_due_ns = WEFT_NEVER;
}

/* An ACK to nobody yet; what differs is patched in (wire_fill_ack). */
static void init_ack_head(struct weft_engine *e)
{
	struct wire_pkt ack = {
		.net = e->ack_scratch.net,
		.pds = {.type = WIRE_PDS_ACK_CC,
			.next_hdr = WIRE_NH_RSP,
			.cc_type = WIRE_CC_NSCC,
			.mpr = (uint8_t)(e->tune.window_pkts / 128)},
		.ses = {.opcode = WIRE_RSP_DEFAULT, .return_code = WIRE_RC_OK},
	};
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	ack.net.dst = weft_ip_v4(0);
	size_t bytes = wire_encode(&ack, buf);
	assert(bytes == sizeof e->ack_head);
	(void)bytes;
	memcpy(e->ack_head, buf, sizeof e->ack_head);
}

static void init_scratch(struct weft_engine *e)
{
	struct wire_net data = {.src = e->ip,
				.dst_port = WIRE_UDP_PORT,
				.dscp = WIRE_DSCP_TRIMMABLE,
				.ecn = WEFT_ECN_ECT0,
				.crc = e->tune.crc};
	e->data_scratch.net = data;
	e->data_scratch.has_ses = true;
	e->ack_scratch.net = data;
	e->ack_scratch.net.dscp = WIRE_DSCP_CONTROL;
	e->ack_scratch.net.ecn = WEFT_ECN_NOT;
	e->ack_scratch.has_ses = true;
	e->has_hot = e->is_v4 && !e->tune.crc;
	e->has_hot_data = e->has_hot && !e->rcc;
	if (e->is_v4)
		init_ack_head(e);
}

#define NOTHING_BEYOND "%s what arrives beyond a gap; with go_back_n nothing does"

static int setup(struct weft_engine *e, const struct weft_engine_conf *conf, weft_ns now, struct weft_err *err)
{
	init_tables(e, now);
	e->cc_tune = tune_copy(e, conf->cc_tune, conf->cc->tunes, conf->cc->tune_size);
	e->lb_tune = tune_copy(e, conf->lb_tune, conf->lb->tunes, conf->lb->tune_size);
	/* A background balancer that is the same one has the same parameters, too. */
	e->background_lb_tune = tune_copy(e, e->background_lb == conf->lb ? conf->lb_tune : NULL,
					  e->background_lb->tunes, e->background_lb->tune_size);
	e->rcc_tune = tune_copy(e, conf->rcc_tune, e->rcc ? e->rcc->tunes : NULL, e->rcc ? e->rcc->tune_size : 0);
	if (!e->cc_tune || !e->lb_tune || !e->background_lb_tune || !e->rcc_tune)
		return weft_err_set(err, -ENOMEM, "no memory for an engine");
	if (e->tune.go_back_n && e->tune.dup_ack_threshold)
		return weft_err_set(err, -EINVAL, NOTHING_BEYOND, "dup_ack_threshold counts");
	if (e->tune.go_back_n && e->tune.reorder_shim_ns)
		return weft_err_set(err, -EINVAL, NOTHING_BEYOND, "reorder_shim_ns holds back");
	int rc = check_packet_size(e, err);
	if (rc)
		return rc;
	derive(e);
	init_scratch(e);
	e->request_type = e->tune.go_back_n ? WIRE_PDS_ROD_REQ : WIRE_PDS_RUD_REQ;
	if (e->rcc)
		e->request_type = e->tune.go_back_n ? WIRE_PDS_ROD_CC_REQ : WIRE_PDS_RUD_CC_REQ;
	rc = derive_credit(e, err);
	if (!rc && sched_start(e, now))
		rc = weft_err_set(err, -ENOMEM, "no memory for an engine");
	return rc;
}

/* By a hash of their own: what the seed means for everything else stays the same. */
static void begin_ids(struct weft_engine *e, uint64_t seed)
{
	uint64_t h = rng_mix(rng_mix(seed ^ ip_key(&e->ip, 1)));
	e->pdc_cursor = (uint16_t)h;
	e->asks.salt = (uint16_t)(h >> 16);
}

int weft_engine_create(const struct weft_engine_conf *conf, struct weft_port *port, weft_ns now,
		       struct weft_engine **out, struct weft_err *err)
{
	struct weft_engine *e = weft_mem_alloc(&conf->mem, sizeof *e);
	if (!e)
		return weft_err_set(err, -ENOMEM, "no memory for an engine");
	e->mem = conf->mem;
	e->port = port;
	e->ip = conf->ip;
	e->is_v4 = weft_ip_is_v4(&e->ip);
	e->cc = conf->cc;
	e->lb = conf->lb;
	e->data_dscp[0] = WIRE_DSCP_TRIMMABLE;
	e->data_dscp[1] = conf->background_ordered ? WIRE_DSCP_ORDERED : WIRE_DSCP_TRIMMABLE;
	e->background_lb = conf->lb_background ? conf->lb_background : conf->lb;
	e->rcc = conf->rcc;
	e->tune = conf->tune;
	e->lb_params.digits = conf->digits;
	e->lb_params.digits_read = conf->digits_read;
	e->lb_params.routes = conf->lb_routes;
	e->rng.state = rng_mix(conf->seed ^ ip_key(&conf->ip, 0));
	if (conf->ids_by_seed)
		begin_ids(e, conf->seed);
	int rc = setup(e, conf, now, err);
	if (rc)
		weft_engine_destroy(e);
	else
		*out = e;
	return rc;
}

static void pkts_free(struct weft_engine *e)
{
	if (e->out_count)
		e->port->ops->free(e->port, e->out, (uint16_t)e->out_count);
	if (e->spare_count)
		e->port->ops->free(e->port, e->spare, (uint16_t)e->spare_count);
}

void weft_engine_destroy(struct weft_engine *e)
{
	e->destroying = true;
	/* First the connections: endpoints that close would copy what is not sent yet. */
	list_for_each_safe (l, &e->txs)
		pdc_tx_fail(e, list_entry(l, struct pdc_tx, link), ECANCELED);
	list_for_each_safe (l, &e->eps)
		weft_ep_close(list_entry(l, struct weft_ep, link));
	list_for_each_safe (l, &e->rxs)
		pdc_rx_free(e, list_entry(l, struct pdc_rx, link));
	pkts_free(e);
	peers_fini(e);
	u64map_fini(&e->syns);
	u64map_fini(&e->rx_msgs);
	rma_fini(e);
	pool_fini(&e->tx_msgs);
	pool_fini(&e->rx_msg_pool);
	pool_fini(&e->rx_reqs);
	pool_fini(&e->cqe_nodes);
	dgram_fini(e);
	pool_fini(&e->windows);
	sendq_mem_fini(&e->sendq_mem);
	sched_end(e);
	pdc_ids_fini(e);
	weft_mem_free(&e->mem, e->cc_tune);
	weft_mem_free(&e->mem, e->lb_tune);
	weft_mem_free(&e->mem, e->background_lb_tune);
	weft_mem_free(&e->mem, e->rcc_tune);
	struct weft_mem mem = e->mem;
	weft_mem_free(&mem, e);
}
