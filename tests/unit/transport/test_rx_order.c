/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers whose message ids are not ours: any but 0, in any order, with gaps; and requests that we never send. Packets
 * are made by hand. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"
#include "rng.h"

/* The packet `n` of the connection, counted from 0: a message of its own with this id. */
static struct plain_pkt whole(uint16_t n, uint16_t id, uint16_t bytes)
{
	struct plain_pkt w = duo_syn(1, bytes);
	w.pds.psn += n;
	w.pds.psn_offset = n;
	w.ses.message_id = id;
	return w;
}

/* The packet `n`: bytes of the message `id`. */
static struct plain_pkt part(uint16_t n, uint16_t id, uint32_t offset, uint16_t bytes, uint32_t total)
{
	struct plain_pkt w = whole(n, id, bytes);
	w.ses.request_length = total;
	w.ses.flags = WIRE_SES_REL;
	w.ses.flags |= (uint8_t)((offset ? 0 : WIRE_SES_SOM) | (offset + bytes == total ? WIRE_SES_EOM : 0));
	w.ses.message_offset = offset;
	return w;
}

static void inject(struct duo *d, struct plain_pkt w, const uint8_t *payload)
{
	duo_inject_pkt(d, 1, &w, payload);
	duo_poll(d, 1);
}

/* One byte, which is the packet's number. */
static void inject_whole(struct duo *d, uint16_t n, uint16_t id)
{
	uint8_t byte = (uint8_t)n;
	inject(d, whole(n, id, 1), &byte);
}

static void post(struct duo *d, uint8_t *in, int count)
{
	memset(in, 0xee, (size_t)count);
	for (int i = 0; i < count; i++)
		duo_recv(d, 1, &in[i], 1, 7, 0, &in[i]);
	duo_poll(d, 1);
}

/* The receives got messages 0 to `count` - 1 in the order they were sent, and nothing more. */
static void expect_as_sent(struct duo *d, const uint8_t *in, int count)
{
	struct weft_cqe cqe;
	for (int i = 0; i < count; i++) {
		duo_expect(d, 1, &in[i], 0);
		assert_int_equal(in[i], i);
	}
	assert_false(duo_cqe(d, 1, &cqe));
}

static void expect_nothing(struct duo *d)
{
	struct weft_cqe cqe;
	assert_false(duo_cqe(d, 1, &cqe));
}

static void ids__any(void **state)
{
	static const uint16_t rows[][5] = {{1, 3, 4},         {7, 2, 5},       {65535, 1, 2},
					   {40000, 39999, 3}, {1, 2, 2, 1, 2}, {2, 1, 3},
					   {1, 2, 40000, 3},  {9, 9, 9, 9, 9}, {1, 2, 3, 1, 65535}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct duo d;
		uint8_t in[5];
		uint16_t count = 0;
		open_default(&d);
		post(&d, in, 5);
		for (; count < 5 && rows[i][count]; count++)
			inject_whole(&d, count, rows[i][count]);
		expect_as_sent(&d, in, count);
		assert_int_equal(duo_stats(&d, 1)->rx_bad_ses, 0);
		assert_int_equal(duo_stats(&d, 1)->msg_unexpected, 0);
		duo_close(&d);
	}
}

/* Packets arrive in any order; messages are matched in that of their PSNs. */
static void ids__overtaken(void **state)
{
	static const uint16_t ids[] = {7, 2, 5}, orders[][3] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		struct duo d;
		uint8_t in[3];
		open_default(&d);
		post(&d, in, 3);
		for (int k = 0; k < 3; k++)
			inject_whole(&d, orders[i][k], ids[orders[i][k]]);
		expect_as_sent(&d, in, 3);
		duo_close(&d);
	}
}

/* The gap shows when the packet arrives that was missing before it, whatever that is. */
static void gap__shown_by_the_rest_of_a_message(void **state)
{
	struct duo d;
	uint8_t out[3] = {0, 0, 2}, in[2], byte;
	open_default(&d);
	duo_recv(&d, 1, in, 2, 7, 0, in);
	duo_recv(&d, 1, &byte, 1, 7, 0, &byte);
	inject(&d, part(0, 1, 0, 1, 2), out);
	inject_whole(&d, 2, 30);
	expect_nothing(&d);
	inject(&d, part(1, 1, 1, 1, 2), out + 1);
	duo_expect(&d, 1, in, 0);
	duo_expect(&d, 1, &byte, 0);
	assert_int_equal(byte, 2);
	duo_close(&d);
}

static void gap__shown_by_a_control_packet(void **state)
{
	struct duo d;
	uint8_t in;
	open_default(&d);
	post(&d, &in, 1);
	inject_whole(&d, 1, 30);
	expect_nothing(&d);
	struct plain_pkt noop = whole(0, 1, 0);
	noop.pds.type = WIRE_PDS_CP;
	noop.pds.ctl = WIRE_CTL_NOOP;
	noop.has_ses = false;
	inject(&d, noop, NULL);
	duo_expect(&d, 1, &in, 0);
	assert_int_equal(in, 1);
	duo_close(&d);
}

/* Nobody but us withdraws packets: what they held comes again later, and its message keeps its turn. */
static void gap__is_none_behind_a_withdrawal(void **state)
{
	struct duo d;
	uint8_t in[2];
	open_default(&d);
	post(&d, in, 2);
	struct plain_pkt withdrawal = whole(0, 1, 0);
	withdrawal.ses.opcode = WIRE_OP_WITHDRAW;
	inject(&d, withdrawal, NULL);
	inject_whole(&d, 1, 2);
	expect_nothing(&d);
	inject_whole(&d, 2, 1);
	duo_expect(&d, 1, &in[0], 0);
	duo_expect(&d, 1, &in[1], 0);
	assert_int_equal(in[0], 2);
	assert_int_equal(in[1], 1);
	duo_close(&d);
}

static void long_messages__packets_overtake(void **state)
{
	uint8_t *out = duo_pattern(6000, 1), *in = calloc(1, 6000);
	static const uint16_t orders[][6] = {
		{5, 4, 3, 2, 1, 0}, {1, 4, 0, 3, 2, 5}, {3, 0, 4, 1, 5, 2}, {0, 1, 2, 5, 4, 3}};
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		struct duo d;
		open_default(&d);
		memset(in, 0, 6000);
		duo_recv(&d, 1, in, 3000, 7, 0, in);
		duo_recv(&d, 1, in + 3000, 3000, 7, 0, in + 3000);
		for (int k = 0; k < 6; k++) {
			uint16_t n = orders[i][k];
			inject(&d, part(n, n < 3 ? 99 : 4, n % 3 * 1000u, 1000, 3000), out + n * 1000);
		}
		for (int k = 0; k < 2; k++) {
			struct weft_cqe cqe;
			assert_true(duo_cqe(&d, 1, &cqe));
			assert_int_equal(cqe.err, 0);
		}
		assert_memory_equal(in, out, 6000);
		duo_close(&d);
	}
	free(in);
	free(out);
}

static void zero__is_refused_with_an_answer(void **state)
{
	for (uint16_t before = 0; before < 2; before++) { /* with ids like ours, and with others */
		struct duo d;
		uint8_t in[3];
		open_default(&d);
		d.logging = true;
		post(&d, in, 3);
		inject_whole(&d, 0, before ? 9 : 1);
		inject_whole(&d, 1, 0);
		const struct plain_pkt *answer = &d.log[d.log_len - 1].w;
		assert_int_equal(answer->pds.type, WIRE_PDS_ACK_CC);
		assert_int_equal(answer->ses.return_code, WIRE_RC_INITIATOR_ERROR);
		assert_int_equal(duo_stats(&d, 1)->rx_bad_ses, 1);
		inject_whole(&d, 2, 2);
		duo_expect(&d, 1, &in[0], 0);
		duo_expect(&d, 1, &in[1], 0);
		assert_int_equal(in[1], 2);
		expect_nothing(&d);
		duo_close(&d);
	}
}

/* The rest of a refused message opens none, and nothing waits for it. */
static void refused__rest_is_refused_too(void **state)
{
	struct duo d;
	uint8_t out[3000] = {0}, in;
	open_default(&d);
	d.logging = true;
	post(&d, &in, 1);
	inject_whole(&d, 0, 50);
	duo_expect(&d, 1, &in, 0);
	post(&d, &in, 1);
	for (uint16_t n = 1; n < 4; n++) {
		struct plain_pkt w = part(n, 40, (n - 1) * 1000u, 1000, 3000);
		if (n == 1)
			w.ses.opcode = WIRE_OP_TSEND_ATOMIC;
		inject(&d, w, out);
		assert_int_equal(d.log[d.log_len - 1].w.ses.return_code,
				 n == 1 ? WIRE_RC_UNSUPPORTED_OP : WIRE_RC_UNDELIVERABLE);
		struct plain_pkt clear = whole(n, 1, 0); /* the initiator has that */
		clear.pds.type = WIRE_PDS_CP;
		clear.pds.ctl = WIRE_CTL_CLEAR_CMD;
		clear.pds.payload = clear.pds.psn;
		clear.has_ses = false;
		inject(&d, clear, NULL);
	}
	inject_whole(&d, 4, 30);
	duo_expect(&d, 1, &in, 0);
	assert_int_equal(in, 4);
	duo_close(&d);
}

/* A packet of such a message that overtakes its first packet is thrown away with it. */
static void refused__first_packet_last(void **state)
{
	struct duo d;
	uint8_t out[2000] = {0}, in[2];
	open_default(&d);
	post(&d, in, 2);
	inject_whole(&d, 0, 50);
	inject(&d, part(2, 40, 1000, 1000, 2000), out);
	assert_int_equal(d.e[1]->ses.rx_msgs.count, 1);
	inject_whole(&d, 3, 30);
	struct plain_pkt w = part(1, 40, 0, 1000, 2000);
	w.ses.opcode = WIRE_OP_TSEND_ATOMIC;
	inject(&d, w, out);
	inject_whole(&d, 1, 41); /* a duplicate, whatever it says */
	duo_expect(&d, 1, &in[0], 0);
	duo_expect(&d, 1, &in[1], 0);
	assert_int_equal(in[1], 3);
	assert_int_equal(d.e[1]->ses.rx_msgs.count, 0);
	duo_close(&d);
}

static struct plain_pkt write_of(uint16_t n, uint16_t id, uint16_t bytes)
{
	struct plain_pkt w = whole(n, id, bytes);
	w.ses.opcode = WIRE_OP_WRITE;
	w.ses.match = RMA_KEY;
	return w;
}

/* Small writes are carried out as sent, each once, and messages stay behind them. */
static void writes__as_sent(void **state)
{
	static const uint16_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const uint16_t ids[] = {8, 3, 6};
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		struct rma_duo r;
		uint8_t in[1], values[] = {11, 22, 33};
		rma_open(&r, NULL, 64, WEFT_MR_WRITE);
		post(&r.d, in, 1);
		for (int k = 0; k < 3; k++) {
			uint16_t n = orders[i][k];
			inject(&r.d, n < 2 ? write_of(n, ids[n], 1) : whole(n, ids[n], 1), &values[n]);
		}
		assert_int_equal(r.mem[0], 22);
		assert_int_equal(duo_stats(&r.d, 1)->rma_written, 2);
		duo_expect(&r.d, 1, in, 0);
		assert_int_equal(in[0], 33);
		assert_int_equal(r.d.e[1]->ses.rx_msgs.count, 0);
		rma_close(&r);
	}
}

/* ---- what only others send ---- */

/* The tokens lie where other requests have their buffer offset: they are of no use here. */
static void deferrable__is_sent_as_a_plain_message(void **state)
{
	static const uint8_t opcodes[] = {WIRE_OP_DEFERRABLE_SEND, WIRE_OP_DEFERRABLE_TSEND};
	uint8_t *out = duo_pattern(2000, 1), in[2000];
	for (int tagged = 0; tagged < 2; tagged++) {
		struct duo d;
		open_default(&d);
		struct weft_op recv = {.kind = tagged ? WEFT_OP_TRECV : WEFT_OP_RECV,
				       .buf = in,
				       .len = sizeof in,
				       .tag = tagged ? 7 : 0,
				       .context = in};
		assert_int_equal(weft_submit(d.ep[1], &recv), 0);
		for (uint16_t i = 0; i < 2; i++) {
			struct plain_pkt w = part(i, 1, i * 1000u, 1000, 2000);
			w.ses.opcode = opcodes[tagged];
			w.ses.buffer_offset = 0x1234567800000000;
			inject(&d, w, out + i * 1000);
		}
		struct weft_cqe cqe = duo_expect(&d, 1, in, 0);
		assert_int_equal(cqe.flags & WEFT_OP_TAGGED, tagged ? WEFT_OP_TAGGED : 0);
		assert_memory_equal(in, out, 2000);
		duo_close(&d);
	}
	free(out);
}

static struct plain_pkt msg_error(uint16_t n, uint16_t id, uint32_t offset, uint32_t total)
{
	struct plain_pkt w = part(n, id, offset, 0, total);
	w.ses.opcode = WIRE_OP_MSG_ERROR;
	w.ses.flags = WIRE_SES_REL | WIRE_SES_EOM;
	return w;
}

/* The rest of a message does not come: its receive fails, if there is one; its memory is free again. */
static void given_up__with_and_without_receive(void **state)
{
	uint8_t out[2000] = {1}, in[3000];
	for (int posted = 0; posted < 2; posted++) {
		struct duo d;
		open_default(&d);
		d.logging = true;
		if (posted)
			duo_recv(&d, 1, in, sizeof in, 7, 0, in);
		inject(&d, part(0, 1, 0, 1000, 3000), out);
		inject(&d, msg_error(1, 1, 1000, 3000), NULL);
		assert_int_equal(d.log[d.log_len - 1].w.ses.return_code, WIRE_RC_CANCELLED);
		if (posted)
			duo_expect(&d, 1, in, EIO);
		assert_int_equal(d.e[1]->ses.unexpected_bytes, 0);
		assert_int_equal(d.e[1]->ses.rx_msgs.count, 0);
		duo_recv(&d, 1, in, sizeof in, 7, 0, out);
		inject(&d, whole(2, 2, 10), out);
		assert_int_equal(duo_expect(&d, 1, out, 0).len, 10);
		duo_close(&d);
	}
}

/* It ends when its turn comes; nothing waits for it. */
static void given_up__before_its_turn(void **state)
{
	uint8_t out[100] = {1}, in[100];
	struct duo d;
	open_default(&d);
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	duo_recv(&d, 1, in, sizeof in, 7, 0, out);
	inject(&d, part(1, 2, 0, 10, 100), out);
	inject(&d, msg_error(2, 2, 10, 100), NULL);
	inject(&d, whole(3, 3, 20), out);
	inject(&d, whole(0, 1, 30), out);
	assert_int_equal(duo_expect(&d, 1, in, 0).len, 30);
	assert_int_equal(duo_expect(&d, 1, out, 0).len, 20);
	assert_int_equal(d.e[1]->ses.rx_msgs.count, 0);
	duo_close(&d);
}

/* A write that has its turn but not all of its bytes: what came behind it waits no longer. */
static void given_up__write_that_others_wait_for(void **state)
{
	uint8_t out[2000] = {1}, in[20];
	for (int late = 0; late < 2; late++) {
		struct rma_duo r;
		rma_open(&r, NULL, 4000, WEFT_MR_WRITE);
		duo_recv(&r.d, 1, in, sizeof in, 7, 0, in);
		struct plain_pkt w = part(0, 1, 0, 1000, 3000);
		w.ses.opcode = WIRE_OP_WRITE;
		w.ses.match = RMA_KEY;
		inject(&r.d, w, out);
		if (late)
			inject(&r.d, whole(2, 2, 20), out);
		inject(&r.d, msg_error(1, 1, 1000, 3000), NULL);
		if (!late)
			inject(&r.d, whole(2, 2, 20), out);
		assert_int_equal(duo_expect(&r.d, 1, in, 0).len, 20);
		assert_int_equal(r.d.e[1]->ses.rx_msgs.count, 0);
		rma_close(&r);
	}
}

/* Resource indices have 12 bits, ours 4 of them. */
static void resource_index__has_twelve_bits(void **state)
{
	uint8_t out[10] = {1}, in[10];
	struct duo d;
	open_default(&d);
	d.logging = true;
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	struct plain_pkt w = whole(0, 1, 10);
	w.ses.resource_index |= 16;
	inject(&d, w, out);
	assert_int_equal(d.log[0].w.ses.return_code, WIRE_RC_UNDELIVERABLE);
	w = whole(1, 2, 10);
	w.ses.resource_index |= 0x800;
	inject(&d, w, out);
	assert_int_equal(duo_stats(&d, 1)->rx_no_ep, 2);
	inject(&d, whole(2, 3, 10), out);
	duo_expect(&d, 1, in, 0);
	duo_close(&d);
}

enum { MANY = 200, AHEAD = 16 };

/* Random ids, packets up to AHEAD places out of order: every message comes, as sent. */
static void random__ids_and_order(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng r = {seed};
		struct duo d;
		uint8_t in[MANY];
		uint16_t ids[MANY], order[MANY];
		open_default(&d);
		post(&d, in, MANY);
		for (uint16_t n = 0; n < MANY; n++) {
			ids[n] = (uint16_t)(1 + (n * 7919 + rng_below(&r, 1000)) % 65535);
			order[n] = n;
		}
		for (uint16_t n = 0; n + 1 < MANY; n++) {
			uint16_t to = (uint16_t)(n + rng_below(&r, MANY - n < AHEAD ? MANY - n : AHEAD));
			uint16_t first = order[to];
			memmove(&order[n + 1], &order[n], (size_t)(to - n) * sizeof *order);
			order[n] = first;
		}
		for (int n = 0; n < MANY; n++)
			inject_whole(&d, order[n], ids[order[n]]);
		expect_as_sent(&d, in, MANY);
		assert_int_equal(d.e[1]->ses.rx_msgs.count, 0);
		duo_close(&d);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids__any),
		cmocka_unit_test(ids__overtaken),
		cmocka_unit_test(gap__shown_by_the_rest_of_a_message),
		cmocka_unit_test(gap__shown_by_a_control_packet),
		cmocka_unit_test(gap__is_none_behind_a_withdrawal),
		cmocka_unit_test(long_messages__packets_overtake),
		cmocka_unit_test(zero__is_refused_with_an_answer),
		cmocka_unit_test(refused__rest_is_refused_too),
		cmocka_unit_test(refused__first_packet_last),
		cmocka_unit_test(writes__as_sent),
		cmocka_unit_test(deferrable__is_sent_as_a_plain_message),
		cmocka_unit_test(given_up__with_and_without_receive),
		cmocka_unit_test(given_up__before_its_turn),
		cmocka_unit_test(given_up__write_that_others_wait_for),
		cmocka_unit_test(resource_index__has_twelve_bits),
		cmocka_unit_test(random__ids_and_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
