/* SPDX-License-Identifier: BSD-3-Clause */
#include "model_world.h"

#include <string.h>

#include "cmocka_all.h"
#include "duo.h"

enum {
	SLOT_BYTES = 1500,
	SMALL_BYTES = 100,
	RNDV_BYTES = 1000,
	KEY = 77,
	TAG = 16,         /* of a message: this times the sender's side, plus its number */
	STEPS_MAX = 5000, /* of a program; few take a hundred */
};

#define HOP_NS   WEFT_US(1)    /* between two arrivals */
#define AWAY_NS  WEFT_S(1000)  /* packets wait for their choice so far in the future ... */
#define HELD_NS  (5 * AWAY_NS) /* ... and those that come last so far */
#define QUIET_NS WEFT_MS(1)    /* nothing is due for so long: held packets arrive */
#define END_NS   WEFT_MS(300)  /* all has ended by then, whatever was lost */
#define REST_NS  WEFT_S(20)    /* and so long after that connections are closed */

/* What becomes of the packet that is the next to arrive. */
enum fate { ARRIVES, LOST, TWICE, AFTER_OTHERS, AT_LAST, TOGETHER, FATES };

/* When the application takes its next step. */
enum pause { AT_ONCE, AFTER_A_PACKET, WHEN_QUIET, PAUSES };

/* An operation or a receive. */
struct slot {
	uint8_t kind;   /* enum weft_op_kind */
	bool submitted; /* and not dropped by a close */
	bool fenced;
	unsigned ended; /* completions */
	uint8_t *buf;
	uint32_t len;
	uint64_t seed; /* of the bytes expected there */
};

struct app {
	const char *ops;
	struct slot sends[MODEL_OPS], recvs[MODEL_OPS];
	unsigned steps, taken; /* receives are posted in the first one */
	bool chosen;           /* when the next one is taken */
	enum pause pause;
	uint8_t out[MODEL_OPS][SLOT_BYTES], in[MODEL_OPS][SLOT_BYTES], got[MODEL_OPS][SLOT_BYTES];
	uint8_t mem[MODEL_OPS + 1][SLOT_BYTES]; /* that the other side accesses; the last one is only read */
	struct weft_mr *mr;
};

struct model {
	struct duo d;
	struct app apps[2];
	struct choices *choices; /* NULL: everything takes its usual way */
	weft_ns start_ns;
	bool closes; /* an endpoint: operations may fail */
	const char *broken;
};

static void breaks(struct model *m, const char *what)
{
	if (!m->broken)
		m->broken = what;
}

static unsigned choice(struct model *m, unsigned n)
{
	return m->choices ? choose(m->choices, n) : 0;
}

/* ---- bytes ---- */

static uint8_t byte_of(uint64_t seed, uint32_t i)
{
	return (uint8_t)(seed * 37 + i * 11 + (i >> 8));
}

static void fill(uint8_t *buf, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = byte_of(seed, i);
}

static bool is_filled(const struct slot *s)
{
	for (uint32_t i = 0; i < s->len; i++)
		if (s->buf[i] != byte_of(s->seed, i))
			return false;
	return true;
}

/* ---- ends ---- */

static void ended(struct model *m, const struct weft_cqe *cqe)
{
	struct slot *s = cqe->context;
	if (s->ended++)
		breaks(m, "an operation completed twice");
	if (cqe->err && !m->closes)
		breaks(m, "an operation failed");
	bool has_bytes = s->kind == WEFT_OP_TRECV || s->kind == WEFT_OP_READ;
	if (!cqe->err && has_bytes && !is_filled(s))
		breaks(m, "wrong bytes");
}

static void collect(struct model *m, int side)
{
	struct weft_cqe cqe;
	while (m->d.ep[side] && duo_cqe(&m->d, side, &cqe))
		ended(m, &cqe);
}

/* ---- operations ---- */

static bool is_message(char letter)
{
	return strchr("sSaA", letter);
}

static uint32_t length(char letter)
{
	return strchr("aA", letter) ? SLOT_BYTES : SMALL_BYTES;
}

/* Where an access goes: READs get what the latest WRITE before them left. */
static unsigned place(const char *ops, unsigned i)
{
	if (strchr("wW", ops[i]))
		return i;
	while (i-- > 0)
		if (strchr("wW", ops[i]))
			return i;
	return MODEL_OPS;
}

static uint64_t seed_of(int side, unsigned i)
{
	return (uint64_t)(1 + side * TAG) + i;
}

static uint8_t kind_of(char letter)
{
	return is_message(letter) ? WEFT_OP_TSEND : strchr("wW", letter) != NULL ? WEFT_OP_WRITE : WEFT_OP_READ;
}

static void submit(struct model *m, int side, struct slot *s, const struct weft_op *op)
{
	s->submitted = true;
	s->buf = op->buf;
	s->len = (uint32_t)op->len;
	s->kind = op->kind;
	assert_int_equal(weft_submit(m->d.ep[side], op), 0);
	m->d.due[side] = m->d.now;
}

static void op_submit(struct model *m, int side, unsigned i)
{
	struct app *app = &m->apps[side];
	struct slot *s = &app->sends[i];
	char letter = app->ops[i];
	bool reads = kind_of(letter) == WEFT_OP_READ;
	s->fenced = strchr("SAWR", letter);
	s->seed = reads ? seed_of(side, place(app->ops, i)) : seed_of(side, i);
	const struct weft_op op = {.kind = kind_of(letter),
				   .peer = m->d.peer[side],
				   .buf = reads ? app->got[i] : app->out[i],
				   .len = length(letter),
				   .tag = (uint64_t)(side * TAG) + i,
				   .rkey = KEY,
				   .raddr = is_message(letter) ? 0 : place(app->ops, i) * SLOT_BYTES,
				   .flags = s->fenced ? WEFT_OP_FENCE : 0,
				   .context = s};
	if (!reads)
		fill(app->out[i], SLOT_BYTES, s->seed);
	submit(m, side, s, &op);
}

/* For all that the other side will send. */
static void recvs_submit(struct model *m, int side)
{
	struct app *app = &m->apps[side];
	const char *theirs = m->apps[!side].ops;
	for (unsigned i = 0; theirs[i] && theirs[i] != 'c'; i++) {
		if (!is_message(theirs[i]))
			continue;
		struct slot *s = &app->recvs[i];
		const struct weft_op op = {.kind = WEFT_OP_TRECV,
					   .peer = WEFT_PEER_ANY,
					   .buf = app->in[i],
					   .len = length(theirs[i]),
					   .tag = (uint64_t)(!side * TAG) + i,
					   .context = s};
		s->seed = seed_of(!side, i);
		submit(m, side, s, &op);
	}
}

static void drop(struct slot *slots)
{
	for (unsigned i = 0; i < MODEL_OPS; i++)
		slots[i].submitted = false;
}

/* Its buffers may hold something else from now on. What the engine has not even seen would be dropped. */
static void endpoint_close(struct model *m, int side)
{
	struct app *app = &m->apps[side];
	duo_poll(&m->d, side);
	collect(m, side);
	weft_ep_close(m->d.ep[side]);
	m->d.ep[side] = NULL;
	m->closes = true;
	drop(app->sends);
	drop(app->recvs);
	memset(app->out, 0xee, sizeof app->out);
	m->d.due[side] = m->d.now;
}

static void step(struct model *m, int side)
{
	struct app *app = &m->apps[side];
	unsigned i = app->taken++;
	app->chosen = false;
	if (i == 0)
		recvs_submit(m, side);
	else if (app->ops[i - 1] == 'c')
		endpoint_close(m, side);
	else
		op_submit(m, side, i - 1);
}

/* ---- fulfilment ---- */

static bool all_ended(const struct slot *slots)
{
	for (unsigned i = 0; i < MODEL_OPS; i++)
		if (slots[i].submitted && !slots[i].ended)
			return false;
	return true;
}

static bool is_done(const struct model *m)
{
	bool done = true;
	for (int side = 0; side < 2; side++) {
		const struct app *app = &m->apps[side];
		done &= app->taken == app->steps && all_ended(app->sends) && all_ended(app->recvs);
	}
	return done;
}

/* ---- fences ---- */

/* Which operation of its side the packet begins; MODEL_OPS: none. */
static unsigned begins(const struct model *m, int from, const struct plain_pkt *p)
{
	const struct plain_ses *ses = &p->ses;
	bool is_request = p->pds.type == WIRE_PDS_RUD_REQ || p->pds.type == WIRE_PDS_RUD_CC_REQ;
	if (!is_request || !p->has_ses)
		return MODEL_OPS;
	for (unsigned i = 0; i < MODEL_OPS && m->apps[from].ops[i]; i++) {
		char letter = m->apps[from].ops[i];
		bool is_access = ses->opcode == WIRE_OP_WRITE || ses->opcode == WIRE_OP_READ;
		if (is_message(letter) && !is_access && ses->match == (uint64_t)(from * TAG) + i)
			return i;
		if (!is_message(letter) && is_access && ses->match == KEY &&
		    (ses->opcode == WIRE_OP_READ) == (kind_of(letter) == WEFT_OP_READ) &&
		    ses->buffer_offset == place(m->apps[from].ops, i) * SLOT_BYTES)
			return i;
	}
	return MODEL_OPS;
}

/* Nothing behind a fence leaves before all that is in front of it has completed. */
static enum duo_fate watch_fences(void *arg, int from, const struct plain_pkt *p, uint64_t nth)
{
	struct model *m = arg;
	unsigned last = begins(m, from, p), fence = 0;
	const struct slot *sends = m->apps[from].sends;
	collect(m, from);
	for (unsigned i = 0; last < MODEL_OPS && i <= last; i++)
		fence = sends[i].fenced ? i : fence;
	for (unsigned i = 0; i < fence; i++)
		if (sends[i].submitted && !sends[i].ended)
			breaks(m, "an operation began before what its fence waits for had completed");
	return DUO_PASS;
}

/* ---- packets ---- */

static struct weft_pkt *take_first(struct model *m, int to)
{
	struct duo_port *port = &m->d.port[to];
	struct weft_pkt *pkt = port->rx;
	port->rx = pkt->next;
	port->rx_len--;
	return pkt;
}

static weft_ns first_at(const struct model *m, int to)
{
	const struct weft_pkt *pkt = m->d.port[to].rx;
	return pkt ? pkt->arrived_ns : WEFT_NEVER;
}

static void arrive(struct model *m, int to)
{
	duo_arrives(&m->d.port[to], take_first(m, to), m->d.now);
	m->d.due[to] = m->d.now;
}

static void lose(struct model *m, int to)
{
	struct weft_port *port = &m->d.port[to].port;
	struct weft_pkt *pkt = take_first(m, to);
	port->ops->free(port, &pkt, 1);
}

/* The original comes once more, behind what is under way. */
static void arrive_twice(struct model *m, int to)
{
	struct weft_pkt *pkt = take_first(m, to);
	duo_inject(&m->d, to, pkt->head, pkt->head_len);
	duo_arrives(&m->d.port[to], pkt, m->d.now + AWAY_NS);
	m->d.due[to] = m->d.now;
}

static void suffer(struct model *m, int to, enum fate fate)
{
	switch (fate) {
	case LOST:
		lose(m, to);
		break;
	case TWICE:
		arrive_twice(m, to);
		break;
	case AFTER_OTHERS:
		duo_arrives(&m->d.port[to], take_first(m, to), m->d.now + AWAY_NS);
		break;
	case AT_LAST:
		duo_arrives(&m->d.port[to], take_first(m, to), m->d.now + HELD_NS);
		break;
	case TOGETHER:
		duo_arrives(&m->d.port[to], take_first(m, to), m->d.now); /* in one burst with the next to come */
		break;
	default:
		arrive(m, to);
	}
}

/* The oldest packet meets its fate. False: there is none. */
static bool packet(struct model *m)
{
	int to = first_at(m, 0) < first_at(m, 1) ? 0 : 1;
	weft_ns at = first_at(m, to);
	if (at == WEFT_NEVER || at >= m->d.now + HELD_NS - AWAY_NS)
		return false;
	m->d.now += HOP_NS;
	suffer(m, to, (enum fate)choice(m, FATES));
	return true;
}

/* Packets that were to come last do. */
static bool held_packets(struct model *m)
{
	bool any = false;
	for (int to = 0; to < 2; to++)
		if (first_at(m, to) != WEFT_NEVER) {
			arrive(m, to);
			any = true;
		}
	return any;
}

/* ---- the course of things ---- */

static bool step_if(struct model *m, enum pause until)
{
	bool any = false;
	for (int side = 0; side < 2; side++) {
		struct app *app = &m->apps[side];
		while (app->taken < app->steps) {
			if (!app->chosen)
				app->pause = (enum pause)choice(m, PAUSES);
			app->chosen = true;
			if (app->pause > until)
				break;
			step(m, side);
			any = true;
		}
	}
	return any;
}

static void poll_due(struct model *m)
{
	for (int side = 0; side < 2; side++)
		for (int still = 0; m->d.due[side] <= m->d.now && !m->broken; still++) {
			duo_poll(&m->d, side);
			collect(m, side);
			if (still == 100)
				breaks(m, "an engine always has something to do at once");
		}
}

static bool time_goes_on(struct model *m, weft_ns limit)
{
	weft_ns next = m->d.due[0] < m->d.due[1] ? m->d.due[0] : m->d.due[1];
	if (next > m->d.now + QUIET_NS && held_packets(m))
		return true;
	if (next > limit)
		return false;
	m->d.now = next;
	return true;
}

/* Until `limit`, or until nothing happens any more. */
static void go_on(struct model *m, weft_ns limit)
{
	for (unsigned i = 0; !m->broken; i++) {
		step_if(m, AT_ONCE);
		poll_due(m);
		if (i == STEPS_MAX)
			breaks(m, "it has no end");
		if (packet(m)) {
			poll_due(m);
			step_if(m, AFTER_A_PACKET);
		} else if (!step_if(m, WHEN_QUIET) && !time_goes_on(m, limit)) {
			break;
		}
	}
}

static void come_to_rest(struct model *m)
{
	m->choices = NULL;
	for (int side = 0; side < 2; side++) {
		weft_engine_shutdown(m->d.e[side], m->d.now);
		m->d.due[side] = m->d.now;
	}
	go_on(m, m->d.now + REST_NS);
	if (!weft_engine_idle(m->d.e[0]) || !weft_engine_idle(m->d.e[1]))
		breaks(m, "an engine does not come to rest");
}

static void app_open(struct model *m, const struct model_program *program, int side)
{
	struct app *app = &m->apps[side];
	app->ops = program->ops[side];
	app->steps = 1 + (unsigned)strlen(app->ops);
	fill(app->mem[MODEL_OPS], SLOT_BYTES, seed_of(!side, MODEL_OPS));
	const struct weft_mr_attr attr = {
		.key = KEY, .base = app->mem, .bytes = sizeof app->mem, .access = WEFT_MR_READ | WEFT_MR_WRITE};
	assert_int_equal(weft_mr_add(m->d.e[side], &attr, &app->mr), 0);
}

static void model_open(struct model *m, const struct model_program *program)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = RNDV_BYTES;
	conf.tune.window_pkts = 128;
	conf.ring_entries = 16;
	duo_open(&m->d, &conf);
	m->d.latency_ns = AWAY_NS;
	m->d.fate = watch_fences;
	m->d.fate_arg = m;
	m->start_ns = m->d.now;
	app_open(m, program, 0);
	app_open(m, program, 1);
}

const char *model_run(const struct model_program *program, struct choices *choices)
{
	static struct model m;
	m = (struct model){.choices = choices};
	model_open(&m, program);
	go_on(&m, m.start_ns + END_NS);
	if (!is_done(&m))
		breaks(&m, "something has not ended");
	if (!m.broken)
		come_to_rest(&m);
	duo_close(&m.d);
	return m.broken;
}
