/* SPDX-License-Identifier: BSD-3-Clause */
/* Two engines with all that applications do and all that befalls packets on the way. The input is a program: some bytes
 * of configuration, then steps. What must hold:
 *   - nobody reads or writes what is not his, and packets and memory come home (sanitizers and duo_close);
 *   - an engine that is due says when, and not before now; time never stands still;
 *   - unless packets were altered: every byte received, read or in a region is the right one, messages come once and
 *     in order, and all ends once the wire does nothing to packets any more, without an error unless endpoints or
 *     regions were closed. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "near_wrap.h"
#include "world.h"

enum { PROGRAM_POLLS = 5000, END_POLLS = 400000, STILL_POLLS = 3000, ROUNDS = 4, RING_ENTRIES = 256 };

/* Younger than any connection that is remembered after its end. */
#define REPLAY_NS WEFT_US(250)

struct fuzz {
	struct world w;
	uint64_t port_bps;   /* rate that the ports tell; 0: none */
	bool secret;         /* nobody can guess the engines' numbers */
	bool strict;         /* nothing new is begun where nothing limits credits */
	int way[2];          /* what the ports' `reach` returns, by side */
	uint32_t polls_left; /* of the program, so that none takes long */
	bool may_alter;      /* packets, and replay old ones */
};

static struct fuzz f;

static void collect(struct world *w, int side)
{
	struct weft_cqe cqe;
	while (w->d.ep[side] && duo_cqe(&w->d, side, &cqe)) {
		if (cqe.kind <= WEFT_OP_PEEK || cqe.kind == WEFT_OP_RELEASE)
			world_message_ended(w, side, &cqe);
		else if (!world_access_owns(&cqe) && !world_access_ended(w, &cqe))
			world_rma_ended(w, side, &cqe);
	}
	world_dgrams_collect(w, side);
}

static void poll(struct world *w, int side)
{
	duo_poll(&w->d, side);
	collect(w, side);
}

static bool is_port_shut(const struct world *w)
{
	return !w->d.port[0].tx_room || !w->d.port[1].tx_room;
}

/* `still`: polls since time went on. */
static weft_ns next_time(const struct world *w, weft_ns at, uint32_t still)
{
	if (at > w->d.now)
		return at;
	assert_true(still < STILL_POLLS || is_port_shut(w));
	return still < STILL_POLLS ? w->d.now : w->d.now + WEFT_US(1);
}

/* Returns false when it took too many polls. */
static bool run(struct world *w, weft_ns until, uint32_t *polls_left)
{
	uint32_t still = 0;
	poll(w, 0);
	poll(w, 1);
	while (*polls_left) {
		weft_ns a = duo_next(&w->d, 0), b = duo_next(&w->d, 1), at = a < b ? a : b;
		if (at > until || at == WEFT_NEVER)
			break;
		weft_ns next = next_time(w, at, still);
		still = next > w->d.now ? 0 : still + 1;
		w->d.now = next;
		poll(w, a <= b ? 0 : 1);
		(*polls_left)--;
	}
	if (*polls_left && w->d.now < until)
		w->d.now = until;
	return *polls_left;
}

/* ---- configuration ---- */

static const char *const ccs[] = {"smartt",  "fixed",       "eqds",   "spraypass", "expresspass", "swift",
				  "smartt2", "eqds+smartt", "mprdma", "newreno",   "dcqcn",       "spraypass+smartt"};

static void configure_packets(struct weft_engine_tune *t, uint8_t x, uint8_t y)
{
	static const uint32_t payloads[] = {1024, 4096, 2048, 1500};
	t->profile = (x & 0x30) == 0x30 ? x >> 6 : WEFT_PROFILE_WEFT;
	t->payload_bytes = payloads[t->profile && (x & 3) == 3 ? 0 : x & 3];
	t->encap = (x & 12) == 12 ? y & 3 : 0;
	t->encap = t->encap > 2 ? 0 : t->encap;
	t->crc = (x & 12) == 8;
	t->pmtu_discovery = (y & 12) == 12;
	t->window_pkts = y & 16 ? 128 : 1024;
	t->evs_size = y & 32 ? 64 : 65536;
	t->job_id = y & 64 ? 5 : 0;
	t->pacing = !(y & 128);
}

static void configure_acks(struct weft_engine_tune *t, uint8_t x)
{
	static const uint32_t every[] = {1, 4, 16, 64};
	t->ack_every = every[x & 3];
	t->ack_burst = x >> 2 & 1;
	t->lb_all_acked = x >> 2 & 1;
	t->acks_per_window = x & 8 ? 8 : 0;
	t->go_back_n = (x & 0x30) == 0x30;
	t->dup_ack_threshold = (x & 0x30) == 0x20 ? 3 : 0;
	t->reorder_shim_ns = (x & 0x30) == 0x10 ? 20000 : 0;
	t->trimming = !(x & 64);
	t->brtt_ns = x & 128 ? 0 : 10000;
}

static void configure_messages(struct weft_engine_tune *t, uint8_t x)
{
	static const uint64_t unexpected_bytes[] = {1 << 28, 1 << 20, 100000, 20000};
	t->rndv_bytes = x & 1 ? 5000 : 0;
	t->unexpected_bytes = unexpected_bytes[x >> 1 & 3];
	t->idle_close_ns = x & 8 ? WEFT_MS(20) : WEFT_S(1);
	t->probe_rate = x & 16 ? 1 : 0;
}

static int reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	return f.way[((const struct duo_port *)port)->side];
}

static void doubt(struct weft_port *port, const struct weft_ip *ip)
{
}

static void adjust(struct weft_engine_conf *ec, struct weft_port *port)
{
	static const uint8_t secret[WEFT_SECRET_BYTES] = "thirty-two bytes nobody guesses";
	static uint64_t rcc_tune[64];
	static struct weft_port_ops ops;
	ops = *port->ops;
	ops.reach = reach;
	ops.doubt = doubt;
	port->ops = &ops;
	port->link_bps = f.port_bps;
	ec->secret = f.secret ? secret : NULL;
	if (!ec->rcc || !f.strict)
		return;
	assert_true(ec->rcc->tune_size <= sizeof rcc_tune);
	weft_param_defaults(ec->rcc->tunes, rcc_tune);
	if (weft_param_set(ec->rcc->tunes, rcc_tune, "strict", "on", NULL) == 0)
		ec->rcc_tune = rcc_tune;
}

/* Credit is granted at a rate that is known. */
static bool may_not_know_rate(const struct duo_conf *conf)
{
	struct weft_cc_choice choice;
	return weft_cc_select(conf->cc, &choice, NULL) == 0 && !choice.rcc;
}

static void configure_engines(struct duo_conf *conf, uint8_t x)
{
	enum { UNKNOWN = 1, BOUND = 2, RECORDER = 4, SECRET = 8, BY_SEED = 16, FIRST_PSN = 0x60, HALF_OPEN = 128 };
	static const uint32_t psns[] = {0, UINT32_C(1) << 31, 0, 0};
	if (x & (UNKNOWN | BOUND) && may_not_know_rate(conf)) {
		conf->tune.link_bps = 0;
		conf->tune.probe_rate = x & BOUND ? 1 : 2;
		f.port_bps = x & BOUND ? UINT64_C(100000000000) : 0;
	}
	f.secret = x & SECRET;
	conf->ids_by_seed = x & BY_SEED;
	near_wrap_psn((x & FIRST_PSN) ? psns[x >> 5 & 3] - (20 + (uint32_t)conf->seed) : 0);
	conf->tune.half_open = x & HALF_OPEN ? 1 : conf->tune.half_open;
}

/* `tune_1` may be in use. */
static void configure_others(struct duo_conf *conf, struct weft_engine_tune *tune_1, uint8_t x)
{
	enum { STRICT = 1, FASTER = 2, FEW_COMPLETIONS = 4, OTHER_ENCAP = 8 };
	f.strict = x & STRICT;
	f.w.disturbed |= f.strict;
	conf->cq_entries = x & FEW_COMPLETIONS ? 4 : 0;
	if (!(x & (FASTER | OTHER_ENCAP)))
		return;
	*tune_1 = conf->tune_1 ? *conf->tune_1 : conf->tune;
	conf->tune_1 = tune_1;
	if (x & FASTER && tune_1->link_bps)
		tune_1->link_bps *= 10;
	if (x & OTHER_ENCAP && !tune_1->crc)
		tune_1->encap = (x >> 4) % 3;
}

static void configure(struct world *w, struct weft_engine_tune *tune_1)
{
	struct duo_conf *conf = &w->conf;
	uint8_t algorithms = program_u8(&w->in), packets = program_u8(&w->in), more = program_u8(&w->in);
	unsigned lbs = 0;
	while (weft_lb_table[lbs])
		lbs++;
	assert(lbs > 0);
	duo_conf_init(conf);
	conf->cc = ccs[algorithms % 12];
	conf->lb = weft_lb_table[algorithms / 12 % lbs]->name;
	conf->ring_entries = RING_ENTRIES;
	configure_packets(&conf->tune, packets, more);
	configure_acks(&conf->tune, program_u8(&w->in));
	uint8_t x = program_u8(&w->in);
	configure_messages(&conf->tune, x);
	conf->ipv6 = x & 32;
	conf->lb_background = x & 64 ? "ecmp" : NULL;
	if (x & 128) { /* a peer with other habits */
		*tune_1 = conf->tune;
		tune_1->window_pkts = 256;
		tune_1->ack_every = 8;
		conf->tune_1 = tune_1;
	}
	conf->seed = program_u8(&w->in);
	f.may_alter = (conf->seed & 3) == 3;
	conf->tune.validate = conf->seed >> 2 & 3;
	if (conf->tune.validate > WEFT_VALIDATE_ALWAYS)
		conf->tune.validate = WEFT_VALIDATE_NEVER;
	conf->tune.short_acks = conf->seed >> 4 & 1;
	tune_1->validate = conf->tune.validate;
	tune_1->short_acks = conf->seed >> 5 & 1;
	conf->adjust = adjust;
	uint8_t engines = program_u8(&w->in);
	configure_engines(conf, engines);
	configure_others(conf, tune_1, program_u8(&w->in));
	w->recorded = engines & 4;
}

/* ---- steps ---- */

static void step_run(struct world *w)
{
	uint64_t x = program_u8(&w->in);
	weft_ns more = x < 128 ? x * 200 : (x - 128) * (x - 128) * 400;
	run(w, w->d.now + more, &f.polls_left);
}

/* Long enough for connections to close. */
static void step_idle(struct world *w)
{
	bad_wire_heal(&w->wire);
	run(w, w->d.now + WEFT_MS(30), &f.polls_left);
}

static void step_fate(struct world *w)
{
	bad_wire_set(&w->wire, &w->in);
}

static void step_replay(struct world *w)
{
	w->hostile |= f.may_alter;
	bad_wire_replay(&w->wire, &w->in, f.may_alter ? WEFT_NEVER : REPLAY_NS);
}

static void step_alter(struct world *w)
{
	if (!f.may_alter)
		return;
	w->hostile = true;
	bad_wire_alter(&w->wire, &w->in);
}

static void step_nomem(struct world *w)
{
	enum { SIDE = 1, REST = 2 };
	uint8_t what = program_u8(&w->in);
	struct duo_mem *m = &w->d.mem[what & SIDE];
	m->fail_rest = (what & REST) && what & 12;
	m->fail_at = m->calls + 1 + (what >> 2);
}

static void step_port(struct world *w)
{
	enum { SIDE = 1, WIDE = 2 };
	uint8_t what = program_u8(&w->in);
	struct duo_port *p = &w->d.port[what & SIDE];
	p->tx_room = what & WIDE ? UINT32_MAX : what >> 5;
	p->alloc_fail = what & WIDE ? what >> 4 : 0;
}

/* What the port knows of the way to the peer. */
static void step_way(struct world *w)
{
	static const int ways[] = {0, -EINPROGRESS, -EHOSTUNREACH, -ENETUNREACH};
	uint8_t what = program_u8(&w->in);
	f.way[what & 1] = ways[what >> 1 & 3];
	w->disturbed |= f.way[what & 1] == -ENETUNREACH;
}

static void step_link(struct world *w)
{
	static const uint64_t rates[] = {0, 1000000000, 100000000000, 400000000000};
	uint8_t what = program_u8(&w->in);
	weft_engine_link(w->d.e[what & 1], rates[what >> 1 & 3], w->d.now);
	w->d.due[what & 1] = w->d.now;
}

/* Packets that are too large get lost. Every path carries 1,024 bytes of payload. */
static void step_narrow(struct world *w)
{
	static const uint32_t bytes[] = {0, 1024, 1400, 2048};
	w->wire.narrow_bytes = bytes[program_u8(&w->in) & 3];
}

static void step_numbers(struct world *w)
{
	near_wrap_counts(&w->d);
}

static void step_xmit(struct world *w)
{
	int side = program_u8(&w->in) & 1;
	for (unsigned stage = 0; stage < 3; stage++)
		weft_engine_prefetch(w->d.e[side], w->d.port[side].rx, stage);
	w->d.due[side] = weft_engine_xmit(w->d.e[side], w->d.now);
	assert_true(w->d.due[side] >= w->d.now);
	collect(w, side);
}

static void endpoint_close(struct world *w, int side)
{
	w->disturbed = true;
	collect(w, side);
	weft_ep_close(w->d.ep[side]);
	w->d.ep[side] = NULL;
	world_messages_drop(w, side);
	world_rma_drop(w, side);
	world_access_drop(w, side);
}

static void step_endpoint(struct world *w)
{
	enum { SIDE = 1, SELDOM = 0xc0 };
	uint8_t what = program_u8(&w->in);
	int side = what & SIDE;
	if (!w->d.ep[side] &&
	    weft_ep_open(w->d.e[side], (uint16_t)(100 + 100 * side), RING_ENTRIES, RING_ENTRIES, &w->d.ep[side], NULL))
		w->d.ep[side] = NULL;
	else if ((what & SELDOM) == SELDOM && w->d.ep[side])
		endpoint_close(w, side);
	w->d.due[side] = w->d.now;
}

static void step_region(struct world *w)
{
	enum { SELDOM = 0xc0 };
	if ((program_u8(&w->in) & SELDOM) == SELDOM)
		world_region(w);
}

/* The device is gone. */
static void step_fail(struct world *w)
{
	enum { SIDE = 1, SELDOM = 0xe0 };
	uint8_t what = program_u8(&w->in);
	if ((what & SELDOM) != SELDOM)
		return;
	w->disturbed = true;
	w->wire.cut = true;
	weft_engine_fail(w->d.e[what & SIDE], ENODEV);
	w->d.due[what & SIDE] = w->d.now;
}

/* How many of 256 first bytes mean which step. */
static const struct {
	uint8_t share;
	void (*take)(struct world *w);
} steps[] = {
	{54, world_send},  {36, world_recv}, {26, world_rma},    {8, world_idempotent}, {4, world_peek},
	{4, world_cancel}, {44, step_run},   {20, step_fate},    {8, step_replay},      {12, step_alter},
	{4, step_nomem},   {4, step_port},   {2, step_xmit},     {2, step_endpoint},    {2, step_region},
	{1, step_idle},    {1, step_fail},   {10, world_access}, {6, world_dgram},      {2, world_look},
	{1, step_way},     {1, step_link},   {2, step_narrow},   {2, step_numbers},
};

static void step(struct world *w)
{
	unsigned x = program_u8(&w->in), i = 0;
	while (x >= steps[i].share)
		x -= steps[i++].share;
	steps[i].take(w);
}

/* ---- the end ---- */

static void heal(struct world *w)
{
	bad_wire_heal(&w->wire);
	for (int i = 0; i < 2; i++) {
		w->d.mem[i].fail_at = 0;
		w->d.port[i].tx_room = UINT32_MAX;
		w->d.port[i].alloc_fail = 0;
		f.way[i] = 0;
	}
}

/* Everything ends. */
static void settle(struct world *w)
{
	uint32_t polls_left = END_POLLS;
	heal(w);
	run(w, w->d.now + WEFT_MS(1), &polls_left);
	for (int i = 0; i < ROUNDS && (!i || world_sends_open(w) || world_rma_open(w) || world_access_open(w)); i++) {
		world_recv_rest(w);
		run(w, w->d.now + WEFT_S(3), &polls_left);
		world_cancel_rest(w);
		run(w, w->d.now + WEFT_MS(1), &polls_left);
	}
	if (world_posts_open(w)) /* their senders have failed, and say nothing */
		run(w, w->d.now + 2 * w->conf.tune.peer_timeout_ns, &polls_left);
	if (w->hostile)
		return;
	assert_true(polls_left > 0);
	assert_int_equal(world_sends_open(w), 0);
	assert_int_equal(world_rma_open(w), 0);
	assert_int_equal(world_access_open(w), 0);
	assert_int_equal(world_posts_open(w), 0);
	if (!w->disturbed)
		world_messages_check(w);
	world_memory_check(w);
	world_access_check(w);
}

static void shut(struct world *w)
{
	uint32_t polls_left = END_POLLS;
	for (int i = 0; i < 2; i++)
		weft_engine_shutdown(w->d.e[i], w->d.now);
	run(w, w->d.now + WEFT_S(10), &polls_left);
	if (w->hostile || w->disturbed) /* what a closed endpoint sent may wait for a receive for ever */
		return;
	for (int i = 0; i < 2; i++)
		assert_true(weft_engine_idle(w->d.e[i]));
}

static uint32_t add_peer(struct world *w, int side, int host, uint16_t port)
{
	struct weft_addr addr = {weft_peer_addr(w->d.e[!host], w->d.peer[!host])->ip, port};
	uint32_t id;
	assert_int_equal(weft_peer_add(w->d.e[side], &addr, &id), 0);
	return id;
}

static void open_world(struct world *w)
{
	struct weft_engine_tune tune_1;
	configure(w, &tune_1);
	duo_open(&w->d, &w->conf);
	w->conf.tune_1 = NULL;
	if (w->recorded)
		world_recorder_open(w);
	bad_wire_open(&w->wire, &w->d, w->conf.tune.trimming);
	for (int i = 0; i < 2; i++) {
		w->self[i] = add_peer(w, i, i, (uint16_t)(100 + 100 * i));
		w->nobody[i] = add_peer(w, i, !i, WORLD_NOBODY);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = &f.w;
	setenv("CMOCKA_TEST_ABORT", "1", 0); /* outside a test of cmocka's it would end without its message */
	f = (struct fuzz){.w.in = {data, size}, .polls_left = PROGRAM_POLLS};
	open_world(w);
	while (w->in.left && f.polls_left)
		step(w);
	settle(w);
	shut(w);
	world_dgrams_close(w);
	duo_close(&w->d);
	world_recorder_close(w);
	world_access_close(w);
	world_messages_close(w);
	world_memory_close(w);
	bad_wire_close(&w->wire);
	return 0;
}
