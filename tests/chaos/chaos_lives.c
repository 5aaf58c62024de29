/* SPDX-License-Identifier: BSD-3-Clause */
/* chaos_lives KEY=VALUE... - two hosts that live several lives: they crash and start again with fresh numbers at the
 * same address, their memory is short, and the wire loses, repeats, delays and trims packets. What must hold:
 *   - a message that is delivered has its own bytes, comes at most once in a life of its receiver, and never when it
 * had ended before that life began;
 *   - only a crash makes operations fail; without one every message is delivered;
 *   - when the wire has healed everything ends in time, and then every message arrives again;
 *   - packets and memory come home.
 * It prints one line of numbers. A broken promise aborts. Exit status 1: bad options; 3: parameters that no engine
 * takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lives.h"

enum { REFUSED = 3, POLLS_MAX = 4000000, STILL_POLLS = 5000, ROUND_NS = 3000000, BASE_RTOS = 10, RTO_BRTTS = 7 };
enum { RING_ENTRIES = 2048, MILLION = 1000000, HEADER_BYTES = 500 };

#define NUMBER(key, help, def, min, max)                                                                               \
	{                                                                                                              \
#key, help, def, min, max, offsetof(struct lives_conf, key), WEFT_PARAM_U32                            \
	}

const struct weft_param lives_options[] = {
	{"seed", "of all that is random", 1, 0, UINT64_MAX, offsetof(struct lives_conf, seed), WEFT_PARAM_U64},
	NUMBER(rounds, "of faults, each with its end", 3, 1, 100),
	NUMBER(messages, "in a round", 40, 1, LIVES_MESSAGES / 2),
	NUMBER(bytes, "of the longest message", 20000, 1, LIVES_BYTES),
	NUMBER(crashes, "in a round", 1, 0, 8),
	NUMBER(down_us, "longest time a host is down; never shorter than late_ns", 2000, 0, MILLION),
	NUMBER(loss_ppm, "packets lost", 0, 0, MILLION),
	NUMBER(dup_ppm, "packets that come twice", 0, 0, MILLION),
	NUMBER(late_ppm, "packets that come late", 0, 0, MILLION),
	NUMBER(trim_ppm, "packets trimmed, those that may be", 0, 0, MILLION),
	NUMBER(mark_ppm, "packets marked", 0, 0, MILLION),
	NUMBER(late_ns, "how late", 20000, 0, MILLION),
	NUMBER(outages, "in a round: no packet passes", 0, 0, 8),
	NUMBER(outage_us, "longest outage", 1000, 0, MILLION),
	NUMBER(nomem, "the n-th allocation of a round fails at either host; 0: none", 0, 0, MILLION),
	NUMBER(boot_nomem, "the n-th allocation of a start fails, which is tried again; 0: none", 0, 0, MILLION),
	{"nomem_rest", "and so do all after it, until the round heals", 0, 0, 1,
	 offsetof(struct lives_conf, nomem_rest), WEFT_PARAM_BOOL},
	{NULL, NULL, 0, 0, 0, 0, 0},
};

static struct lives lives;

static bool happens(struct rng *dice, uint32_t ppm)
{
	return ppm && rng_below(dice, MILLION) < ppm;
}

static enum duo_fate fate_of(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct lives *l = arg;
	bool data = w->net.dscp == WIRE_DSCP_TRIMMABLE;
	(void)from;
	(void)nth;
	if (l->d.now < l->dark_until)
		return DUO_DROP;
	if (!l->bad)
		return DUO_PASS;
	if (happens(&l->wire, l->conf.loss_ppm))
		return DUO_DROP;
	if (happens(&l->wire, l->conf.dup_ppm))
		return DUO_DUP;
	if (happens(&l->wire, l->conf.late_ppm))
		return DUO_LATE;
	if (data && l->duo.tune.trimming && happens(&l->wire, l->conf.trim_ppm))
		return DUO_TRIM;
	return data && happens(&l->wire, l->conf.mark_ppm) ? DUO_MARK : DUO_PASS;
}

/* ---- time ---- */

static weft_ns next_of(const struct lives *l, int side)
{
	return l->up[side] ? duo_next(&l->d, side) : WEFT_NEVER;
}

static void poll(struct lives *l, int side)
{
	if (!l->up[side])
		return;
	duo_poll(&l->d, side);
	lives_collect(l, side);
}

/* Until then, or until `over` says so. */
static void run(struct lives *l, weft_ns until, bool (*over)(const struct lives *l))
{
	uint32_t polls = 0, still = 0;
	poll(l, 0);
	poll(l, 1);
	while (!over || !over(l)) {
		weft_ns a = next_of(l, 0), b = next_of(l, 1), at = a < b ? a : b;
		if (at > until || at == WEFT_NEVER)
			break;
		still = at > l->d.now ? 0 : still + 1;
		assert_true(still < STILL_POLLS); /* time stands still */
		assert_true(++polls < POLLS_MAX);
		if (at > l->d.now)
			l->d.now = at;
		poll(l, a <= b ? 0 : 1);
	}
	if (l->d.now < until && !(over && over(l)))
		l->d.now = until;
}

static bool all_arrived(const struct lives *l)
{
	return !lives_open_sends(l) && !lives_owed(l);
}

static bool recvs_ended(const struct lives *l)
{
	return !lives_open_recvs(l);
}

/* ---- faults ---- */

static void crash(struct lives *l, int side)
{
	poll(l, side);
	lives_drop(l, side);
	duo_crash(&l->d, side);
	l->up[side] = false;
	l->life[side]++;
	l->crashed++;
}

static void boot(struct lives *l, int side)
{
	struct weft_err err = {""};
	struct duo_mem *mem = &l->d.mem[side];
	l->duo.seed = rng_next(&l->dice);
	mem->fail_at = l->conf.boot_nomem ? mem->calls + l->conf.boot_nomem : 0;
	mem->fail_rest = false;
	if (duo_boot(&l->d, &l->duo, side, &err)) {
		assert_true(mem->fail_at && mem->calls >= mem->fail_at && err.msg[0]);
		l->boots_refused++;
		assert_int_equal(duo_boot(&l->d, &l->duo, side, &err), 0);
	}
	mem->fail_at = 0;
	l->born[side] = l->d.now;
	l->up[side] = true;
	lives_post(l, side);
}

/* Down for so long that no packet to the old life comes to the new one: a late first packet opens a connection. */
static void step_crash(struct lives *l)
{
	int side = (int)rng_below(&l->dice, 2);
	weft_ns down = WEFT_US(rng_below(&l->dice, 1 + l->conf.down_us)), least = lives_late_ns(l);
	crash(l, side);
	run(l, l->d.now + (down > least ? down : least), NULL);
	boot(l, side);
}

static void step_outage(struct lives *l)
{
	l->dark_until = l->d.now + WEFT_US(rng_below(&l->dice, 1 + l->conf.outage_us));
}

static void nomem(struct lives *l)
{
	for (int i = 0; i < 2 && l->conf.nomem; i++) {
		struct duo_mem *mem = &l->d.mem[i];
		mem->fail_at = mem->calls + l->conf.nomem;
		mem->fail_rest = l->conf.nomem_rest;
	}
}

static void heal(struct lives *l)
{
	l->bad = false;
	for (int i = 0; i < 2; i++)
		l->d.mem[i].fail_at = 0;
}

/* ---- rounds ---- */

static void begin_round(struct lives *l)
{
	l->msg_count = l->recv_count = 0;
	memcpy(l->round_life, l->life, sizeof l->round_life);
	lives_post(l, 0);
	lives_post(l, 1);
}

/* One of the events that are left, each with equal chance. */
static void step(struct lives *l, uint32_t *sends, uint32_t *crashes, uint32_t *outages)
{
	uint32_t x = rng_below(&l->dice, *sends + *crashes + *outages);
	static const weft_ns pauses_ns[] = {0, 0, 0, WEFT_US(2), WEFT_US(20), ROUND_NS / 10};
	weft_ns pause_ns = pauses_ns[rng_below(&l->dice, sizeof pauses_ns / sizeof pauses_ns[0])];
	run(l, l->d.now + rng_below(&l->dice, 1 + pause_ns), NULL);
	if (x < *sends) {
		lives_send(l);
		(*sends)--;
	} else if (x < *sends + *crashes) {
		step_crash(l);
		(*crashes)--;
	} else {
		step_outage(l);
		(*outages)--;
	}
}

static weft_ns base_rto(const struct lives *l)
{
	const struct weft_engine_tune *t = &l->duo.tune;
	weft_ns known = RTO_BRTTS * (t->brtt_ns ? t->brtt_ns : WEFT_US(10)), floor = RTO_BRTTS * t->brtt_floor_ns;
	weft_ns rto = known > floor ? known : floor;
	weft_ns pkts = RTO_BRTTS * (weft_ns)t->brtt_floor_pkts * (t->payload_bytes + HEADER_BYTES) * 8 /
		       (t->link_bps / 1000000000);
	rto = pkts > rto ? pkts : rto;
	rto = t->rto_ns > rto ? t->rto_ns : rto;
	return t->probe_rate == 2 && rto < WEFT_MS(100) ? WEFT_MS(100) : rto;
}

/* When everything has ended: ten base RTOs; as long again as the wire was bad, because timeouts double; the time of the
 * messages on a link of a hundredth of the rate; and after a crash what peers are allowed to be silent, twice: for the
 * sender and for the receiver of what it left. */
static weft_ns patience(const struct lives *l, weft_ns bad_ns)
{
	weft_ns work = (weft_ns)l->msg_count * (l->conf.bytes + HEADER_BYTES) * 8;
	bool crashed = memcmp(l->round_life, l->life, sizeof l->life) != 0;
	return BASE_RTOS * base_rto(l) + 2 * bad_ns + work + (crashed ? 2 * l->duo.tune.peer_timeout_ns : 0);
}

static void end_round(struct lives *l, weft_ns bad_ns)
{
	weft_ns limit = patience(l, bad_ns);
	run(l, l->d.now + limit, all_arrived);
	assert_int_equal(lives_open_sends(l), 0);
	assert_int_equal(lives_owed(l), 0);
	lives_cancel(l);
	run(l, l->d.now + limit, recvs_ended);
	assert_int_equal(lives_open_recvs(l), 0);
	run(l, l->d.now + limit, NULL); /* connections that were closing when the peer crashed close, too */
}

static void bad_round(struct lives *l)
{
	uint32_t sends = l->conf.messages, crashes = l->conf.crashes, outages = l->conf.outages;
	weft_ns begin = l->d.now;
	begin_round(l);
	l->bad = true;
	nomem(l);
	while (sends + crashes + outages)
		step(l, &sends, &crashes, &outages);
	run(l, l->dark_until, NULL);
	heal(l);
	run(l, l->d.now + lives_late_ns(l), NULL); /* copies of messages that have ended come, too */
	end_round(l, l->d.now - begin);
}

/* On a wire without faults nothing fails, whatever was before. */
static void good_round(struct lives *l)
{
	begin_round(l);
	for (uint32_t i = 0; i < l->conf.messages; i++)
		lives_send(l);
	end_round(l, 0);
}

/* ---- options ---- */

static int refuse(const struct weft_err *err, int status)
{
	fprintf(stderr, "chaos_lives: %s\n", err->msg);
	return status;
}

static int take_option(struct lives *l, char *word, struct weft_err *err)
{
	char *value = strchr(word, '=');
	struct weft_cc_choice choice;
	if (!value)
		return weft_err_set(err, -1, "'%s' is not KEY=VALUE", word);
	*value++ = 0;
	if (!strcmp(word, "cc")) {
		l->duo.cc = value;
		return weft_cc_select(value, &choice, err);
	}
	if (!strcmp(word, "lb")) {
		l->duo.lb = value;
		return weft_lb_find(value) ? 0 : weft_err_set(err, -1, "no load balancing '%s'", value);
	}
	int rc = weft_param_set(lives_options, &l->conf, word, value, NULL);
	return rc ? weft_param_set(weft_engine_tunes, &l->duo.tune, word, value, err) : 0;
}

/* Keys and ranges of the engine's parameters, for who chooses at random. */
static int list_parameters(void)
{
	for (const struct weft_param *p = weft_engine_tunes; p->key; p++)
		printf("%s %llu %llu %llu\n", p->key, (unsigned long long)p->def, (unsigned long long)p->min,
		       (unsigned long long)p->max);
	return 0;
}

/* Whether an engine takes these parameters at all. */
static int try_parameters(struct lives *l)
{
	struct weft_err err = {""};
	duo_init(&l->d);
	int rc = duo_boot(&l->d, &l->duo, 0, &err);
	duo_crash(&l->d, 0);
	return rc ? refuse(&err, REFUSED) : 0;
}

static void live(struct lives *l)
{
	duo_open(&l->d, &l->duo);
	l->d.fate = fate_of;
	l->d.fate_arg = l;
	l->d.late_ns = l->conf.late_ns;
	l->up[0] = l->up[1] = true;
	for (uint32_t i = 0; i < l->conf.rounds; i++)
		bad_round(l);
	good_round(l);
	printf("packets %llu delivered %llu failed %llu crashes %llu refused %llu\n",
	       (unsigned long long)(l->d.sent[0] + l->d.sent[1]), (unsigned long long)l->delivered,
	       (unsigned long long)l->failed, (unsigned long long)l->crashed, (unsigned long long)l->boots_refused);
	duo_close(&l->d);
}

int main(int argc, char **argv)
{
	struct lives *l = &lives;
	struct weft_err err = {""};
	setenv("CMOCKA_TEST_ABORT", "1", 0); /* outside a test of cmocka's it would end without its message */
	if (argc == 2 && !strcmp(argv[1], "parameters"))
		return list_parameters();
	duo_conf_init(&l->duo);
	weft_param_defaults(lives_options, &l->conf);
	l->duo.ring_entries = RING_ENTRIES;
	l->duo.ids_by_seed = true;
	for (int i = 1; i < argc; i++)
		if (take_option(l, argv[i], &err))
			return refuse(&err, 1);
	l->duo.seed = l->conf.seed;
	l->dice.state = rng_mix(l->conf.seed);
	l->wire.state = rng_mix(l->conf.seed + 1);
	int rc = try_parameters(l);
	if (!rc)
		live(l);
	return rc;
}
