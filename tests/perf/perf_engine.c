/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine costs: instructions per data packet from submission to the processed ACK, per empty poll, and bytes
 * per idle connection. SMaRTT and REPS, payload by reference. Both ends' instructions count. */
#include <stdbool.h>

#include "perf_case.h"
#include "ring_net.h"
#include "weft/engine.h"

enum { PAYLOAD = 4096, STEP_NS = 1000, PEERS = 256, QUIET_PEERS = 1000, PORT = 16, EVENTS = 8192 };

struct rig {
	struct ring_net net;
	struct weft_engine **engines;
	struct weft_ep **eps;
	uint32_t count;
	uint32_t others; /* endpoints of each engine beside its own, opened before */
	weft_ns now;
	uint64_t live_bytes; /* of the first engine */
	void *recorders[2];  /* of the first engines; NULL: none */
	uint8_t short_acks;  /* as in struct weft_engine_tune */
};

/* Sizes stand before the memory handed out. */
static void *count_alloc(void *arg, size_t bytes)
{
	uint64_t *p = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
	if (!p)
		return NULL;
	memset(p, 0, (bytes + 127) & ~(size_t)63);
	p[0] = bytes;
	*(uint64_t *)arg += bytes;
	return p + 8;
}

static void count_free(void *arg, void *p)
{
	if (!p)
		return;
	uint64_t *start = (uint64_t *)p - 8;
	*(uint64_t *)arg -= start[0];
	free(start);
}

/* Endpoints that do nothing, and then the one that the case uses. */
static bool open_eps(struct rig *r, uint32_t i)
{
	struct weft_ep *other;
	for (uint32_t n = 0; n < r->others; n++)
		if (weft_ep_open(r->engines[i], 0, 16, 16, &other, NULL))
			return false;
	return !weft_ep_open(r->engines[i], PORT, 64, 64, &r->eps[i], NULL);
}

/* An engine at port `i`; false when it could not be made. */
static bool add_engine(struct rig *r, uint32_t i)
{
	struct weft_engine_conf conf = {.ip = weft_ip_v4(RING_NET_BASE_IP + i),
					.cc = weft_cc_find("smartt"),
					.lb = weft_lb_find("reps"),
					.seed = i + 1};
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	conf.tune.link_bps = UINT64_C(100000000000);
	conf.tune.brtt_ns = 8 * STEP_NS;
	conf.tune.brtt_floor_ns = 8 * STEP_NS; /* the ring is faster, but the window shall be of a network's size */
	conf.tune.pacing = 0;
	conf.tune.short_acks = r->short_acks;
	if (i == 0)
		conf.mem = (struct weft_mem){count_alloc, count_free, &r->live_bytes};
	return !weft_engine_create(&conf, &r->net.ports[i].port, r->now, &r->engines[i], NULL) &&
	       !weft_engine_record(r->engines[i], i < 2 ? r->recorders[i] : NULL, weft_recorder_bytes(EVENTS)) &&
	       open_eps(r, i);
}

static bool rig_open(struct rig *r, uint32_t count)
{
	r->count = count;
	r->now = 1000000;
	ring_net_open(&r->net, count, 4096 + 64 * count); /* engines keep some in hand */
	r->engines = calloc(count, sizeof(void *));
	r->eps = calloc(count, sizeof(void *));
	for (uint32_t i = 0; i < count; i++) {
		if (!r->engines || !r->eps || !add_engine(r, i))
			return false;
	}
	return true;
}

static void rig_close(struct rig *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		weft_engine_destroy(r->engines[i]);
	free(r->engines);
	free(r->eps);
	ring_net_close(&r->net);
}

static void sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	*(uint64_t *)arg += data ? len : 0;
}

static bool submit(struct rig *r, uint32_t at, uint32_t other, struct weft_op op)
{
	struct weft_addr addr = {weft_ip_v4(RING_NET_BASE_IP + other), PORT};
	return !weft_peer_add(r->engines[at], &addr, &op.peer) && !weft_submit(r->eps[at], &op);
}

static void step(struct rig *r)
{
	r->now += STEP_NS;
	r->net.now_ns = r->now;
}

/* Polls engines 0..count-1 until `want` completions came at engine 0. */
__attribute__((noinline)) static void measured_transfer(struct rig *r, uint32_t count, unsigned want)
{
	struct weft_cqe cqe;
	for (unsigned got = 0; got < want;) {
		for (uint32_t i = 0; i < count; i++)
			weft_engine_poll(r->engines[i], r->now);
		got += weft_cq_take(r->eps[0], &cqe, 1);
		step(r);
	}
}

/* One message of n packets from 0 to 1. */
static int run_packets_with(struct rig *rig, uint64_t n)
{
	struct rig r = *rig;
	uint64_t received = 0;
	uint8_t *payload = calloc(n, PAYLOAD);
	if (!payload || !rig_open(&r, 2))
		return 0;
	struct weft_op recv = {.kind = WEFT_OP_TRECV, .len = n * PAYLOAD, .sink = sink, .sink_arg = &received};
	struct weft_op send = {.kind = WEFT_OP_TSEND, .buf = payload, .len = n * PAYLOAD};
	if (!submit(&r, 1, 0, recv) || !submit(&r, 0, 1, send))
		return 0;
	weft_engine_poll(r.engines[1], r.now); /* posts the receive before anything arrives */
	measured_transfer(&r, 2, 1);
	const struct weft_stats *s = weft_engine_stats(r.engines[0]);
	int ok = received == n * PAYLOAD && s->tx_data == n && s->rx_ack == n && s->tx_retx == 0;
	rig_close(&r);
	free(payload);
	return ok;
}

static int run_packets(const struct perf_case *c, uint64_t n)
{
	struct rig r = {0};
	return run_packets_with(&r, n);
}

static int run_short_acks(const struct perf_case *c, uint64_t n)
{
	struct rig r = {.short_acks = 1};
	return run_packets_with(&r, n);
}

/* The same while both engines record. */
static int run_recorded(const struct perf_case *c, uint64_t n)
{
	struct rig r = {0};
	int ok = 0;
	size_t bytes = weft_recorder_bytes(EVENTS);
	for (int i = 0; i < 2; i++)
		r.recorders[i] = aligned_alloc(64, bytes);
	if (r.recorders[0] && r.recorders[1])
		ok = run_packets_with(&r, n);
	free(r.recorders[0]);
	free(r.recorders[1]);
	return ok;
}

/* One READ of n packets by 0 from memory of 1. */
static int run_read(const struct perf_case *c, uint64_t n)
{
	struct rig r = {0};
	struct weft_mr *mr;
	uint64_t received = 0;
	uint8_t *memory = calloc(n, PAYLOAD);
	if (!memory || !rig_open(&r, 2))
		return 0;
	const struct weft_mr_attr attr = {.key = 1, .base = memory, .bytes = n * PAYLOAD, .access = WEFT_MR_READ};
	struct weft_op read = {
		.kind = WEFT_OP_READ, .len = n * PAYLOAD, .rkey = 1, .sink = sink, .sink_arg = &received};
	if (weft_mr_add(r.engines[1], &attr, &mr) || !submit(&r, 0, 1, read))
		return 0;
	measured_transfer(&r, 2, 1);
	rig_close(&r);
	free(memory);
	return received == n * PAYLOAD;
}

/* A small message from engine 0 to each of the others and back, until all is quiet. Not measured. */
static bool talk_to_all(struct rig *r)
{
	static uint8_t byte;
	uint64_t received = 0;
	struct weft_cqe cqe;
	for (uint32_t i = 1; i < r->count; i++) {
		struct weft_op recv = {.kind = WEFT_OP_TRECV, .len = 1, .sink = sink, .sink_arg = &received};
		struct weft_op send = {.kind = WEFT_OP_TSEND, .buf = &byte, .len = 1};
		if (!submit(r, i, 0, recv) || !submit(r, 0, i, send) || !submit(r, 0, i, recv) ||
		    !submit(r, i, 0, send))
			return false;
		for (int poll = 0; poll < 1000; poll++) {
			weft_engine_poll(r->engines[0], r->now);
			weft_engine_poll(r->engines[i], r->now);
			weft_cq_take(r->eps[0], &cqe, 1);
			step(r);
		}
	}
	return received == 2 * ((uint64_t)r->count - 1);
}

__attribute__((noinline)) static void measured_poll(struct weft_engine *e, weft_ns now)
{
	weft_engine_poll(e, now);
}

/* Polls an engine that has connections and nothing to do. */
static int run_idle(const struct perf_case *c, uint64_t n)
{
	struct rig r = {0};
	if (!rig_open(&r, PEERS + 1) || !talk_to_all(&r))
		return 0;
	for (uint64_t i = 0; i < n; i++)
		measured_poll(r.engines[0], r.now);
	rig_close(&r);
	return 1;
}

__attribute__((noinline)) static bool measured_submission(struct rig *r, const struct weft_op *op)
{
	bool taken = !weft_submit(r->eps[0], op);
	weft_engine_poll(r->engines[0], r->now);
	return taken;
}

/* The cheapest submission there is, at one endpoint of `arg`, and the poll that takes it. */
static int run_submissions(const struct perf_case *c, uint64_t n)
{
	struct rig r = {.others = *(const uint32_t *)c->arg - 1};
	const struct weft_op cancel = {.kind = WEFT_OP_CANCEL};
	bool ok = rig_open(&r, 1);
	for (uint64_t i = 0; ok && i < n; i++)
		ok = measured_submission(&r, &cancel);
	rig_close(&r);
	return ok;
}

/* The poll that receives a message of one packet, whose receive waits, for one endpoint of `arg`. */
static int run_messages(const struct perf_case *c, uint64_t n)
{
	static uint8_t byte;
	struct rig r = {.others = *(const uint32_t *)c->arg - 1};
	struct weft_cqe cqe;
	uint64_t received = 0;
	bool ok = rig_open(&r, 2) && talk_to_all(&r);
	struct weft_op recv = {.kind = WEFT_OP_TRECV, .len = 1, .sink = sink, .sink_arg = &received};
	struct weft_op send = {.kind = WEFT_OP_TSEND, .buf = &byte, .len = 1};
	weft_cq_take(r.eps[1], &cqe, 1);
	weft_cq_take(r.eps[1], &cqe, 1);
	for (uint64_t i = 0; ok && i < n; i++) {
		ok = submit(&r, 1, 0, recv) && submit(&r, 0, 1, send);
		weft_engine_poll(r.engines[1], r.now);
		weft_engine_poll(r.engines[0], r.now);
		measured_poll(r.engines[1], r.now);
		ok = ok && weft_cq_take(r.eps[1], &cqe, 1) == 1;
		step(&r);
		weft_engine_poll(r.engines[0], r.now);
		weft_cq_take(r.eps[0], &cqe, 1);
	}
	rig_close(&r);
	return ok && received == n;
}

/* Prints the bytes engine 0 holds for each connection, all of them quiet; each carries data both ways. */
static int run_memory(const struct perf_case *c, uint64_t n)
{
	struct rig r = {0};
	if (!rig_open(&r, QUIET_PEERS + 1))
		return 0;
	uint64_t before = r.live_bytes;
	if (!talk_to_all(&r))
		return 0;
	printf("%llu\n", (unsigned long long)((r.live_bytes - before) / QUIET_PEERS));
	rig_close(&r);
	return 1;
}

int main(int argc, char **argv)
{
	/* bench.sh reads the memory itself, it is no count of instructions. */
	if (argc == 2 && !strcmp(argv[1], "memory"))
		return run_memory(NULL, 0) ? EXIT_SUCCESS : EXIT_FAILURE;
	static const uint32_t one = 1, some = 16, many = 1000;
	static const struct perf_case cases[] = {
		{"packet", 700, "engine: packet sent, received, acknowledged", run_packets, NULL},
		{"short", 0, "engine: the same with short ACKs", run_short_acks, NULL},
		{"recorded", 0, "engine: the same with a flight recorder at both ends", run_recorded, NULL},
		{"read", 0, "engine: packet of a READ asked for, sent, received, acknowledged", run_read, NULL},
		{"idle", 60, "engine: poll with nothing to do", run_idle, NULL},
		{"submit_1", 0, "engine: operation submitted and taken, 1 endpoint", run_submissions, &one},
		{"submit_16", 0, "engine: the same, 16 endpoints", run_submissions, &some},
		{"submit_1000", 0, "engine: the same, 1,000 endpoints", run_submissions, &many},
		{"message_1", 0, "engine: poll that receives a message, 1 endpoint", run_messages, &one},
		{"message_16", 0, "engine: the same, 16 endpoints", run_messages, &some},
		{"message_1000", 0, "engine: the same, 1,000 endpoints", run_messages, &many},
		{NULL, 0, NULL, NULL, NULL},
	};
	return perf_main(argc, argv, cases);
}
