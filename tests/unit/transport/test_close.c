/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint closes while requests to it are here and wait for their turn: for a message before them that was lost. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"
#include "rma_duo.h"

enum { BYTES = 20000 };

/* The first packet of side 0 is lost. */
static enum duo_fate lose_first(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && nth == 0 ? DUO_DROP : DUO_PASS;
}

/* A message of side 0 is lost, then it asks for something of side 1, whose endpoint closes. */
static void lose_ask_close(struct rma_duo *r, const struct weft_op *op, uint8_t *lost)
{
	r->d.fate = lose_first;
	duo_send(&r->d, 0, lost, 8, 7, lost);
	rma_submit(&r->d, 0, op);
	duo_run(&r->d, r->d.now + WEFT_US(15));
	assert_false(list_empty(&r->d.e[1]->pds.rxs));
	weft_ep_close(r->d.ep[1]);
	r->d.due[1] = r->d.now;
	duo_run(&r->d, r->d.now + WEFT_MS(50));
}

static void ep_close__requests_that_wait_are_refused(void **state)
{
	uint64_t operand = 5, was[2000];
	const struct weft_op_atomic sum = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = was};
	const struct weft_op ops[] = {
		{.kind = WEFT_OP_READ, .buf = was, .len = 8, .rkey = RMA_KEY},
		{.kind = WEFT_OP_READ, .buf = was, .len = sizeof was, .rkey = RMA_KEY},
		{.kind = WEFT_OP_FETCH_ATOMIC, .buf = &operand, .len = 8, .rkey = RMA_KEY, .atomic = &sum}};
	for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
		struct rma_duo r;
		uint8_t lost[8] = {0};
		struct weft_cqe cqe;
		unsigned ended = 0;
		rma_open(&r, NULL, BYTES, WEFT_MR_READ | WEFT_MR_WRITE);
		lose_ask_close(&r, &ops[i], lost);
		for (; duo_cqe(&r.d, 0, &cqe); ended++)
			assert_int_equal(cqe.err, EHOSTUNREACH);
		assert_int_equal(ended, 2);
		assert_int_equal(*(uint64_t *)(void *)r.mem, 0);
		rma_close(&r);
	}
}

/* The message lives on in a copy, and its receiver has a buffer for it. */
static void ep_close__announced_message_is_fetched(void **state)
{
	struct duo d;
	struct duo_conf conf;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES), *want = duo_pattern(BYTES, 3), lost[8] = {0};
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 1000;
	duo_open(&d, &conf);
	d.fate = lose_first;
	duo_recv(&d, 0, in, BYTES, 7, 0, in);
	duo_send(&d, 0, lost, 8, 7, lost);
	duo_send(&d, 1, out, BYTES, 7, out);
	duo_run(&d, d.now + WEFT_US(15));
	weft_ep_close(d.ep[1]);
	memset(out, 0, BYTES);
	d.due[1] = d.now;
	duo_run(&d, d.now + WEFT_MS(50));
	duo_expect(&d, 0, lost, EHOSTUNREACH);
	duo_expect(&d, 0, in, 0);
	assert_memory_equal(in, want, BYTES);
	duo_close(&d);
	free(out);
	free(in);
	free(want);
}

enum { LONG = 300000 };

/* An announced message of side 0 that side 1 is fetching. */
struct fetch {
	struct duo d;
	uint8_t *out, *in;
};

static void fetch_begin(struct fetch *f)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 1000;
	duo_open(&f->d, &conf);
	f->out = duo_pattern(LONG, 3);
	f->in = calloc(1, LONG);
	duo_recv(&f->d, 1, f->in, LONG, 7, 0, f->in);
	duo_send(&f->d, 0, f->out, LONG, 7, f->out);
	duo_run(&f->d, f->d.now + WEFT_US(14));
	assert_int_equal(f->d.e[0]->ses.answers, 1);
}

/* Its end at side 1: all of it is right, or an error says that it is not. */
static void fetch_end(struct fetch *f, int err)
{
	uint8_t *want = duo_pattern(LONG, 3);
	memset(f->out, 0, LONG); /* the application's again */
	f->d.due[0] = f->d.now;
	duo_run(&f->d, f->d.now + WEFT_S(4));
	duo_expect(&f->d, 1, f->in, err);
	if (!err)
		assert_memory_equal(f->in, want, LONG);
	duo_close(&f->d);
	free(want);
	free(f->out);
	free(f->in);
}

static void fail__announced_message_with_its_answer_under_way(void **state)
{
	for (int has_mem = 0; has_mem < 2; has_mem++) {
		struct fetch f;
		fetch_begin(&f);
		f.d.mem[0].fail_at = has_mem ? 0 : f.d.mem[0].calls + 1;
		pdc_tx_fail(&f.d.e[0]->pds, first_tx(f.d.e[0]), ETIMEDOUT);
		duo_expect(&f.d, 0, f.out, ETIMEDOUT);
		fetch_end(&f, has_mem ? 0 : ECONNRESET);
	}
}

/* There is memory for a copy of the message, but not for one of the next. */
static void ep_close__without_memory_for_all_copies(void **state)
{
	struct fetch f;
	uint8_t next[100] = {1};
	fetch_begin(&f);
	duo_send(&f.d, 0, next, sizeof next, 8, next);
	duo_poll(&f.d, 0);
	f.d.mem[0].fail_at = f.d.mem[0].calls + 2;
	weft_ep_close(f.d.ep[0]);
	assert_int_equal(duo_stats(&f.d, 0)->pdc_failed, 1);
	fetch_end(&f, 0);
}

/* The connection of side `side` that is the nth there fails. False: there is none. */
static bool fail_tx(struct duo *d, int side, int nth, int err)
{
	list_for_each (l, &d->e[side]->pds.txs)
		if (!nth--) {
			pdc_tx_fail(&d->e[side]->pds, list_entry(l, struct pdc_tx, link), err);
			d->due[side] = d->now;
			return true;
		}
	return false;
}

/* A connection of one side fails there, while both hosts live: the sender learns how its message ended, and what is
 * said to have arrived is right. False: that side had no such connection. */
static bool fail_at(weft_ns after_ns, int side, int nth, int err)
{
	struct duo d;
	struct duo_conf conf;
	struct weft_cqe sent, received;
	uint8_t *out = duo_pattern(LONG, 3), *in = calloc(1, LONG);
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 1000;
	duo_open(&d, &conf);
	duo_recv(&d, 1, in, LONG, 7, 0, in);
	duo_send(&d, 0, out, LONG, 7, out);
	duo_run(&d, d.now + after_ns);
	bool failed = fail_tx(&d, side, nth, err);
	duo_run(&d, d.now + 2 * conf.tune.peer_timeout_ns);
	assert_true(duo_cqe(&d, 0, &sent));
	if (duo_cqe(&d, 1, &received) && !received.err)
		assert_memory_equal(in, out, LONG);
	duo_close(&d);
	free(out);
	free(in);
	return failed;
}

static void fail__announced_message_at_any_moment(void **state)
{
	static const int errs[] = {ETIMEDOUT, ECONNRESET, ENETUNREACH, ENOMEM};
	for (unsigned e = 0; e < sizeof errs / sizeof *errs; e++)
		for (weft_ns after_ns = 0; after_ns < WEFT_US(60); after_ns += 2000)
			for (int side = 0; side < 2; side++)
				for (int nth = 0; fail_at(after_ns, side, nth, errs[e]); nth++)
					assert_true(nth < 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ep_close__requests_that_wait_are_refused),
		cmocka_unit_test(ep_close__announced_message_is_fetched),
		cmocka_unit_test(fail__announced_message_with_its_answer_under_way),
		cmocka_unit_test(ep_close__without_memory_for_all_copies),
		cmocka_unit_test(fail__announced_message_at_any_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
