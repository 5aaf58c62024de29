/* SPDX-License-Identifier: BSD-3-Clause */
/* Many messages both ways while a rotating mask decides which packets suffer: a failing case is one seed. */
#include "cmocka_all.h"

#include <stdlib.h>

#include "inside.h"

enum { MESSAGES = 24, TAGS = 3, SEEDS_PER_CASE = 12 };

struct message {
	uint8_t *out, *in;
	uint32_t len, tag;
	bool sent, received;
};

struct run {
	struct duo d;
	struct rng rng;
	uint64_t mask[2]; /* bit per packet, by side */
	uint32_t hits;
	bool trimming;
	bool narrow;                   /* the path's MTU changes all the time */
	uint32_t too_large;            /* packets it did not carry, or late */
	struct message m[2][MESSAGES]; /* by sender */
};

/* What the path carries for a while, IP bytes. */
static uint32_t mtu_at(weft_ns now)
{
	static const uint32_t mtus[] = {9000, 1500, 1500, 1500, 1500, 9000, 4300, 2200};
	return mtus[now / WEFT_US(250) & 7];
}

/* What a switch does to this kind of packet: only data is trimmed or marked. */
static enum duo_fate fate_of(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const enum duo_fate kinds[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_MARK, DUO_TRIM, DUO_TRIM_LASTHOP};
	struct run *r = arg;
	if (r->narrow && (uint32_t)w->header_bytes + w->payload_bytes > mtu_at(r->d.now)) {
		r->too_large++;
		return r->too_large & 3 ? DUO_DROP : DUO_LATE;
	}
	if (!(r->mask[from] >> (nth & 63) & 1))
		return DUO_PASS;
	r->hits++;
	enum duo_fate fate = kinds[(rng_next(&r->rng) >> 33) % 6];
	if ((fate == DUO_TRIM || fate == DUO_TRIM_LASTHOP) && !(r->trimming && w->net.dscp == WIRE_DSCP_TRIMMABLE))
		return DUO_DROP;
	return fate == DUO_MARK && w->net.dscp != WIRE_DSCP_TRIMMABLE ? DUO_LATE : fate;
}

static uint32_t random_len(struct rng *rng)
{
	uint32_t x = (uint32_t)(rng_next(rng) >> 32);
	switch (x & 3) {
	case 0:
		return x >> 2 & 15;
	case 1:
		return (x >> 2) % 9000;
	default:
		return (x >> 2) % 120000;
	}
}

static void messages_new(struct run *r)
{
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < MESSAGES; i++) {
			struct message *m = &r->m[side][i];
			m->len = random_len(&r->rng);
			m->tag = (uint32_t)(rng_next(&r->rng) >> 40) % TAGS;
			m->out = duo_pattern(m->len, (uint64_t)(side * MESSAGES + i));
			m->in = calloc(1, m->len + 1);
		}
}

/* Sends in order and receives in order, a random one of the four next each time, with pauses. */
static void submit_all(struct run *r)
{
	int sends[2] = {0, 0}, recvs[2] = {0, 0};
	while (sends[0] + sends[1] + recvs[0] + recvs[1] < 4 * MESSAGES) {
		uint64_t x = rng_next(&r->rng) >> 40;
		int side = x & 1;
		int *next = x & 2 ? &sends[side] : &recvs[side];
		if (*next == MESSAGES)
			continue;
		struct message *m = &r->m[side][(*next)++];
		if (x & 2)
			duo_send(&r->d, side, m->out, m->len, m->tag, m);
		else
			duo_recv(&r->d, !side, m->in, m->len, m->tag, 0, m);
		if ((x & 12) == 0)
			duo_run(&r->d, r->d.now + (x >> 4) % 20000);
	}
}

static void collect(struct run *r, int side)
{
	struct weft_cqe cqe;
	while (duo_cqe(&r->d, side, &cqe)) {
		struct message *m = cqe.context;
		assert_int_equal(cqe.err, 0);
		assert_int_equal(cqe.len, m->len);
		assert_int_equal(cqe.tag, m->tag);
		bool *done = cqe.kind == WEFT_OP_TSEND ? &m->sent : &m->received;
		assert_false(*done);
		*done = true;
	}
}

static void verify(struct run *r)
{
	collect(r, 0);
	collect(r, 1);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < MESSAGES; i++) {
			struct message *m = &r->m[side][i];
			assert_true(m->sent);
			assert_true(m->received);
			assert_memory_equal(m->in, m->out, m->len);
			free(m->in);
			free(m->out);
		}
	assert_int_equal(weft_engine_stats(r->d.e[0])->msg_received, MESSAGES);
	assert_int_equal(weft_engine_stats(r->d.e[1])->msg_received, MESSAGES);
}

static void run(const struct duo_conf *conf, uint64_t seed, uint64_t *withdrawn)
{
	struct run r = {.rng = {seed}, .trimming = conf->tune.trimming, .narrow = conf->tune.pmtu_discovery};
	for (int i = 0; i < 2; i++)
		r.mask[i] = rng_next(&r.rng) & rng_next(&r.rng) & rng_next(&r.rng);
	duo_open(&r.d, conf);
	r.d.late_ns = 1000 + (rng_next(&r.rng) >> 40) % 60000;
	r.d.fate = fate_of;
	r.d.fate_arg = &r;
	messages_new(&r);
	submit_all(&r);
	duo_run(&r.d, r.d.now + WEFT_S(4));
	verify(&r);
	assert_true(r.hits > 0);
	*withdrawn += weft_engine_stats(r.d.e[0])->tx_withdrawn + weft_engine_stats(r.d.e[1])->tx_withdrawn;
	for (int i = 0; i < 2; i++)
		weft_engine_shutdown(r.d.e[i], r.d.now);
	duo_run(&r.d, r.d.now + WEFT_S(8));
	for (int i = 0; i < 2; i++) {
		assert_true(weft_engine_idle(r.d.e[i]));
		assert_int_equal(weft_engine_stats(r.d.e[i])->pdc_failed, 0);
	}
	duo_close(&r.d);
}

/* One test each. */
struct variant {
	uint32_t ack_every, window_pkts;
	bool trimming, smartt;
	uint32_t rndv_bytes; /* 0: nothing is announced */
	bool narrow;
};

static void random__everything_arrives(void **state)
{
	const struct variant *v = *state;
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.ack_every = v->ack_every;
	conf.tune.window_pkts = v->window_pkts;
	conf.tune.trimming = v->trimming;
	conf.tune.rndv_bytes = v->rndv_bytes;
	conf.cc = v->smartt ? "smartt" : "fixed";
	conf.lb = v->smartt ? "reps" : "ops";
	if (v->narrow) {
		conf.tune.pmtu_discovery = 1;
		conf.tune.job_id = 5; /* what is said in place of a packet is refused for what it says, not for this */
		conf.tune.payload_bytes = 8192;
		conf.tune.pmtu_raise_ns = WEFT_US(100);
		conf.tune.link_bps = 10000000000;
	}
	uint64_t withdrawn = 0;
	for (uint64_t seed = 1; seed <= SEEDS_PER_CASE; seed++) {
		conf.seed = seed * 1000 + v->ack_every;
		print_message("seed %u\n", (unsigned)conf.seed);
		run(&conf, conf.seed, &withdrawn);
	}
	assert_true(!v->narrow || withdrawn > 0);
}

int main(void)
{
	static struct variant variants[] = {
		{1, 1024, true, false, 4000},
		{16, 1024, false, true, 30000},
		{1, 1024, true, false},
		{1, 1024, false, false},
		{1, 128, true, true},
		{1, 1024, false, true},
		{4, 1024, true, true},
		{16, 1024, true, true},
		{64, 1024, true, true},
		{4, 128, false, true},
		{64, 1024, false, true},
		{16, 128, true, false},
		{64, 128, true, false},
		{1, 1024, true, false, 4000, true},
		{16, 128, false, true, 0, true},
		{64, 1024, true, true, 0, true},
	};
	enum { COUNT = sizeof variants / sizeof *variants };
	struct CMUnitTest tests[COUNT];
	for (int i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){"random__everything_arrives", random__everything_arrives, NULL, NULL,
					       &variants[i]};
	return tests_run("random", tests, COUNT, NULL, NULL);
}
