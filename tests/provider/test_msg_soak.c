/* SPDX-License-Identifier: BSD-3-Clause */
/* Random messages between the endpoints of two hosts, and of each host among its own, over wires that lose, repeat and
 * delay packets. Receives are cancelled, or too short; now and then one host vanishes with all it had under way and
 * comes back with the same address. Every byte is compared, every message must come exactly once. WEFT_SOAK_OPS and
 * WEFT_SOAK_SEED in the environment make it longer and different. */
#include "fixture.h"

#include <inttypes.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "wires.h"

enum {
	EPS = 2,                /* endpoints per host */
	NODES = 2 * EPS,        /* endpoints in all: number / EPS is the host */
	SLOTS = 6,              /* of a stream: sends outstanding, receives posted */
	SIZE_MAX_BYTES = 40000, /* larger than what one window holds of small packets, and than rendezvous begins */
	SHORT_BYTES = 40,       /* a receive that truncates */
	DEFAULT_OPS = 20000,
	RESTART_EVERY = 6000, /* messages; WEFT_SOAK_RESTART says otherwise */
	TURN_OPS = 8,
	PROBE_TAG = 1,
};

static const struct wires_faults faults = {.lost = 10, .repeated = 10, .delayed = 10};

struct stream;

/* One operation; its address is the context. */
struct slot {
	struct stream *stream; /* NULL: a probe, or a look for stale messages */
	uint8_t *buf;
	uint32_t n;     /* of a send: the message's number */
	uint32_t epoch; /* of the stream when it was posted */
	bool busy, is_send, is_short, cancelled;
};

/* Messages from one endpoint to another. A restart of either host begins a new epoch with a new tag; what was under way
 * is forgotten. */
struct stream {
	int from, to;
	uint32_t epoch, sent, acked;
	uint32_t low;  /* the first message that has not come */
	uint64_t seen; /* which of the 64 from `low` on have, by number modulo 64 */
	bool may_tell; /* its host restarted, and no call has told yet that completed messages to it failed */
	struct slot tx[SLOTS], rx[SLOTS];
};

static struct fid_ep *eps[NODES];
static fi_addr_t addrs[2][NODES]; /* by host, of every endpoint */
static struct stream streams[NODES][NODES];
static struct rng dice;
static struct slot probe = {.is_send = true}, probe_recv;
static struct slot stale[EPS]; /* of a restarted host's endpoints: looks for messages from before */
static bool probed;
static struct {
	uint64_t messages, cancelled, truncated, failed, restarts;
} total;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t tag_of(const struct stream *s)
{
	return ((uint64_t)s->epoch << 16) + (uint64_t)(s->from * NODES + s->to + 16);
}

/* Content and size follow from stream, epoch and number alone. */
static uint64_t seed_of(const struct stream *s, uint32_t n)
{
	return tag_of(s) * 1000003 + n;
}

static size_t size_of(const struct stream *s, uint32_t n)
{
	uint64_t r = (seed_of(s, n) + 1) * 0x9e3779b97f4a7c15u;
	size_t limit = r >> 62 ? 1000 : SIZE_MAX_BYTES;
	return (size_t)(r >> 20) % (limit + 1);
}

/* The first endpoint of a host is the fixture's. */
static void node_open(int node)
{
	struct host *h = &hosts[node / EPS];
	eps[node] = h->ep;
	if (node % EPS == 0)
		return;
	ok(fi_endpoint(h->domain, h->info, &eps[node], NULL));
	ok(fi_ep_bind(eps[node], &h->av->fid, 0));
	ok(fi_ep_bind(eps[node], &h->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(eps[node]));
}

/* `of`'s endpoints become known at `at`. */
static void nodes_insert(int at, int of)
{
	for (int node = of * EPS; node < (of + 1) * EPS; node++) {
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		ok(fi_getname(&eps[node]->fid, name, &len));
		assert_int_equal(fi_av_insert(hosts[at].av, name, 1, &addrs[at][node], 0, NULL), 1);
	}
}

static void slots_forget(struct slot *slots)
{
	for (int i = 0; i < SLOTS; i++)
		slots[i].busy = false;
}

static bool stream_concerns(const struct stream *s, int host)
{
	return s->from / EPS == host || s->to / EPS == host;
}

static void stream_begin(struct stream *s)
{
	s->epoch++;
	s->sent = s->low = s->acked = 0;
	s->seen = 0;
}

static struct slot *slot_free(struct slot *slots)
{
	for (int i = 0; i < SLOTS; i++)
		if (!slots[i].busy)
			return &slots[i];
	return NULL;
}

/* ---- sending ---- */

static ssize_t send_pieces(struct stream *s, struct slot *slot, size_t len, uint64_t flags)
{
	size_t cut = rng_below(&dice, (uint32_t)len + 1);
	const struct iovec iov[2] = {{slot->buf, cut}, {slot->buf + cut, len - cut}};
	const struct fi_msg_tagged msg = {.msg_iov = iov,
					  .iov_count = 2,
					  .addr = addrs[s->from / EPS][s->to],
					  .tag = tag_of(s),
					  .context = slot,
					  .data = slot->n};
	return fi_tsendmsg(eps[s->from], &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION | flags);
}

static void send_one(struct stream *s)
{
	struct slot *slot = slot_free(s->tx);
	if (!slot || s->sent >= s->low + 64)
		return;
	size_t len = size_of(s, s->sent);
	fi_addr_t to = addrs[s->from / EPS][s->to];
	uint32_t kind = rng_below(&dice, 4);
	slot->n = s->sent;
	slot->epoch = s->epoch;
	pattern_fill(slot->buf, len, seed_of(s, slot->n));
	ssize_t ret;
	bool inject = kind == 0 && len <= hosts[0].info->tx_attr->inject_size;
	if (inject)
		ret = fi_tinjectdata(eps[s->from], slot->buf, len, slot->n, to, tag_of(s));
	else if (kind == 1)
		ret = send_pieces(s, slot, len, FI_DELIVERY_COMPLETE);
	else if (kind == 2)
		ret = send_pieces(s, slot, len, FI_TRANSMIT_COMPLETE);
	else
		ret = fi_tsenddata(eps[s->from], slot->buf, len, NULL, slot->n, to, tag_of(s), slot);
	if (ret == -FI_EAGAIN)
		return;
	if (ret == -FI_ECONNRESET) { /* messages that completed with their copy, before the restart */
		assert_true(s->may_tell);
		s->may_tell = false;
		total.failed++;
		return;
	}
	ok(ret);
	slot->busy = !inject;
	s->acked += inject;
	s->sent++;
}

/* ---- receiving ---- */

static void post_one(struct stream *s)
{
	struct slot *slot = slot_free(s->rx);
	if (!slot)
		return;
	size_t len = rng_below(&dice, 20) == 0 ? SHORT_BYTES : SIZE_MAX_BYTES;
	fi_addr_t from = rng_below(&dice, 2) ? addrs[s->to / EPS][s->from] : FI_ADDR_UNSPEC;
	size_t cut = rng_below(&dice, 4) ? 0 : len / 3;
	const struct iovec iov[2] = {{slot->buf, cut}, {slot->buf + cut, len - cut}};
	ssize_t ret = cut ? fi_trecvv(eps[s->to], iov, NULL, 2, from, tag_of(s), 0, slot)
			  : fi_trecv(eps[s->to], slot->buf, len, NULL, from, tag_of(s), 0, slot);
	if (ret == -FI_EAGAIN)
		return;
	ok(ret);
	slot->busy = true;
	slot->epoch = s->epoch;
	slot->is_short = len == SHORT_BYTES;
	slot->cancelled = false;
}

static void cancel_one(struct stream *s)
{
	struct slot *slot = &s->rx[rng_below(&dice, SLOTS)];
	if (!slot->busy || slot->cancelled)
		return;
	ssize_t ret = fi_cancel(&eps[s->to]->fid, slot);
	slot->cancelled = ret == 0;
	assert_true(ret == 0 || ret == -FI_ENOENT || ret == -FI_EAGAIN);
}

static void message_seen(struct slot *slot, uint64_t n, size_t len)
{
	struct stream *s = slot->stream;
	size_t size = size_of(s, (uint32_t)n), kept = slot->is_short && size > SHORT_BYTES ? SHORT_BYTES : size;
	assert_in_range(n, s->low, s->sent - 1);
	assert_int_equal(len, kept);
	assert_int_equal(pattern_check(slot->buf, kept, seed_of(s, (uint32_t)n)), kept);
	assert_false(s->seen >> n % 64 & 1);
	s->seen |= UINT64_C(1) << n % 64;
	for (; s->seen >> s->low % 64 & 1; s->low++)
		s->seen &= ~(UINT64_C(1) << s->low % 64);
	total.messages++;
}

static void done(const struct fi_cq_tagged_entry *e)
{
	struct slot *slot = e->op_context;
	slot->busy = false;
	if (!slot->stream) {
		probed |= slot == &probe;
		return;
	}
	if (slot->epoch != slot->stream->epoch)
		return;
	if (slot->is_send)
		slot->stream->acked++;
	else
		message_seen(slot, e->data, e->len);
}

/* Nothing fails but what was cancelled or truncated, or spoke to a host that went away. */
static void failed(struct host *h)
{
	struct fi_cq_err_entry e = {0};
	assert_int_equal(fi_cq_readerr(h->cq, &e, 0), 1);
	struct slot *slot = e.op_context;
	if (!slot) {
		assert_true(total.restarts && e.flags & FI_SEND); /* one without a context: injected */
		total.failed++;
		return;
	}
	slot->busy = false;
	if (slot >= stale && slot < stale + EPS) {
		assert_int_equal(e.err, FI_ENOMSG);
		return;
	}
	if (slot == &probe || slot->epoch != slot->stream->epoch) {
		total.failed++;
		return;
	}
	if (e.err == FI_ETRUNC && slot->is_short) {
		total.truncated++;
		message_seen(slot, e.data, e.len);
		return;
	}
	assert_int_equal(e.err, FI_ECANCELED);
	assert_true(slot->cancelled && !slot->is_send);
	total.cancelled++;
}

static void turn(void)
{
	for (int i = 0; i < 2; i++) {
		struct fi_cq_tagged_entry e;
		ssize_t n;
		while ((n = fi_cq_read(hosts[i].cq, &e, 1)) != -FI_EAGAIN) {
			if (n == 1)
				done(&e);
			else
				failed(&hosts[i]);
		}
		wires_turn(&faults, &dice.state);
	}
}

/* ---- a host goes and comes back ---- */

/* What was announced and never acknowledged may reach the new process, which nobody told to receive it. */
static void discard_stale(int host)
{
	for (int i = 0; i < EPS; i++) {
		struct fi_msg_tagged any = {.ignore = UINT64_MAX, .addr = FI_ADDR_UNSPEC, .context = &stale[i]};
		if (!stale[i].busy)
			stale[i].busy = fi_trecvmsg(eps[host * EPS + i], &any, FI_PEEK | FI_DISCARD) == 0;
	}
}

/* Asks for its delivery: with its copy it would end on a connection to the host's former life, and so would what
 * follows.
 */
static bool send_probe(int from, int to)
{
	const struct fi_msg_tagged msg = {.addr = addrs[from][to * EPS], .tag = PROBE_TAG, .context = &probe};
	return fi_tsendmsg(hosts[from].ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE) == 0;
}

/* Whoever spoke to it learns what became of that; then messages pass again. */
static void meet_again(int host)
{
	int other = !host;
	bool outstanding = true;
	while (outstanding) {
		outstanding = false;
		discard_stale(host);
		turn();
		for (int i = 0; i < NODES * NODES; i++)
			for (int k = 0; k < SLOTS; k++)
				outstanding |= streams[i / NODES][i % NODES].tx[k].busy;
	}
	for (probed = false; !probed;) {
		if (!probe_recv.busy)
			ok(fi_trecv(hosts[host].ep, NULL, 0, NULL, FI_ADDR_UNSPEC, PROBE_TAG, 0, &probe_recv));
		probe_recv.busy = true;
		if (!probe.busy)
			probe.busy = send_probe(other, host);
		turn();
	}
}

static void restart(int host)
{
	total.restarts++;
	for (int i = 0; i < NODES * NODES; i++) {
		struct stream *s = &streams[i / NODES][i % NODES];
		if (s->from / EPS == host)
			slots_forget(s->tx);
		if (s->to / EPS == host)
			slots_forget(s->rx);
		s->may_tell |= s->to / EPS == host;
		if (stream_concerns(s, host)) {
			for (int k = 0; k < SLOTS && s->to / EPS != host; k++)
				if (s->rx[k].busy)
					fi_cancel(&eps[s->to]->fid, &s->rx[k]);
			stream_begin(s);
		}
	}
	probe_recv.busy = false;
	memset(stale, 0, sizeof stale);
	for (int node = host * EPS + 1; node < (host + 1) * EPS; node++)
		ok(fi_close(&eps[node]->fid));
	host_close(&hosts[host]);
	host_open_domain(&hosts[host], fixture_hints(host));
	host_open_ep(&hosts[host], &(struct host_opts){0});
	for (int node = host * EPS; node < (host + 1) * EPS; node++)
		node_open(node);
	ok(fi_av_remove(hosts[!host].av, &addrs[!host][host * EPS], EPS, 0));
	nodes_insert(host, 0);
	nodes_insert(host, 1);
	nodes_insert(!host, host);
	meet_again(host);
}

/* ---- all of it ---- */

static int open_all(void **state)
{
	dice = (struct rng){number("WEFT_SOAK_SEED", 1)};
	print_message("seed %" PRIu64 "\n", dice.state);
	setenv("FI_WEFT_RNDV_BYTES", "16384", 0); /* some are fetched by their receiver */
	setenv("FI_WEFT_TUNE", "peer_timeout_ns=4000000000",
	       0); /* who waits for a dead peer's answer asks after a second */
	hosts_open(hosts, NULL);
	for (int node = 0; node < NODES; node++)
		node_open(node);
	for (int i = 0; i < 4; i++)
		nodes_insert(i / 2, i % 2);
	for (int i = 0; i < NODES * NODES; i++) {
		struct stream *s = &streams[i / NODES][i % NODES];
		*s = (struct stream){.from = i / NODES, .to = i % NODES};
		for (int k = 0; k < SLOTS; k++) {
			s->tx[k] = (struct slot){.stream = s, .buf = malloc(SIZE_MAX_BYTES), .is_send = true};
			s->rx[k] = (struct slot){.stream = s, .buf = malloc(SIZE_MAX_BYTES)};
			assert_true(s->tx[k].buf && s->rx[k].buf);
		}
		stream_begin(s);
	}
	return 0;
}

static int close_all(void **state)
{
	for (int node = 0; node < NODES; node++)
		if (node % EPS)
			ok(fi_close(&eps[node]->fid));
	hosts_close(hosts);
	for (int i = 0; i < NODES * NODES; i++)
		for (int k = 0; k < SLOTS; k++) {
			free(streams[i / NODES][i % NODES].tx[k].buf);
			free(streams[i / NODES][i % NODES].rx[k].buf);
		}
	return 0;
}

static void operate(void)
{
	struct stream *s = &streams[rng_below(&dice, NODES)][rng_below(&dice, NODES)];
	uint32_t what = rng_below(&dice, 40);
	if (what == 0)
		cancel_one(s);
	else if (what < 20)
		send_one(s);
	else
		post_one(s);
}

static bool all_seen(void)
{
	bool all = true;
	for (int i = 0; i < NODES * NODES; i++) {
		struct stream *s = &streams[i / NODES][i % NODES];
		all &= s->low == s->sent && s->acked == s->sent;
		if (s->low < s->sent)
			post_one(s);
	}
	return all;
}

static void soak__every_message_comes_once(void **state)
{
	uint64_t ops = number("WEFT_SOAK_OPS", DEFAULT_OPS), every = number("WEFT_SOAK_RESTART", RESTART_EVERY);
	uint64_t restart_at = every;
	while (total.messages < ops) {
		for (int i = 0; i < TURN_OPS; i++)
			operate();
		turn();
		if (total.messages >= restart_at) {
			restart((int)rng_below(&dice, 2));
			restart_at = total.messages + every;
		}
	}
	while (!all_seen())
		turn();
	struct wires_counts c = wires_counts();
	print_message("%" PRIu64 " messages, %" PRIu64 " receives cancelled, %" PRIu64 " truncated, %" PRIu64
		      " restarts, %" PRIu64 " operations failed by them; %" PRIu64 " packets, %" PRIu64 " lost\n",
		      total.messages, total.cancelled, total.truncated, total.restarts, total.failed, c.packets,
		      c.lost);
	assert_true(total.cancelled && total.truncated && total.restarts && c.lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(soak__every_message_comes_once, open_all, close_all),
	};
	return cmocka_run_group_tests(tests, wires_setup, NULL);
}
