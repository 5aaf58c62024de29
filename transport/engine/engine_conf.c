/* SPDX-License-Identifier: BSD-3-Clause */
/* From a configuration to an engine, and back to nothing. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "engine_state.h"
#include "ip_key.h"

/* Before the first RTT sample, rate not told: a window of 10 full packets at 4 Mb/s. TCP waits a second (RFC 6298). */
#define FIRST_RTO_NS WEFT_MS(100)

enum {
	BRTT_GUESS_NS = 100000, /* until a probe has measured it */
	RTO_SRTTS = 4,          /* rate not told: the largest RTT of so many smoothed ones leads to the RTO */
	RTO_BRTTS = 7,          /* SMaRTT sec. III-D */
	REORDER_BRTTS = 3,
	TX_BACKLOG_PKTS = 2,     /* full packets at the port while the link is busy */
	RUD_SES_BYTES = 12 + 44, /* PDS request and standard SES header */
	DEMAND_BYTES = 4,        /* what a request with congestion control state is longer */
	ACKS_PER_WINDOW = 8,     /* with cc auto */
	TIMEOUT_PROBES = 32,     /* the same */
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
	TUNE32(probe_rate, 0, 0, 2,
	       "link_bps is 0: true, 1: an upper bound, lowered to what gets through, 2: not known, and found by "
	       "windows that double per round trip; always 2 where neither link_bps nor the port says anything"),
	TUNE64(brtt_ns, 0, 0, 10000000000, "base RTT of a full packet on the longest idle path, ns; 0: probed"),
	TUNE64(brtt_floor_ns, 0, 0, 10000000000, "measured base RTTs never go below this, ns"),
	TUNE32(brtt_floor_pkts, 0, 0, 1000,
	       "nor below the time our link takes for so many full packets; 0: 5 where probe_rate is not 0, else 1"),
	TUNE64(brtt_window_ns, 10000000000, 1000000, 3600000000000,
	       "base RTTs are the smallest sample, and measured anew after this time, ns"),
	TUNE64(rto_ns, 0, 0, 60000000000, "retransmission timeout, ns; 0: 7 base RTTs"),
	TUNE64(rto_max_ns, 8000000000, 1000, 60000000000, "ceiling of the retransmission timeout's back-off, ns"),
	TUNE64(rtt_memory_ns, 0, 0, 4000000000,
	       "the largest RTT of at least this time counts for timeouts, ns; 0: of two timeouts"),
	TUNE64(reorder_ns, 0, 0, 60000000000,
	       "lost when a packet sent this much later was acknowledged, ns; 0: 3 base RTTs or the largest recent "
	       "RTT"),
	TUNE64(ack_delay_ns, 0, 0, 1000000000, "longest wait of a coalesced ACK, ns; 0: half a base RTT"),
	TUNE64(peer_timeout_ns, 5000000000, 1000, 3600000000000, "silence after which a peer's operations fail, ns"),
	TUNE64(idle_close_ns, 1000000000, 0, 3600000000000, "idle connections are closed after this, ns; 0: never"),
	TUNE64(unexpected_bytes, 268435456, 0, 1099511627776,
	       "memory for messages that have no receive yet, bytes; a sender holds at most 4 times what is left"),
	TUNE64(pmtu_raise_ns, 600000000000, 1000, 86400000000000,
	       "packet sizes that a path did not carry are tried again after this, ns; with pmtu_discovery"),
	TUNE64(rndv_bytes, 0, 0, 4294967294,
	       "longer messages are announced and fetched by their receivers (rendezvous), bytes; 0: none is"),
	TUNE32(payload_bytes, 4096, 64, 8192,
	       "payload of a full packet (UET Payload MTU), bytes; with pmtu_discovery the largest"),
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
	TUNE32(validate, 1, 0, 2,
	       "who begins a connection to us shows first that its address is its own: 0: never, 1: while `half_open` "
	       "connections have not shown it, and before long answers, 2: always (a round trip more)"),
	TUNE32(half_open, 1024, 1, 32767, "... connections that have shown nothing, with validate=1"),
	TUNE32(profile, 0, 0, 3,
	       "peers are taken for 0: Wefts, 1, 2, 3: endpoints of UET's profiles AI Base, AI Full, HPC, which get no "
	       "announced messages before they have said that they are Wefts, no search for the path's MTU, 128 "
	       "packets "
	       "before their window is known, and payload_bytes is 1024, 2048, 4096 or 8192"),
	TUNE32(encap, 0, 0, 2,
	       "packets to peers that have begun nothing themselves have 0: UDP port 4793, 1: UDP port 49150, 2: IP "
	       "protocol "
	       "253 and a CRC32C trailer; others get what they use, and answers have what their request had"),
	TUNE32(evs_size, 65536, 1, 65536, "entropy values in use"),
	TUNE32(timeout_probes, 0, 0, 64,
	       "entropies that a round of probes tries, packets without payload, whenever a connection times out more "
	       "than once in a row, and between these timeouts; 0: none"),
	TUNE32(job_id, 0, 0, 0xffffff,
	       "job id of all requests sent; others are refused; 0: none is sent, any is taken"),
	TUNEON(trimming, 1, "the fabric trims: silent loss means a failed path"),
	TUNEON(crc, 0, "CRC32C trailer, sent and required; off: sent to peers that send one"),
	TUNEON(go_back_n, 0, "deliver in order: a loss repeats everything after it; for one path per connection"),
	TUNEON(lb_all_acked, 0,
	       "the load balancer learns the entropies of all packets of a coalesced ACK, not only its own"),
	TUNEON(pmtu_discovery, 0,
	       "find out what the path to each peer carries, by probes: 1024, 2048, 4096 ... payload_bytes"),
	TUNEON(pacing, 1, "hand packets to the port at link rate"),
	TUNEON(short_acks, 0,
	       "ACKs that tell of one packet and nothing else have no congestion state and no response; where all "
	       "peers are Wefts"),
	TUNEON(ack_burst, 0,
	       "one ACK for the packets of a connection that one poll finds, but for those with news of their own"),
	{0},
};

void weft_engine_tune_auto(struct weft_engine_tune *tune)
{
	tune->acks_per_window = ACKS_PER_WINDOW;
	tune->lb_all_acked = 1;
	tune->timeout_probes = TIMEOUT_PROBES;
}

static void *tune_copy(struct weft_engine *e, const void *given, const struct weft_param *table, size_t size)
{
	void *copy = weft_mem_alloc(&e->pds.mem, size ? size : 1);
	if (copy && given)
		memcpy(copy, given, size);
	else if (copy)
		weft_param_defaults(table, copy);
	return copy;
}

/* Receivers would take it for a Payload MTU of UET with a trailer. */
static bool seems_trailed(uint32_t payload_bytes)
{
	return payload_bytes == 1024 + 4 || payload_bytes == 2048 + 4 || payload_bytes == 4096 + 4;
}

static int check_packet_size(struct weft_engine *e, struct weft_err *err)
{
	uint8_t encap = e->pds.conf.encap;
	uint32_t headers = wire_encap_bytes(e->pds.conf.is_v4, encap) + wire_trailer_bytes(encap) + RUD_SES_BYTES +
			   (e->pds.credit.rcc ? DEMAND_BYTES : 0);
	uint32_t ip_bytes = headers + e->pds.conf.tune.payload_bytes;
	if (seems_trailed(e->pds.conf.tune.payload_bytes))
		return weft_err_set(err, -EINVAL, "payload_bytes %u looks like %u bytes and a CRC32C trailer",
				    e->pds.conf.tune.payload_bytes, e->pds.conf.tune.payload_bytes - 4);
	if (ip_bytes > e->pds.out.port->max_ip_bytes)
		return weft_err_set(err, -EINVAL, "payload_bytes %u needs IP packets of %u bytes, the port carries %u",
				    e->pds.conf.tune.payload_bytes, ip_bytes, e->pds.out.port->max_ip_bytes);
	e->pds.conf.overhead_bytes = headers + WEFT_L1_OVERHEAD_BYTES;
	e->pds.conf.full_wire_bytes = ip_bytes + WEFT_L1_OVERHEAD_BYTES;
	return 0;
}

/* Coalesced ones count in part. */
static uint32_t ack_bytes(const struct weft_engine *e)
{
	uint32_t bytes = WIRE_ACK_BYTES - WIRE_IP4_UDP_BYTES + wire_encap_bytes(e->pds.conf.is_v4, e->pds.conf.encap) +
			 wire_trailer_bytes(e->pds.conf.encap) + WEFT_L1_OVERHEAD_BYTES;
	return (bytes + e->pds.conf.tune.ack_every - 1) / e->pds.conf.tune.ack_every;
}

/* The rate that fits the first window of a link of which nothing is known. */
static uint64_t start_bps(const struct weft_engine *e, weft_ns brtt_ns)
{
	return (uint64_t)RATE_START_PKTS * e->pds.conf.full_wire_bytes * 8 * WEFT_S(1) / brtt_ns;
}

/* Of the longest path, as far as it is known; sets the floor under those that are measured. */
static weft_ns base_rtt(struct weft_engine *e, uint64_t told_bps)
{
	struct weft_engine_tune *t = &e->pds.conf.tune;
	if (t->probe_rate != RATE_TOLD && !t->brtt_floor_pkts)
		t->brtt_floor_pkts = RATE_FLOOR_PKTS;
	if (t->probe_rate != RATE_UNKNOWN) {
		weft_ns floor_ns = rate_floor_ns(told_bps, e->pds.conf.full_wire_bytes, t->brtt_floor_pkts);
		t->brtt_floor_ns = floor_ns > t->brtt_floor_ns ? floor_ns : t->brtt_floor_ns;
	}
	weft_ns brtt_ns = t->brtt_ns ? t->brtt_ns : BRTT_GUESS_NS;
	return brtt_ns > t->brtt_floor_ns ? brtt_ns : t->brtt_floor_ns;
}

/* Finding the rate, unless it was told. `told_bps` 0: nobody says anything. */
static void derive_rate(struct weft_engine *e, uint64_t told_bps)
{
	const struct weft_engine_tune *t = &e->pds.conf.tune;
	struct weft_cc_params params = e->pds.conf.cc_params;
	if (t->probe_rate == RATE_TOLD)
		return;
	params.link_bps = told_bps;
	rate_init(&e->pds.rate, e->pds.conf.cc, &params, t->probe_rate, t->brtt_floor_pkts,
		  e->pds.conf.overhead_bytes + e->pds.conf.sure_bytes);
	e->pds.conf.rto_srtts = RTO_SRTTS;
	e->pds.conf.first_rto_ns = t->probe_rate == RATE_UNKNOWN ? FIRST_RTO_NS : 0;
}

/* The rate at which the port is given packets; 0: as they come. */
static void set_pace(struct weft_engine *e, uint64_t bps)
{
	struct out_batch *out = &e->pds.out;
	out->link_pace = bps && e->pds.conf.tune.pacing ? (8 * WEFT_S(1) << 20) / bps : 0;
	out->link_backlog_ns = TX_BACKLOG_PKTS * (e->pds.conf.full_wire_bytes * out->link_pace >> 20);
}

static void derive(struct weft_engine *e)
{
	struct weft_engine_tune *t = &e->pds.conf.tune;
	uint64_t told_bps = t->link_bps ? t->link_bps : e->pds.out.port->link_bps;
	if (!told_bps)
		t->probe_rate = RATE_UNKNOWN;
	weft_ns brtt = base_rtt(e, told_bps);
	uint64_t bps = t->probe_rate == RATE_UNKNOWN ? start_bps(e, brtt) : told_bps;
	t->window_pkts = (t->window_pkts + 127) / 128 * 128;
	if (t->reorder_shim_ns)
		t->ack_burst = 0; /* an ACK at the end of a burst would tell of gaps that opened in it */
	e->pds.conf.cc_params = (struct weft_cc_params){bps,
							brtt,
							e->pds.conf.full_wire_bytes,
							t->trimming,
							e->pds.conf.cc_tune,
							ack_bytes(e),
							&e->pds.busy_conns};
	assert(bps > 0 && brtt > 0 && t->window_pkts % 128 == 0);
	uint64_t bdp_bytes = bps / 1000000 * brtt / 8000;
	uint64_t bdp_pkts = bdp_bytes / e->pds.conf.full_wire_bytes;
	e->pds.conf.lb_params.evs_size = t->evs_size;
	e->pds.conf.lb_params.bdp_pkts = bdp_pkts ? (uint32_t)bdp_pkts : 1;
	e->pds.conf.lb_params.brtt_ns = brtt;
	e->pds.conf.lb_params.payload_bytes = t->payload_bytes;
	e->pds.conf.sure_bytes =
		t->pmtu_discovery && t->payload_bytes > PATH_BASE_BYTES ? PATH_BASE_BYTES : t->payload_bytes;
	e->pds.conf.most_pkts = SENDQ_MAX / ((t->payload_bytes - 1) / e->pds.conf.sure_bytes + 1) - 1;
	e->pds.conf.lb_params.tune = e->pds.conf.lb_tune;
	e->pds.conf.background_lb_params = e->pds.conf.lb_params;
	e->pds.conf.background_lb_params.tune = e->pds.conf.background_lb_tune;
	e->pds.conf.rto_ns = t->rto_ns ? t->rto_ns : RTO_BRTTS * brtt;
	e->pds.conf.reorder_ns = t->reorder_ns ? t->reorder_ns : REORDER_BRTTS * brtt;
	e->pds.conf.ack_delay_ns = t->ack_delay_ns ? t->ack_delay_ns : brtt / 2;
	derive_rate(e, told_bps);
	sharers_init(&e->pds.sharers, t->probe_rate == RATE_UNKNOWN ? 0 : told_bps, brtt);
	set_pace(e, t->probe_rate == RATE_UNKNOWN ? 0 : bps);
	e->pds.conf.ask_below_bytes = (t->ack_every + 1) * e->pds.conf.full_wire_bytes;
	while (t->acks_per_window &&
	       UINT64_C(1) << e->pds.conf.ask_shift < (uint64_t)t->acks_per_window * e->pds.conf.full_wire_bytes)
		e->pds.conf.ask_shift++;
}

static int derive_credit(struct weft_engine *e, struct weft_err *err)
{
	if (!e->pds.credit.rcc)
		return 0;
	if (e->pds.conf.tune.probe_rate == RATE_UNKNOWN)
		return weft_err_set(
			err, -EINVAL,
			"%s grants credit at the rate of the link, which the port does not know: set link_bps",
			e->pds.credit.rcc->name);
	e->pds.credit.params = e->pds.conf.cc_params;
	e->pds.credit.params.tune = e->pds.credit.tune;
	e->pds.credit.rcc->limits(&e->pds.credit.params, &e->pds.credit.limits);
	if (e->pds.credit.limits.credit_bytes < e->pds.conf.full_wire_bytes ||
	    e->pds.credit.limits.credit_bytes > WEFT_RCC_MAX_BYTES)
		return weft_err_set(err, -EINVAL, "%s: %u bytes of credit ahead are not between one packet and 1 GiB",
				    e->pds.credit.rcc->name, e->pds.credit.limits.credit_bytes);
	if (e->pds.credit.limits.paths > e->pds.conf.tune.evs_size)
		return weft_err_set(err, -EINVAL, "%s: %u paths, but only %u entropy values (evs_size)",
				    e->pds.credit.rcc->name, e->pds.credit.limits.paths, e->pds.conf.tune.evs_size);
	return 0;
}

/* False: packets of this size are not UET's. */
static bool keep_to_standard(struct weft_engine_tune *t)
{
	uint32_t bytes = t->payload_bytes;
	t->pmtu_discovery = 0; /* a Payload MTU is the same everywhere */
	return bytes == 1024 || bytes == 2048 || bytes == 4096 || bytes == 8192;
}

/* Endpoints without UDP have a trailer always. */
static uint8_t encap_of(const struct weft_engine_tune *t)
{
	bool crc = t->crc || t->encap == WIRE_ENCAP_NATIVE;
	assert(t->encap <= WIRE_ENCAP_NATIVE);
	return (uint8_t)(t->encap | (crc ? WIRE_ENCAP_CRC : 0));
}

#define NOTHING_BEYOND "%s what arrives beyond a gap; with go_back_n nothing does"

static int setup(struct weft_engine *e, const struct weft_engine_conf *conf, weft_ns now, struct weft_err *err)
{
	assert(conf->cc && conf->lb);
	pds_init(&e->pds, &ses_events, &e->ses, now);
	ses_init(&e->ses, &e->pds);
	e->due_ns = WEFT_NEVER;
	e->ses.polled_ns = now;
	e->pds.conf.cc_tune = tune_copy(e, conf->cc_tune, conf->cc->tunes, conf->cc->tune_size);
	e->pds.conf.lb_tune = tune_copy(e, conf->lb_tune, conf->lb->tunes, conf->lb->tune_size);
	/* A background balancer that is the same one has the same parameters, too. */
	e->pds.conf.background_lb_tune =
		tune_copy(e, e->pds.conf.background_lb == conf->lb ? conf->lb_tune : NULL,
			  e->pds.conf.background_lb->tunes, e->pds.conf.background_lb->tune_size);
	e->pds.credit.tune = tune_copy(e, conf->rcc_tune, e->pds.credit.rcc ? e->pds.credit.rcc->tunes : NULL,
				       e->pds.credit.rcc ? e->pds.credit.rcc->tune_size : 0);
	if (!e->pds.conf.cc_tune || !e->pds.conf.lb_tune || !e->pds.conf.background_lb_tune || !e->pds.credit.tune)
		return weft_err_set(err, -ENOMEM, "no memory for an engine");
	if (e->pds.conf.tune.go_back_n && e->pds.conf.tune.dup_ack_threshold)
		return weft_err_set(err, -EINVAL, NOTHING_BEYOND, "dup_ack_threshold counts");
	if (e->pds.conf.tune.go_back_n && e->pds.conf.tune.reorder_shim_ns)
		return weft_err_set(err, -EINVAL, NOTHING_BEYOND, "reorder_shim_ns holds back");
	e->pds.conf.encap = encap_of(&e->pds.conf.tune);
	if (e->pds.conf.tune.profile != WEFT_PROFILE_WEFT && !keep_to_standard(&e->pds.conf.tune))
		return weft_err_set(err, -EINVAL,
				    "payload_bytes %u is not 1024, 2048, 4096 or 8192, as profiles of UET want",
				    e->pds.conf.tune.payload_bytes);
	int rc = check_packet_size(e, err);
	if (rc)
		return rc;
	derive(e);
	const struct weft_engine_tune *t = &e->pds.conf.tune;
	e->pds.conf.has_templates = e->pds.conf.is_v4;
	bool each = e->pds.conf.has_templates && !e->pds.conf.encap && t->ack_every == 1 && !t->ack_burst &&
		    !t->reorder_shim_ns;
	e->pds.conf.ack_policy = each ? PDS_ACK_EACH : PDS_ACK_SHARED;
	wire_rules_init(&e->rules, WIRE_UDP_PORT, e->pds.conf.tune.crc);
	wire_rules_set_dst(&e->rules, &e->pds.conf.ip);
	e->pds.conf.request_type = e->pds.conf.tune.go_back_n ? WIRE_PDS_ROD_REQ : WIRE_PDS_RUD_REQ;
	if (e->pds.credit.rcc)
		e->pds.conf.request_type = e->pds.conf.tune.go_back_n ? WIRE_PDS_ROD_CC_REQ : WIRE_PDS_RUD_CC_REQ;
	rc = derive_credit(e, err);
	if (!rc && pds_start(&e->pds, now))
		rc = weft_err_set(err, -ENOMEM, "no memory for an engine");
	return rc;
}

void weft_engine_link(struct weft_engine *e, uint64_t link_bps, weft_ns now)
{
	if (e->pds.conf.tune.probe_rate == RATE_TOLD || e->pds.conf.tune.link_bps)
		return;
	rate_set_bound(&e->pds.rate, link_bps);
	set_pace(e, link_bps);
	if (link_bps && e->pds.conf.tune.probe_rate == RATE_BOUND)
		sharers_set_link(&e->pds.sharers, link_bps);
}

/* By a hash of their own: what the seed means for everything else stays the same. */
static void begin_ids(struct weft_engine *e, uint64_t seed)
{
	assert(!e->ses.asks.count); /* tokens keep their indices */
	uint64_t h = rng_mix(rng_mix(seed ^ ip_mix(&e->pds.conf.ip, 1)));
	e->pds.ids.cursor = (uint16_t)h;
	e->ses.asks.salt = (uint16_t)(h >> 16);
}

/* What a peer may see of our numbers does not tell it the others. */
static void take_secret(struct weft_engine *e, const uint8_t *secret)
{
	struct pds *pds = &e->pds;
	assert(!e->ses.asks.count && !pds->ids.count);
	csprng_init(&pds->secret_rng, secret);
	pds->has_secret = true;
	pds->hash_key = (struct siphash_key){{csprng_next(&pds->secret_rng), csprng_next(&pds->secret_rng)}};
	pds->ids.shuffle = csprng_next(&pds->secret_rng) | 1;
	pds->ids.cursor = (uint16_t)csprng_next(&pds->secret_rng);
	e->ses.asks.salt = (uint16_t)csprng_next(&pds->secret_rng);
	pds->rng.state = csprng_next(&pds->secret_rng);
}

int weft_engine_create(const struct weft_engine_conf *conf, struct weft_port *port, weft_ns now,
		       struct weft_engine **out, struct weft_err *err)
{
	assert(conf && port && out);
	struct weft_engine *e = weft_mem_alloc(&conf->mem, sizeof *e);
	if (!e)
		return weft_err_set(err, -ENOMEM, "no memory for an engine");
	e->pds.mem = conf->mem;
	e->pds.out.port = port;
	e->pds.conf.ip = conf->ip;
	e->pds.conf.is_v4 = weft_ip_is_v4(&e->pds.conf.ip);
	e->pds.conf.cc = conf->cc;
	e->pds.conf.lb = conf->lb;
	e->pds.conf.data_dscp[0] = WIRE_DSCP_TRIMMABLE;
	e->pds.conf.data_dscp[1] = conf->background_ordered ? WIRE_DSCP_ORDERED : WIRE_DSCP_TRIMMABLE;
	e->pds.conf.background_lb = conf->lb_background ? conf->lb_background : conf->lb;
	e->pds.credit.rcc = conf->rcc;
	e->pds.conf.tune = conf->tune;
	e->pds.conf.lb_params.digits = conf->digits;
	e->pds.conf.lb_params.digits_read = conf->digits_read;
	e->pds.conf.lb_params.routes = conf->lb_routes;
	e->pds.conf.lb_params.oversubscribed = conf->oversubscribed;
	e->pds.conf.lb_params.host = weft_ip_low32(&conf->ip);
	e->pds.rng.state = rng_mix(conf->seed ^ ip_mix(&conf->ip, 0));
	if (conf->ids_by_seed)
		begin_ids(e, conf->seed);
	if (conf->secret)
		take_secret(e, conf->secret);
	int rc = setup(e, conf, now, err);
	if (rc)
		weft_engine_destroy(e);
	else
		*out = e;
	return rc;
}

void weft_engine_destroy(struct weft_engine *e)
{
	struct pds *pds = &e->pds;
	ses_stop(&e->ses);
	/* First the connections: endpoints that close would copy what is not sent yet. */
	list_for_each_safe (l, &pds->txs)
		pdc_tx_fail(pds, list_entry(l, struct pdc_tx, link), ECANCELED);
	ses_close_all(&e->ses);
	list_for_each_safe (l, &pds->rxs)
		pdc_rx_free(pds, list_entry(l, struct pdc_rx, link), e->ses.polled_ns);
	assert(list_empty(&pds->txs) && list_empty(&pds->rxs));
	assert(list_empty(&pds->ready) && list_empty(&pds->ack_due));
	ses_fini(&e->ses);
	pds_fini(pds);
	weft_mem_free(&pds->mem, pds->conf.cc_tune);
	weft_mem_free(&pds->mem, pds->conf.lb_tune);
	weft_mem_free(&pds->mem, pds->conf.background_lb_tune);
	weft_mem_free(&pds->mem, pds->credit.tune);
	struct weft_mem mem = pds->mem;
	weft_mem_free(&mem, e);
}
