/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma.h"

enum { BYTES = 100000, LIMIT = 20000 };

struct rndv {
	struct duo d;
	uint8_t *out, *in;
};

static void rndv_open_job(struct rndv *r, uint32_t job_id)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.job_id = job_id;
	conf.tune.rndv_bytes = LIMIT;
	conf.tune.peer_timeout_ns = WEFT_MS(100);
	duo_open(&r->d, &conf);
	r->out = duo_pattern(BYTES, 5);
	r->in = calloc(1, BYTES);
}

static void rndv_open(struct rndv *r)
{
	rndv_open_job(r, 0);
}

static void rndv_close(struct rndv *r)
{
	duo_close(&r->d);
	free(r->out);
	free(r->in);
}

static uint64_t fetched(const struct rndv *r)
{
	return weft_engine_stats(r->d.e[1])->rndv_fetched;
}

static void run(struct rndv *r)
{
	duo_run(&r->d, r->d.now + WEFT_MS(20));
}

static void submit(struct rndv *r, int side, struct weft_op op)
{
	op.peer = op.kind == WEFT_OP_TSEND ? r->d.peer[side] : WEFT_PEER_ANY;
	assert_int_equal(weft_submit(r->d.ep[side], &op), 0);
	r->d.due[side] = r->d.now;
}

/* Nothing is left at either side. */
static void expect_clean(struct rndv *r)
{
	struct weft_cqe cqe;
	for (int i = 0; i < 2; i++) {
		assert_false(duo_cqe(&r->d, i, &cqe));
		assert_int_equal(r->d.e[i]->ses.asks.count, 0);
		assert_int_equal(r->d.e[i]->ses.answers, 0);
		assert_int_equal(r->d.e[i]->ses.unexpected_bytes, 0);
		assert_int_equal(r->d.e[i]->ses.rx_msg_pool.used, 0);
		assert_int_equal(r->d.e[i]->ses.tx_msgs.used, 0);
		assert_int_equal(r->d.e[i]->ses.tx_rmas.used, 0);
		assert_int_equal(r->d.e[i]->ses.rx_rmas.used, 0);
	}
}

static void fetch__is_of_our_job(void **state)
{
	struct rndv r;
	rndv_open_job(&r, 7);
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	duo_expect(&r.d, 0, r.out, 0);
	duo_expect(&r.d, 1, r.in, 0);
	assert_memory_equal(r.in, r.out, BYTES);
	assert_int_equal(fetched(&r), 1);
	expect_clean(&r);
	rndv_close(&r);
}

static void expected__straight_into_the_buffer(void **state)
{
	struct rndv r;
	rndv_open(&r);
	r.d.logging = true;
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	assert_int_equal(duo_expect(&r.d, 0, r.out, 0).len, BYTES);
	assert_int_equal(duo_expect(&r.d, 1, r.in, 0).len, BYTES);
	assert_memory_equal(r.in, r.out, BYTES);
	assert_int_equal(fetched(&r), 1);
	for (uint32_t i = 0; i < r.d.log_len; i++)
		if (r.d.log[i].from == 0 && is_data(&r.d.log[i].w))
			assert_true(r.d.log[i].w.pds.next_hdr == WIRE_NH_RSP_DATA ||
				    r.d.log[i].w.ses.opcode == WIRE_OP_RENDEZVOUS_TSEND);
	expect_clean(&r);
	rndv_close(&r);
}

/* An endpoint that closes without memory takes the connection with it that was to tell a sender so. */
static void close__without_memory_tells_the_sender(void **state)
{
	struct rndv r;
	rndv_open(&r);
	duo_transfer(&r.d, 0, LIMIT + 1);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	duo_send(&r.d, 1, r.in, LIMIT, 7, r.in); /* nobody receives it: under way until it is here */
	duo_poll(&r.d, 1);
	r.d.mem[1].fail_at = r.d.mem[1].calls + 1;
	r.d.mem[1].fail_rest = true;
	weft_ep_close(r.d.ep[1]);
	r.d.mem[1].fail_at = 0;
	r.d.due[1] = r.d.now;
	uint64_t failed = duo_stats(&r.d, 1)->pdc_failed;
	run(&r);
	assert_int_equal(failed, 1);
	duo_expect(&r.d, 0, r.out, 0);
	rndv_close(&r);
}

static void small__is_not_announced(void **state)
{
	struct rndv r;
	rndv_open(&r);
	duo_transfer(&r.d, 0, LIMIT);
	assert_int_equal(fetched(&r), 0);
	duo_transfer(&r.d, 0, LIMIT + 1);
	assert_int_equal(fetched(&r), 1);
	rndv_close(&r);
}

static void unexpected__needs_no_memory(void **state)
{
	struct rndv r;
	struct weft_cqe cqe;
	rndv_open(&r);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	assert_false(duo_cqe(&r.d, 0, &cqe));
	assert_int_equal(r.d.e[1]->ses.unexpected_bytes, 0);
	submit(&r, 1, (struct weft_op){.kind = WEFT_OP_PEEK, .flags = WEFT_OP_TAGGED, .tag = 7, .context = &cqe});
	duo_poll(&r.d, 1);
	cqe = duo_expect(&r.d, 1, &cqe, 0);
	assert_int_equal(cqe.len, BYTES);
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	run(&r);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 0, r.out, 0);
	assert_memory_equal(r.in, r.out, BYTES);
	expect_clean(&r);
	rndv_close(&r);
}

static void claimed__and_received_or_discarded(void **state)
{
	for (int discard = 0; discard < 2; discard++) {
		struct rndv r;
		rndv_open(&r);
		duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
		run(&r);
		submit(&r, 1,
		       (struct weft_op){.kind = WEFT_OP_PEEK,
					.flags = WEFT_OP_TAGGED | WEFT_OP_CLAIM,
					.tag = 7,
					.context = r.in});
		submit(&r, 1,
		       (struct weft_op){.kind = WEFT_OP_TRECV,
					.flags = WEFT_OP_CLAIM | (discard ? WEFT_OP_DISCARD : 0),
					.buf = r.in,
					.len = BYTES,
					.context = r.in});
		run(&r);
		duo_expect(&r.d, 1, r.in, 0);
		assert_int_equal(duo_expect(&r.d, 1, r.in, 0).len, discard ? 0 : BYTES);
		duo_expect(&r.d, 0, r.out, 0);
		assert_int_equal(memcmp(r.in, r.out, BYTES) == 0, !discard);
		expect_clean(&r);
		rndv_close(&r);
	}
}

static void truncated__fetches_what_fits(void **state)
{
	struct rndv r;
	rndv_open(&r);
	duo_recv(&r.d, 1, r.in, 30000, 7, 0, r.in);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	struct weft_cqe cqe = duo_expect(&r.d, 1, r.in, EMSGSIZE);
	assert_int_equal(cqe.len, 30000);
	assert_int_equal(cqe.olen, BYTES - 30000);
	duo_expect(&r.d, 0, r.out, 0);
	assert_memory_equal(r.in, r.out, 30000);
	assert_int_equal(r.in[30000], 0);
	expect_clean(&r);
	rndv_close(&r);
}

/* Large and small messages with one tag find their receives as sent. */
static void order__as_sent(void **state)
{
	enum { COUNT = 20 };
	struct rndv r;
	rndv_open(&r);
	for (int i = 0; i < COUNT; i++) {
		r.out[i] = (uint8_t)i;
		duo_send(&r.d, 0, r.out + i, i % 3 ? 10 : LIMIT + 10, 7, &r.out[i]);
	}
	for (int i = 0; i < COUNT; i++)
		duo_recv(&r.d, 1, r.in + i, 1, 7, 0, r.in + i);
	duo_run(&r.d, r.d.now + WEFT_MS(50));
	for (int i = 0; i < COUNT; i++) {
		struct weft_cqe cqe;
		assert_true(duo_cqe(&r.d, 1, &cqe));
		assert_int_equal(*(uint8_t *)cqe.context, (uint8_t *)cqe.context - r.in);
		assert_true(duo_cqe(&r.d, 0, &cqe));
	}
	expect_clean(&r);
	rndv_close(&r);
}

static void multi__pieces_are_fetched(void **state)
{
	struct rndv r;
	struct weft_cqe cqe;
	rndv_open(&r);
	struct weft_op op = {.kind = WEFT_OP_RECV,
			     .flags = WEFT_OP_MULTI,
			     .buf = r.in,
			     .len = 75000,
			     .min_room = 1,
			     .context = r.in};
	submit(&r, 1, op);
	for (int i = 0; i < 3; i++) {
		op = (struct weft_op){.kind = WEFT_OP_SEND, .buf = r.out + i * 25000, .len = 25000, .context = r.out};
		op.peer = r.d.peer[0];
		assert_int_equal(weft_submit(r.d.ep[0], &op), 0);
	}
	r.d.due[0] = r.d.now;
	run(&r);
	for (int i = 0; i < 3; i++) {
		cqe = duo_expect(&r.d, 1, r.in, 0);
		assert_int_equal(cqe.len, 25000);
		assert_int_equal(cqe.flags & WEFT_OP_MULTI, i == 2 ? WEFT_OP_MULTI : 0);
		duo_expect(&r.d, 0, r.out, 0);
	}
	assert_memory_equal(r.in, r.out, 75000);
	expect_clean(&r);
	rndv_close(&r);
}

static void cancel__before_the_message(void **state)
{
	struct rndv r;
	rndv_open(&r);
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	submit(&r, 1, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = r.in});
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	run(&r);
	duo_expect(&r.d, 1, r.in, ECANCELED);
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	duo_poll(&r.d, 1);
	submit(&r, 1, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = r.in}); /* too late */
	run(&r);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 0, r.out, 0);
	expect_clean(&r);
	rndv_close(&r);
}

/* Whatever it was waiting for: the sender's part ends well, as with a message that was buffered. */
static void receiver_closes__at_any_moment(void **state)
{
	for (int moment = 0; moment < 12; moment++) {
		struct rndv r;
		rndv_open(&r);
		if (moment % 3)
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
		duo_run(&r.d, r.d.now + WEFT_US(5) * (weft_ns)(moment + 1));
		memset(r.in, 0, BYTES);
		weft_ep_close(r.d.ep[1]);
		r.d.due[1] = r.d.now;
		memset(r.in, 0xcc, BYTES);
		run(&r);
		for (int i = 0; i < BYTES; i++)
			assert_int_equal(r.in[i], 0xcc); /* it is the application's again */
		struct weft_cqe cqe;
		assert_true(duo_cqe(&r.d, 0, &cqe));
		assert_true(cqe.err == 0 || cqe.err == EHOSTUNREACH);
		assert_int_equal(r.d.e[1]->ses.rx_msg_pool.used, 0);
		rndv_close(&r);
	}
}

static void sender_closes__receiver_gets_it_all(void **state)
{
	for (int moment = 0; moment < 12; moment++) {
		struct rndv r;
		uint8_t *out = duo_pattern(BYTES, 5);
		rndv_open(&r);
		if (moment % 2)
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
		duo_run(&r.d, r.d.now + WEFT_US(4) * (weft_ns)(moment + 1));
		weft_ep_close(r.d.ep[0]);
		memset(r.out, 0, BYTES);
		r.d.due[0] = r.d.now;
		if (!(moment % 2))
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		run(&r);
		duo_expect(&r.d, 1, r.in, 0);
		assert_memory_equal(r.in, out, BYTES);
		assert_int_equal(r.d.e[0]->ses.tx_msgs.used, 0);
		rndv_close(&r);
		free(out);
	}
}

/* Everything after `from` packets of either side is lost. */
static enum duo_fate silence(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const weft_ns *since = arg;
	return *since ? DUO_DROP : DUO_PASS;
}

static void peer_dies__both_learn_it(void **state)
{
	for (int posted = 0; posted < 2; posted++) {
		struct rndv r;
		weft_ns since = 0;
		rndv_open(&r);
		r.d.fate = silence;
		r.d.fate_arg = &since;
		if (posted)
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
		duo_run(&r.d, r.d.now + WEFT_US(10));
		since = r.d.now;
		duo_run(&r.d, r.d.now + WEFT_MS(400));
		duo_expect(&r.d, 0, r.out, ETIMEDOUT);
		if (!posted)
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		duo_run(&r.d, r.d.now + WEFT_MS(400));
		assert_int_equal(duo_expect(&r.d, 1, r.in, ETIMEDOUT).len, 0);
		expect_clean(&r);
		rndv_close(&r);
	}
}

/* A message may wait for its receive longer than a silent peer is believed to live. */
static void patience__connection_is_kept(void **state)
{
	struct rndv r;
	rndv_open(&r);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	duo_run(&r.d, r.d.now + WEFT_S(10));
	assert_int_equal(weft_engine_stats(r.d.e[0])->pdc_failed, 0);
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	run(&r);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 0, r.out, 0);
	assert_memory_equal(r.in, r.out, BYTES);
	expect_clean(&r);
	rndv_close(&r);
}

/* What waits behind a fence must not keep back the answer that the fence waits for. */
static void fence__answers_pass(void **state)
{
	struct rndv r;
	uint8_t small = 9, in = 0;
	rndv_open(&r);
	duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
	submit(&r, 0,
	       (struct weft_op){.kind = WEFT_OP_TSEND,
				.flags = WEFT_OP_FENCE,
				.buf = &small,
				.len = 1,
				.tag = 8,
				.context = &small});
	duo_recv(&r.d, 1, &in, 1, 8, 0, &in);
	run(&r);
	struct weft_cqe cqe;
	assert_false(duo_cqe(&r.d, 1, &cqe));
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	run(&r);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 1, &in, 0);
	duo_expect(&r.d, 0, r.out, 0);
	duo_expect(&r.d, 0, &small, 0);
	expect_clean(&r);
	rndv_close(&r);
}

enum { LONG = 1 << 20 };

/* The place in the log of the n-th (from 0) packet of side 0 with this next header, and opcode unless it is an answer;
 * log_len when there is none. */
static uint32_t nth_of(const struct duo *d, uint8_t next_hdr, uint8_t opcode, uint32_t n)
{
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pkt *w = &d->log[i].w;
		if (d->log[i].from != 0 || !is_data(w) || w->pds.next_hdr != next_hdr)
			continue;
		if ((next_hdr == WIRE_NH_RSP_DATA || w->ses.opcode == opcode) && !n--)
			return i;
	}
	return d->log_len;
}

/* Opens with room for a long message in each direction, and lets side 0 begin to answer. */
static void begin_answer(struct rndv *r)
{
	rndv_open(r);
	free(r->out);
	free(r->in);
	r->out = duo_pattern(LONG, 5);
	r->in = calloc(1, LONG);
	r->d.logging = true;
	duo_recv(&r->d, 1, r->in, LONG, 7, 0, r->in);
	duo_send(&r->d, 0, r->out, LONG, 7, r->out);
	while (nth_of(&r->d, WIRE_NH_RSP_DATA, 0, 0) == r->d.log_len)
		duo_run(&r->d, r->d.now + WEFT_US(1));
}

/* Two hosts that fetch from each other, one a little later: its request is not behind the other's whole answer. */
static void turns__a_request_overtakes_an_answer(void **state)
{
	struct rndv r;
	begin_answer(&r);
	uint8_t *back = calloc(1, LONG);
	duo_recv(&r.d, 0, back, LONG, 9, 0, back);
	duo_send(&r.d, 1, r.out, LONG, 9, r.in);
	run(&r);
	uint32_t read_at = nth_of(&r.d, WIRE_NH_STD, WIRE_OP_READ, 0), packets = LONG / 4096;
	assert_true(read_at < nth_of(&r.d, WIRE_NH_RSP_DATA, 0, packets / 2));
	assert_true(nth_of(&r.d, WIRE_NH_RSP_DATA, 0, packets - 1) < r.d.log_len);
	duo_expect(&r.d, 0, r.out, 0);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 0, back, 0);
	duo_expect(&r.d, 1, r.in, 0);
	assert_memory_equal(r.in, r.out, LONG);
	assert_memory_equal(back, r.out, LONG);
	expect_clean(&r);
	free(back);
	rndv_close(&r);
}

/* Nor is an answer behind all messages: packet by packet, each kind has its turn until one has no more. */
static void turns__answer_and_messages_alternate(void **state)
{
	enum { MESSAGES = 64, PACKETS = MESSAGES * ((LIMIT + 4095) / 4096) };
	struct rndv r;
	begin_answer(&r);
	uint8_t *in = calloc(MESSAGES, LIMIT);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		duo_recv(&r.d, 1, in + (size_t)i * LIMIT, LIMIT, 100 + i, 0, in + (size_t)i * LIMIT);
		duo_send(&r.d, 0, r.out, LIMIT, 100 + i, in);
	}
	run(&r);
	uint32_t first = nth_of(&r.d, WIRE_NH_STD, WIRE_OP_TAGGED_SEND, 0);
	uint32_t last = nth_of(&r.d, WIRE_NH_RSP_DATA, 0, LONG / 4096 - 1), of_kind[2] = {0};
	assert_true(first < last && last < nth_of(&r.d, WIRE_NH_STD, WIRE_OP_TAGGED_SEND, PACKETS - 1));
	for (uint32_t i = first; i <= last; i++)
		if (r.d.log[i].from == 0 && is_data(&r.d.log[i].w))
			of_kind[r.d.log[i].w.pds.next_hdr == WIRE_NH_RSP_DATA]++;
	assert_true(of_kind[1] > 100);
	assert_in_range(of_kind[0], of_kind[1] - 1, of_kind[1] + 1);
	for (uint32_t i = 0; i < MESSAGES; i++)
		assert_memory_equal(in + (size_t)i * LIMIT, r.out, LIMIT);
	free(in);
	rndv_close(&r);
}

static void matched__small_message_waits(void **state)
{
	for (uint64_t len = 0; len < 3; len++) {
		struct rndv r;
		struct weft_cqe cqe;
		rndv_open(&r);
		submit(&r, 0,
		       (struct weft_op){.kind = WEFT_OP_TSEND,
					.flags = WEFT_OP_MATCHED,
					.buf = r.out,
					.len = len,
					.tag = 1,
					.context = r.out});
		run(&r);
		assert_false(duo_cqe(&r.d, 0, &cqe));
		duo_recv(&r.d, 1, r.in, BYTES, 1, 0, r.in);
		run(&r);
		assert_int_equal(duo_expect(&r.d, 0, r.out, 0).len, len);
		assert_int_equal(duo_expect(&r.d, 1, r.in, 0).len, len);
		assert_memory_equal(r.in, r.out, len);
		expect_clean(&r);
		rndv_close(&r);
	}
}

/* Between endpoints of one engine the message is copied at once, and only the completion waits: until it is received,
 * or its receiver closes; the sender may close, too. */
static void matched__on_one_engine(void **state)
{
	for (int end = 0; end < 3; end++) {
		struct rndv r;
		struct weft_ep *to;
		struct weft_cqe cqe;
		uint32_t peer;
		rndv_open(&r);
		assert_int_equal(weft_ep_open(r.d.e[0], 77, 16, 16, &to, NULL), 0);
		const struct weft_addr us = {weft_peer_addr(r.d.e[1], r.d.peer[1])->ip, 77};
		assert_int_equal(weft_peer_add(r.d.e[0], &us, &peer), 0);
		const struct weft_op send = {.kind = WEFT_OP_SEND,
					     .flags = WEFT_OP_MATCHED,
					     .peer = peer,
					     .buf = r.out,
					     .len = 10,
					     .context = r.out};
		assert_int_equal(weft_submit(r.d.ep[0], &send), 0);
		duo_poll(&r.d, 0);
		assert_false(duo_cqe(&r.d, 0, &cqe));
		if (end == 1)
			weft_ep_close(r.d.ep[0]);
		if (end < 2) {
			const struct weft_op recv = {
				.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = r.in, .len = 10, .context = r.in};
			assert_int_equal(weft_submit(to, &recv), 0);
			duo_poll(&r.d, 0);
			assert_int_equal(weft_cq_take(to, &cqe, 1), 1);
			assert_memory_equal(r.in, r.out, 10);
		} else {
			weft_ep_close(to);
		}
		if (end != 1)
			assert_int_equal(duo_expect(&r.d, 0, r.out, 0).len, 10);
		rndv_close(&r);
	}
}

/* Each allocation fails once: everything arrives, a little later. */
static void memory__runs_out(void **state)
{
	for (uint64_t nth = 1; nth < 25; nth++)
		for (int side = 0; side < 2; side++) {
			struct rndv r;
			rndv_open(&r);
			r.d.mem[side].fail_at = r.d.mem[side].calls + nth;
			duo_send(&r.d, 0, r.out, BYTES, 7, r.out);
			duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
			run(&r);
			duo_expect(&r.d, 1, r.in, 0);
			duo_expect(&r.d, 0, r.out, 0);
			assert_memory_equal(r.in, r.out, BYTES);
			rndv_close(&r);
		}
}

/* Announces a message that nobody has asked for yet, and returns the token to read it with. */
static uint64_t announce(struct rndv *r)
{
	rndv_open(r);
	r->d.logging = true;
	duo_send(&r->d, 0, r->out, BYTES, 7, r->out);
	run(r);
	for (uint32_t i = 0; i < r->d.log_len; i++)
		if (r->d.log[i].w.has_ses && r->d.log[i].w.ses.opcode == WIRE_OP_RENDEZVOUS_TSEND)
			return r->d.log[i].w.ses.rndv_match;
	return 0;
}

/* READs of the sender's message with tokens that were never given out. */
static void forged__tokens_open_nothing(void **state)
{
	struct rndv r;
	uint64_t token = announce(&r);
	assert_true(token);
	for (int i = 0; i < 4; i++) {
		struct plain_pkt w = duo_syn(0, 0);
		w.pds.spdcid = (uint16_t)(50 + i);
		w.ses.opcode = WIRE_OP_READ;
		w.ses.ri_generation = RMA_GEN_MESSAGE;
		w.ses.request_length = i == 2 ? BYTES + 1 : 100;
		w.ses.buffer_offset = i == 3 ? UINT64_MAX - 5 : 0;
		w.ses.match = i == 0 ? token ^ 1ULL << 63 : i == 1 ? 12345 : token;
		uint32_t seen = r.d.log_len;
		duo_inject_pkt(&r.d, 0, &w, NULL);
		duo_poll(&r.d, 0);
		assert_true(r.d.log_len > seen);
		assert_int_equal(r.d.log[seen].w.ses.return_code, i < 2 ? WIRE_RC_BAD_MKEY : WIRE_RC_AT_OUT_OF_RANGE);
	}
	duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
	run(&r);
	duo_expect(&r.d, 1, r.in, 0);
	duo_expect(&r.d, 0, r.out, 0);
	assert_memory_equal(r.in, r.out, BYTES);
	rndv_close(&r);
}

/* A packet of a READ, in two halves, of what side 0 has announced. */
static struct plain_pkt read_half(uint64_t token, bool second)
{
	struct plain_pkt w = duo_syn(0, 0);
	w.pds.spdcid = 50;
	w.pds.psn += second;
	w.pds.psn_offset = second;
	w.ses.opcode = WIRE_OP_READ;
	w.ses.flags = WIRE_SES_REL | (second ? WIRE_SES_EOM : WIRE_SES_SOM);
	w.ses.ri_generation = RMA_GEN_MESSAGE;
	w.ses.match = token;
	w.ses.request_length = LIMIT;
	w.ses.message_offset = second ? LIMIT / 2 : 0;
	w.ses.payload_length = second ? LIMIT / 2 : 0;
	return w;
}

/* A message is asked for by one packet: the answer to a part of it would be taken for the end of the message. Whichever
 * of two packets is the first, it gets nothing, and the receiver all. */
static void forged__parts_of_a_message(void **state)
{
	for (int first = 0; first < 2; first++) {
		struct rndv r;
		uint64_t token = announce(&r);
		assert_true(token);
		uint32_t seen = r.d.log_len;
		for (int i = 0; i < 2; i++) {
			struct plain_pkt w = read_half(token, i != first);
			duo_inject_pkt(&r.d, 0, &w, NULL);
			duo_poll(&r.d, 0);
		}
		assert_true(r.d.log_len > seen);
		assert_int_equal(r.d.log[seen].w.ses.return_code, WIRE_RC_UNSUPPORTED_SIZE);
		assert_int_equal(r.d.e[0]->ses.answers, 0);
		duo_recv(&r.d, 1, r.in, BYTES, 7, 0, r.in);
		run(&r);
		assert_int_equal(duo_expect(&r.d, 1, r.in, 0).len, BYTES);
		duo_expect(&r.d, 0, r.out, 0);
		assert_memory_equal(r.in, r.out, BYTES);
		expect_clean(&r);
		rndv_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetch__is_of_our_job),
		cmocka_unit_test(expected__straight_into_the_buffer),
		cmocka_unit_test(small__is_not_announced),
		cmocka_unit_test(unexpected__needs_no_memory),
		cmocka_unit_test(claimed__and_received_or_discarded),
		cmocka_unit_test(truncated__fetches_what_fits),
		cmocka_unit_test(order__as_sent),
		cmocka_unit_test(multi__pieces_are_fetched),
		cmocka_unit_test(cancel__before_the_message),
		cmocka_unit_test(receiver_closes__at_any_moment),
		cmocka_unit_test(sender_closes__receiver_gets_it_all),
		cmocka_unit_test(peer_dies__both_learn_it),
		cmocka_unit_test(patience__connection_is_kept),
		cmocka_unit_test(fence__answers_pass),
		cmocka_unit_test(turns__a_request_overtakes_an_answer),
		cmocka_unit_test(turns__answer_and_messages_alternate),
		cmocka_unit_test(matched__small_message_waits),
		cmocka_unit_test(matched__on_one_engine),
		cmocka_unit_test(close__without_memory_tells_the_sender),
		cmocka_unit_test(memory__runs_out),
		cmocka_unit_test(forged__tokens_open_nothing),
		cmocka_unit_test(forged__parts_of_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
