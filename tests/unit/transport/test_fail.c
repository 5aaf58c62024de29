/* SPDX-License-Identifier: BSD-3-Clause */
/* The port is gone: every operation ends, whatever it waits for, and later ones are refused. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"

enum { LEN = 100 };

static void submit(struct weft_ep *ep, struct weft_op op)
{
	assert_int_equal(weft_submit(ep, &op), 0);
}

/* Time passes, and nothing more comes of it. */
static void expect_quiet(struct duo *d)
{
	struct weft_cqe cqe;
	duo_run(d, d->now + WEFT_S(20));
	assert_false(duo_cqe(d, 0, &cqe));
}

static void fail__posted_receives(void **state)
{
	uint8_t one[LEN], tagged[LEN], many[LEN];
	struct duo d;
	open_default(&d);
	submit(d.ep[0],
	       (struct weft_op){.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = one, .len = LEN, .context = one});
	submit(d.ep[0], (struct weft_op){.kind = WEFT_OP_RECV,
					 .flags = WEFT_OP_MULTI,
					 .peer = WEFT_PEER_ANY,
					 .buf = many,
					 .len = LEN,
					 .context = many});
	duo_recv(&d, 0, tagged, LEN, 7, 0, tagged);
	duo_run(&d, d.now + WEFT_MS(1));
	weft_engine_fail(d.e[0], ENODEV);
	duo_expect(&d, 0, one, ENODEV);
	assert_int_equal(duo_expect(&d, 0, many, ENODEV).flags, WEFT_OP_MULTI);
	assert_int_equal(duo_expect(&d, 0, tagged, ENODEV).tag, 7);
	expect_quiet(&d);
	duo_close(&d);
}

/* Its first packet has arrived, the rest never will. */
static void fail__messages_under_way_both_ways(void **state)
{
	enum { LONG = 20 * 4096 };
	uint8_t *out = duo_pattern(LONG, 1), *in = calloc(1, LONG), piece[LEN];
	struct hit hit = {.first = 1, .last = UINT64_MAX, .fate = DUO_DROP};
	struct duo d;
	open_default(&d);
	duo_recv(&d, 1, in, LONG, 1, 0, in);
	duo_send(&d, 0, out, LONG, 1, out);
	d.fate = hit_data;
	d.fate_arg = &hit;
	duo_send(&d, 1, piece, LEN, 2, piece);
	duo_run(&d, d.now + WEFT_US(100));
	duo_expect(&d, 1, piece, 0);
	for (int side = 0; side < 2; side++)
		weft_engine_fail(d.e[side], ENODEV);
	duo_expect(&d, 0, out, ENODEV);
	duo_expect(&d, 1, in, ENODEV);
	expect_quiet(&d);
	assert_true(weft_engine_idle(d.e[0]) && weft_engine_idle(d.e[1]));
	duo_close(&d);
	free(in);
	free(out);
}

/* A send to ourselves that waits for its receive; an announced message that nobody wants. */
static void fail__messages_without_a_receive(void **state)
{
	uint8_t out[2] = {1}, local[LEN];
	struct duo_conf conf;
	struct duo d;
	uint32_t self;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 1;
	duo_open(&d, &conf);
	assert_int_equal(weft_peer_add(d.e[0], weft_peer_addr(d.e[1], d.peer[1]), &self), 0);
	submit(d.ep[0], (struct weft_op){.kind = WEFT_OP_TSEND,
					 .flags = WEFT_OP_MATCHED,
					 .peer = self,
					 .buf = local,
					 .len = LEN,
					 .tag = 3,
					 .context = local});
	duo_send(&d, 1, out, sizeof out, 4, out);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 0)->msg_unexpected, 2);
	weft_engine_fail(d.e[0], ENODEV);
	duo_expect(&d, 0, local, ENODEV);
	expect_quiet(&d);
	duo_close(&d);
}

static void fail__what_comes_later_is_refused(void **state)
{
	static const uint8_t kinds[] = {WEFT_OP_SEND, WEFT_OP_TSEND, WEFT_OP_RECV, WEFT_OP_TRECV,
					WEFT_OP_PEEK, WEFT_OP_WRITE, WEFT_OP_READ};
	uint8_t buf[LEN];
	struct duo d;
	open_default(&d);
	duo_recv(&d, 0, buf, LEN, 1, 0, buf); /* the engine has not looked at this one yet */
	weft_engine_fail(d.e[0], ENODEV);
	for (unsigned i = 0; i < sizeof kinds; i++)
		submit(d.ep[0],
		       (struct weft_op){.kind = kinds[i], .peer = d.peer[0], .buf = buf, .len = LEN, .context = buf});
	submit(d.ep[0], (struct weft_op){.kind = WEFT_OP_CANCEL, .context = buf});
	duo_run(&d, d.now + WEFT_MS(1));
	for (unsigned i = 0; i < 1 + sizeof kinds; i++)
		duo_expect(&d, 0, buf, ENODEV);
	assert_int_equal(duo_stats(&d, 0)->msg_failed, 1 + sizeof kinds);
	expect_quiet(&d);
	duo_close(&d);
}

/* More completions than their ring holds: none is lost, and the engine wants to be polled for them. */
static void fail__with_a_full_ring_of_completions(void **state)
{
	enum { RECVS = 40 };
	uint8_t in[LEN];
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.ring_entries = 16;
	duo_open(&d, &conf);
	for (int i = 0; i < RECVS; i++) {
		duo_recv(&d, 0, in, LEN, 1, 0, in);
		duo_poll(&d, 0);
	}
	weft_engine_fail(d.e[0], ENODEV);
	for (int i = 0; i < RECVS; i++) {
		duo_expect(&d, 0, in, ENODEV);
		duo_poll(&d, 0);
	}
	expect_quiet(&d);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail__posted_receives),
		cmocka_unit_test(fail__messages_under_way_both_ways),
		cmocka_unit_test(fail__messages_without_a_receive),
		cmocka_unit_test(fail__what_comes_later_is_refused),
		cmocka_unit_test(fail__with_a_full_ring_of_completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
