/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

static void open_small(struct duo *d)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.ring_entries = 16;
	duo_open(d, &conf);
}

static void open__numbers(void **state)
{
	struct weft_err err = {""};
	struct weft_ep *ep[2];
	struct duo d;
	open_default(&d);
	assert_int_equal(weft_ep_open(d.e[0], 100, 16, 16, &ep[0], &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "100"));
	assert_int_equal(weft_ep_open(d.e[0], 0, 1, 17, &ep[0], &err), 0);
	assert_int_equal(weft_ep_open(d.e[0], 0, 1, 1, &ep[1], &err), 0);
	assert_int_equal(weft_ep_port(ep[0]), 0xC000);
	assert_int_equal(weft_ep_port(ep[1]), 0xC001);
	assert_int_equal(weft_sq_space(ep[0]), 16);
	weft_ep_close(ep[0]);
	assert_int_equal(weft_ep_open(d.e[0], 0, 1, 1, &ep[0], &err), 0);
	assert_int_equal(weft_ep_port(ep[0]), 0xC000);
	duo_close(&d);
}

/* The smallest free number, whatever was opened and closed before. */
static void open__numbers_of_many(void **state)
{
	enum { MANY = 300 };
	struct weft_err err = {""};
	struct weft_ep *ep[MANY], *asked;
	struct duo d;
	open_default(&d);
	assert_int_equal(weft_ep_open(d.e[0], 0xC000 + 7, 1, 1, &asked, &err), 0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(weft_ep_open(d.e[0], 0, 1, 1, &ep[i], &err), 0);
		assert_int_equal(weft_ep_port(ep[i]), 0xC000 + i + (i >= 7));
	}
	static const int gaps[] = {200, 3, 100};
	static const uint16_t refilled[] = {0xC000 + 3, 0xC000 + 101, 0xC000 + 201, 0xC000 + MANY + 1};
	for (int i = 0; i < 3; i++)
		weft_ep_close(ep[gaps[i]]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(weft_ep_open(d.e[0], 0, 1, 1, &ep[0], &err), 0);
		assert_int_equal(weft_ep_port(ep[0]), refilled[i]);
	}
	duo_close(&d);
}

/* Among many, and beside one of that number that nothing can be addressed to. */
static void find__by_number(void **state)
{
	enum { MANY = 500, WANTED = 321 };
	struct weft_err err = {""};
	struct weft_ep *ep[MANY], *hidden;
	struct duo d;
	open_default(&d);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(weft_ep_open(d.e[1], (uint16_t)(1000 + i), 16, 16, &ep[i], &err), 0);
	assert_int_equal(weft_ep_open_hidden(d.e[1], 1000 + WANTED, 16, 16, &hidden, &err), 0);
	struct weft_addr addr = {d.e[1]->pds.conf.ip, 1000 + WANTED};
	uint8_t out = 9, in = 0;
	struct weft_op send = {.kind = WEFT_OP_SEND, .buf = &out, .len = 1, .context = &out};
	struct weft_op recv = {.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = &in, .len = 1};
	assert_int_equal(weft_peer_add(d.e[0], &addr, &send.peer), 0);
	for (int left = 0; left < 2; left++) {
		assert_int_equal(weft_submit(ep[WANTED], &recv), 0);
		duo_poll(&d, 1);
		assert_int_equal(weft_submit(d.ep[0], &send), 0);
		duo_run(&d, d.now + WEFT_MS(1));
		duo_expect(&d, 0, &out, 0);
		assert_int_equal(in, 9 + left);
		out++;
		if (left == 0)
			weft_ep_close(hidden);
	}
	weft_ep_close(ep[WANTED]);
	assert_int_equal(weft_submit(d.ep[0], &send), 0);
	duo_run(&d, d.now + WEFT_MS(50));
	duo_expect(&d, 0, &out, EHOSTUNREACH);
	duo_close(&d);
}

/* Endpoint, rings, and at the ninth a larger table of numbers. The caller's pointer is written once it is open. */
static void open__without_memory(void **state)
{
	struct weft_err err = {""};
	struct weft_ep *ep, *untouched = NULL;
	struct duo d;
	open_default(&d);
	for (uint16_t i = 0; i < 7; i++)
		assert_int_equal(weft_ep_open(d.e[0], 10 + i, 16, 16, &ep, &err), 0);
	for (uint64_t n = 1; n <= 4; n++) {
		int64_t live = d.mem[0].live;
		d.mem[0].fail_at = d.mem[0].calls + n;
		assert_int_equal(weft_ep_open(d.e[0], 5, 16, 16, &untouched, &err), -ENOMEM);
		assert_int_equal(d.mem[0].live, live);
		assert_null(untouched);
	}
	assert_int_equal(weft_ep_open(d.e[0], 5, 16, 16, &ep, &err), 0);
	duo_close(&d);
}

static void submit__ring_full(void **state)
{
	struct weft_op op = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY};
	struct duo d;
	open_small(&d);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(weft_sq_space(d.ep[0]), 16 - i);
		assert_int_equal(weft_submit(d.ep[0], &op), 0);
	}
	assert_int_equal(weft_submit(d.ep[0], &op), -EAGAIN);
	duo_poll(&d, 0);
	assert_int_equal(weft_submit(d.ep[0], &op), 0);
	duo_close(&d);
}

static void submit__more_than_a_poll_takes(void **state)
{
	struct duo d;
	struct weft_op op = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY};
	open_default(&d);
	for (int i = 0; i < 200; i++)
		assert_int_equal(weft_submit(d.ep[0], &op), 0);
	assert_true(weft_engine_poll(d.e[0], d.now) == d.now);
	while (weft_engine_poll(d.e[0], d.now) == d.now)
		;
	assert_int_equal(weft_sq_space(d.ep[0]), 1024);
	duo_close(&d);
}

static void submit__impossible_operations(void **state)
{
	struct duo d;
	uint8_t byte;
	open_default(&d);
	struct weft_op ops[] = {
		{.kind = 200},
		{.kind = WEFT_OP_TSEND, .peer = 12345, .buf = &byte, .len = 1},
		{.kind = WEFT_OP_SEND, .peer = WEFT_PEER_ANY, .buf = &byte, .len = 1},
		{.kind = WEFT_OP_TSEND, .peer = d.peer[0], .len = UINT32_MAX},
	};
	static const int errs[] = {EINVAL, EINVAL, EINVAL, EMSGSIZE};
	struct weft_addr v6 = {.ip = {{0xfd}}, .port = 1};
	struct weft_op other_family = {.kind = WEFT_OP_TSEND, .buf = &byte, .len = 1, .context = &v6};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		ops[i].context = &ops[i];
		assert_int_equal(weft_submit(d.ep[0], &ops[i]), 0);
	}
	assert_int_equal(weft_peer_add(d.e[0], &v6, &other_family.peer), 0);
	assert_int_equal(weft_submit(d.ep[0], &other_family), 0);
	duo_poll(&d, 0);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		assert_int_equal(duo_expect(&d, 0, &ops[i], errs[i]).kind, ops[i].kind);
	duo_expect(&d, 0, &v6, EINVAL);
	assert_int_equal(d.sent[0], 0);
	duo_close(&d);
}

/* Nothing else is due when the ring overflows. */
static void complete__overflow_of_the_last_operation_is_handed_out(void **state)
{
	enum { RING = 16 };
	struct weft_op op = {.kind = 200};
	struct weft_cqe cqe;
	struct duo d;
	open_small(&d);
	for (int i = 0; i < RING; i++)
		assert_int_equal(weft_submit(d.ep[0], &op), 0);
	duo_poll(&d, 0);
	assert_int_equal(weft_submit(d.ep[0], &op), 0);
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->cq_overflow, 1);
	assert_in_range(d.due[0], d.now + 1, d.now + 10000);
	for (int i = 0; i < RING; i++)
		assert_true(duo_cqe(&d, 0, &cqe));
	d.now = d.due[0];
	duo_poll(&d, 0);
	assert_true(duo_cqe(&d, 0, &cqe));
	duo_close(&d);
}

/* Completions beyond the ring wait, in order, and are handed out as it empties, without other events. */
static void complete__overflow_keeps_order(void **state)
{
	struct weft_op op = {.kind = 200};
	struct weft_cqe cqe;
	struct duo d;
	uintptr_t next = 1;
	open_small(&d);
	for (uintptr_t i = 1; i <= 100; i++) {
		op.context = (void *)i;
		while (weft_submit(d.ep[0], &op))
			duo_poll(&d, 0);
	}
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->cq_overflow, 84);
	assert_in_range(d.due[0], d.now + 1, d.now + 10000);
	while (next <= 100) {
		unsigned n = next % 3 + 1;
		while (n-- && weft_cq_take(d.ep[0], &cqe, 1))
			assert_int_equal((uintptr_t)cqe.context, next++);
		duo_poll(&d, 0);
	}
	assert_true(d.due[0] == WEFT_NEVER);
	duo_close(&d);
}

/* What is lost after the close is sent again from a copy. */
static void close__gives_buffers_back(void **state)
{
	struct hit h = {3, 6, DUO_DROP};
	struct duo d;
	struct weft_cqe cqe;
	uint8_t *out = duo_pattern(200000, 1), *expected = duo_pattern(200000, 1), *in = calloc(1, 200000);
	open_default(&d);
	d.fate = hit_data;
	d.fate_arg = &h;
	d.port[0].tx_room = 5; /* some packets wait in the engine */
	duo_recv(&d, 1, in, 200000, 7, 0, in);
	duo_send(&d, 0, out, 200000, 7, out);
	duo_run(&d, d.now + WEFT_US(6));
	weft_ep_close(d.ep[0]);
	memset(out, 0xee, 200000);
	d.port[0].tx_room = UINT32_MAX;
	duo_run(&d, d.now + WEFT_MS(200));
	assert_true(duo_cqe(&d, 1, &cqe));
	assert_int_equal(cqe.err, 0);
	assert_memory_equal(in, expected, 200000);
	assert_true(weft_engine_stats(d.e[0])->tx_retx > 0);
	duo_close(&d);
	free(in);
	free(out);
	free(expected);
}

static void close__with_everything_under_way(void **state)
{
	struct hit h = {3, 6, DUO_DROP};
	for (int side = 0; side < 2; side++)
		for (weft_ns after = 0; after < WEFT_US(120); after += 1500) {
			struct duo d;
			uint8_t *out = duo_pattern(200000, 1), *in = malloc(200000);
			open_default(&d);
			d.fate = hit_data;
			d.fate_arg = &h;
			duo_recv(&d, 1, in, 200000, 7, 0, in);
			duo_recv(&d, 1, in, 1, 99, 0, in);
			for (int i = 0; i < 3; i++)
				duo_send(&d, 0, out, 50000, 7, out);
			duo_run(&d, d.now + after);
			weft_ep_close(d.ep[side]);
			duo_run(&d, d.now + WEFT_MS(200));
			if (side == 1)
				assert_int_equal(d.e[1]->ses.unexpected_bytes, 0);
			assert_int_equal(weft_engine_stats(d.e[0])->msg_sent + weft_engine_stats(d.e[0])->msg_failed,
					 3);
			duo_close(&d);
			free(in);
			free(out);
		}
}

/* ---- endpoints with one partner ---- */

/* Side 0 sends a byte to side 1, whose receive is posted: it arrives, or nothing of it does. */
static void expect_taken(struct duo *d, struct weft_ep *from, bool taken)
{
	uint8_t out = 7, in = 0;
	struct weft_cqe cqe;
	const struct weft_op op = {.kind = WEFT_OP_TSEND, .peer = d->peer[0], .buf = &out, .len = 1, .tag = 1};
	duo_recv(d, 1, &in, 1, 1, 0, &in);
	assert_int_equal(weft_submit(from, &op), 0);
	duo_run(d, d->now + WEFT_MS(50));
	assert_int_equal(weft_cq_take(from, &cqe, 1), 1);
	assert_int_equal(cqe.err, taken ? 0 : EHOSTUNREACH);
	assert_int_equal(in, taken ? 7 : 0);
	if (taken) {
		duo_expect(d, 1, &in, 0);
		return;
	}
	assert_int_equal(weft_submit(d->ep[1], &(struct weft_op){.kind = WEFT_OP_CANCEL, .context = &in}), 0);
	duo_poll(d, 1);
	duo_expect(d, 1, &in, ECANCELED);
}

static void only_from__refuses_messages_of_others(void **state)
{
	struct weft_err err;
	struct weft_ep *second;
	struct duo d;
	open_default(&d);
	assert_int_equal(weft_ep_open(d.e[0], 101, 16, 16, &second, &err), 0);
	struct weft_addr partner = {d.e[0]->pds.conf.ip, 100}, stranger = partner;
	stranger.ip.b[15] ^= 0x40;
	expect_taken(&d, second, true);
	weft_ep_only_from(d.ep[1], NULL);
	expect_taken(&d, d.ep[0], false);
	weft_ep_only_from(d.ep[1], &partner);
	expect_taken(&d, d.ep[0], true);
	expect_taken(&d, second, false);
	weft_ep_only_from(d.ep[1], &stranger);
	expect_taken(&d, d.ep[0], false);
	duo_close(&d);
}

/* The same within one engine. */
static void only_from__refuses_local_messages_of_others(void **state)
{
	struct weft_err err;
	struct weft_ep *second;
	struct duo d;
	open_default(&d);
	assert_int_equal(weft_ep_open(d.e[1], 101, 16, 16, &second, &err), 0);
	struct weft_addr partner = {d.e[1]->pds.conf.ip, 101}, us = {partner.ip, weft_ep_port(d.ep[1])};
	assert_int_equal(weft_peer_add(d.e[1], &us, &d.peer[0]), 0);
	expect_taken(&d, second, true);
	partner.port = 100;
	weft_ep_only_from(d.ep[1], &partner);
	expect_taken(&d, second, false);
	duo_close(&d);
}

static void only_from__refuses_memory_to_others(void **state)
{
	struct rma_duo r;
	uint8_t byte = 9;
	rma_open(&r, NULL, 100, WEFT_MR_READ | WEFT_MR_WRITE);
	struct weft_addr partner = {r.d.e[0]->pds.conf.ip, 100}, other = {partner.ip, 101};
	struct weft_op write = rma_op(WEFT_OP_WRITE, &byte, 1, 3), read = rma_op(WEFT_OP_READ, &byte, 1, 3);
	weft_ep_only_from(r.d.ep[1], &other);
	rma_do(&r, &write, EHOSTUNREACH);
	rma_do(&r, &read, EHOSTUNREACH);
	assert_int_equal(r.mem[3], 0);
	weft_ep_only_from(r.d.ep[1], &partner);
	rma_do(&r, &write, 0);
	assert_int_equal(r.mem[3], 9);
	rma_close(&r);
}

/* What has arrived can still be received, and nothing else. */
static void end__cancels_receives_without_a_message(void **state)
{
	uint8_t out = 5, in[3] = {0};
	struct duo d;
	open_default(&d);
	duo_send(&d, 0, &out, 1, 1, &out);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_recv(&d, 1, &in[0], 1, 2, 0, &in[0]);
	duo_poll(&d, 1);
	weft_ep_end(d.ep[1]);
	duo_expect(&d, 1, &in[0], ECANCELED);
	duo_recv(&d, 1, &in[1], 1, 1, 0, &in[1]);
	duo_recv(&d, 1, &in[2], 1, 1, 0, &in[2]);
	duo_poll(&d, 1);
	duo_expect(&d, 1, &in[1], 0);
	duo_expect(&d, 1, &in[2], ECANCELED);
	assert_int_equal(in[1], 5);
	duo_expect(&d, 0, &out, 0);
	duo_send(&d, 0, &out, 1, 1, &out);
	duo_run(&d, d.now + WEFT_MS(50));
	duo_expect(&d, 0, &out, EHOSTUNREACH);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__numbers),
		cmocka_unit_test(open__numbers_of_many),
		cmocka_unit_test(find__by_number),
		cmocka_unit_test(open__without_memory),
		cmocka_unit_test(submit__ring_full),
		cmocka_unit_test(submit__more_than_a_poll_takes),
		cmocka_unit_test(submit__impossible_operations),
		cmocka_unit_test(complete__overflow_of_the_last_operation_is_handed_out),
		cmocka_unit_test(complete__overflow_keeps_order),
		cmocka_unit_test(close__gives_buffers_back),
		cmocka_unit_test(close__with_everything_under_way),
		cmocka_unit_test(only_from__refuses_messages_of_others),
		cmocka_unit_test(only_from__refuses_local_messages_of_others),
		cmocka_unit_test(only_from__refuses_memory_to_others),
		cmocka_unit_test(end__cancels_receives_without_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
