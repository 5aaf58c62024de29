/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "offer.h"
#include "rma_duo.h"

enum { ALL = WEFT_MR_READ | WEFT_MR_WRITE };

static const uint64_t sizes[] = {0, 1, 8, 1023, 1024, 1025, 4096, 4097, 8192, 100000, 300001};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void write__arrives_in_the_region(void **state)
{
	struct rma_duo r;
	uint8_t *out = duo_pattern(400000, 3);
	rma_open(&r, NULL, 400000, ALL);
	for (int i = 0; i < SIZES; i++) {
		struct weft_op op = rma_op(WEFT_OP_WRITE, out, sizes[i], 13);
		memset(r.mem, 0, r.bytes);
		struct weft_cqe cqe = rma_do(&r, &op, 0);
		assert_int_equal(cqe.kind, WEFT_OP_WRITE);
		assert_int_equal(cqe.len, sizes[i]);
		assert_memory_equal(r.mem + 13, out, sizes[i]);
		assert_int_equal(r.mem[12], 0);
		assert_int_equal(r.mem[13 + sizes[i]], 0);
	}
	struct weft_cqe none;
	assert_false(duo_cqe(&r.d, 1, &none));
	rma_close(&r);
	free(out);
}

static void read__brings_the_region(void **state)
{
	struct rma_duo r;
	uint8_t *in = malloc(400000);
	rma_open(&r, NULL, 400000, ALL);
	for (uint64_t i = 0; i < r.bytes; i++)
		r.mem[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
	for (int i = 0; i < SIZES; i++) {
		struct weft_op op = rma_op(WEFT_OP_READ, in, sizes[i], 77);
		memset(in, 0xee, 400000);
		struct weft_cqe cqe = rma_do(&r, &op, 0);
		assert_int_equal(cqe.kind, WEFT_OP_READ);
		assert_int_equal(cqe.len, sizes[i]);
		assert_memory_equal(in, r.mem + 77, sizes[i]);
		assert_int_equal(in[sizes[i]], 0xee);
	}
	assert_int_equal(r.d.e[0]->ses.asks.count, 0);
	assert_int_equal(r.d.e[1]->ses.answers, 0);
	rma_close(&r);
	free(in);
}

static enum duo_fate lose_some(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	bool offer = w->pds.type == WIRE_PDS_CP && w->pds.opaque == OFFER_OPAQUE; /* it must not learn what we are */
	return rng_below(arg, 50) == 0 || offer ? DUO_DROP : DUO_PASS;
}

/* As the standard has it: a request for each packet of the answer; one for all when the peer is taken for one of ours.
 * The answer comes in the return direction of the same connection, whatever gets lost. */
static void read_lengths(enum weft_profile profile)
{
	static const uint64_t lens[] = {0, 1, 16, 17, 1024, 1025, 4096, 4097, 8192, 8193, 12288, 100000, 1 << 20};
	struct rng dice = {5};
	struct rma_duo r;
	uint8_t *in = malloc(1 << 20);
	rma_open(&r, NULL, 1 << 20, ALL);
	r.d.e[0]->pds.conf.tune.profile = profile;
	r.d.fate = lose_some;
	r.d.fate_arg = &dice;
	for (uint64_t i = 0; i < r.bytes; i++)
		r.mem[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		uint64_t sent = weft_engine_stats(r.d.e[0])->tx_data;
		uint32_t payload = r.d.e[0]->pds.conf.tune.payload_bytes;
		struct weft_op op = rma_op(WEFT_OP_READ, in, lens[i], 0);
		memset(in, 0xee, 1 << 20);
		rma_do(&r, &op, 0);
		assert_memory_equal(in, r.mem, lens[i]);
		uint64_t pkts = lens[i] && profile != WEFT_PROFILE_WEFT ? (lens[i] + payload - 1) / payload : 1;
		assert_int_equal(weft_engine_stats(r.d.e[0])->tx_data - sent, pkts);
	}
	assert_int_equal(weft_engine_stats(r.d.e[0])->pdc_opened, 1);
	assert_int_equal(weft_engine_stats(r.d.e[1])->pdc_opened, 0);
	assert_int_equal(weft_engine_stats(r.d.e[0])->rma_stale, 0);
	rma_close(&r);
	free(in);
}

static void read__over_one_connection(void **state)
{
	read_lengths(WEFT_PROFILE_WEFT);
	read_lengths(WEFT_PROFILE_AI_BASE);
}

/* With the 16 bytes that message 1, a READ, asks for. */
static struct plain_pkt answer_in_ack(const struct plain_pkt *request)
{
	struct plain_pkt w = duo_ack_of(request, WIRE_NH_RSP_DATA);
	w.ses = (struct plain_ses){.opcode = WIRE_RSP_W_DATA,
				   .return_code = WIRE_RC_OK,
				   .message_id = 1,
				   .read_message_id = 1,
				   .modified_length = 16,
				   .payload_length = 16};
	w.payload_bytes = 16;
	return w;
}

/* The n-th packet of the return direction: an answer to message 1. */
static struct plain_pkt answer(const struct plain_pkt *request, uint32_t n, uint16_t bytes, uint8_t rc)
{
	struct plain_pkt w = duo_syn(0, bytes);
	w.pds.flags = 0;
	w.pds.spdcid = 50;
	w.pds.dpdcid = request->pds.spdcid;
	w.pds.psn = request->pds.psn + n;
	w.pds.next_hdr = WIRE_NH_RSP_DATA;
	w.ses = (struct plain_ses){
		.opcode = WIRE_RSP_W_DATA, .return_code = rc, .read_message_id = 1, .payload_length = bytes};
	return w;
}

/* Submits a READ to a target that is not there; its first packet. */
static struct plain_pkt ask(struct rma_duo *r, uint8_t *in, uint32_t bytes)
{
	struct weft_op op = rma_op(WEFT_OP_READ, in, bytes, 0);
	r->d.logging = true;
	rma_submit(&r->d, 0, &op);
	duo_poll(&r->d, 0);
	assert_int_equal(r->d.log[0].w.ses.opcode, WIRE_OP_READ);
	return r->d.log[0].w;
}

/* A standard target puts up to 16 bytes into the acknowledgement. */
static void read__answered_in_the_ack(void **state)
{
	struct rma_duo r;
	uint8_t in[16] = {0}, payload[16];
	rma_open(&r, NULL, 100, ALL);
	memset(payload, 0xbb, sizeof payload);
	const struct plain_pkt request = ask(&r, in, 16);
	struct plain_pkt w = answer_in_ack(&request);
	duo_inject_pkt(&r.d, 0, &w, payload);
	duo_poll(&r.d, 0);
	duo_expect(&r.d, 0, in, 0);
	assert_memory_equal(in, payload, sizeof in);
	const struct plain_pkt *clear = &r.d.log[r.d.log_len - 1].w;
	for (uint32_t i = r.d.log_len; i-- > 0 && clear->pds.ctl != WIRE_CTL_CLEAR_CMD;)
		clear = &r.d.log[i].w;
	assert_int_equal(clear->pds.ctl, WIRE_CTL_CLEAR_CMD);
	assert_int_equal(clear->pds.payload, request.pds.psn);
	duo_inject_pkt(&r.d, 0, &w, payload); /* repeated: it changes nothing */
	duo_poll(&r.d, 0);
	struct weft_cqe none;
	assert_false(duo_cqe(&r.d, 0, &none));
	rma_close(&r);
}

/* The answer to another message, or to none. */
static void read__answer_in_the_ack_names_its_message(void **state)
{
	static const uint16_t ids[] = {0, 2, 0x101};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct rma_duo r;
		struct weft_cqe cqe;
		uint8_t in[16] = {0}, payload[16], zero[16] = {0};
		rma_open(&r, NULL, 100, ALL);
		memset(payload, 0xbb, sizeof payload);
		const struct plain_pkt request = ask(&r, in, 16);
		struct plain_pkt w = answer_in_ack(&request);
		w.ses.read_message_id = ids[i];
		duo_inject_pkt(&r.d, 0, &w, payload);
		duo_poll(&r.d, 0);
		assert_int_equal(duo_stats(&r.d, 0)->rma_stale, 1);
		assert_false(duo_cqe(&r.d, 0, &cqe));
		assert_memory_equal(in, zero, sizeof in);
		rma_close(&r);
	}
}

/* All has come, and only the acknowledgement of the request is missing: an error is too late. */
static void read__no_error_after_the_answer(void **state)
{
	for (int in_ack = 0; in_ack < 2; in_ack++) {
		struct rma_duo r;
		struct weft_cqe cqe;
		uint8_t in[16] = {0}, payload[16];
		rma_open(&r, NULL, 100, ALL);
		memset(payload, 0xbb, sizeof payload);
		const struct plain_pkt request = ask(&r, in, 16);
		struct plain_pkt w = answer(&request, 0, 16, WIRE_RC_OK);
		duo_inject_pkt(&r.d, 0, &w, payload);
		duo_poll(&r.d, 0);
		assert_memory_equal(in, payload, sizeof in);
		assert_false(duo_cqe(&r.d, 0, &cqe));
		w = in_ack ? answer_in_ack(&request) : answer(&request, 1, 0, WIRE_RC_BAD_MKEY);
		w.ses.return_code = WIRE_RC_BAD_MKEY;
		duo_inject_pkt(&r.d, 0, &w, payload);
		w = duo_ack_of(&request, WIRE_NH_NONE);
		duo_inject_pkt(&r.d, 0, &w, NULL);
		duo_poll(&r.d, 0);
		assert_int_equal(duo_stats(&r.d, 0)->rma_stale, 1);
		duo_expect(&r.d, 0, in, 0);
		rma_close(&r);
	}
}

/* One of the requests of a READ was refused: whatever comes for another is not taken, and the READ fails. */
static void read__no_answers_after_an_error(void **state)
{
	enum { PKT = 4096, BYTES = 2 * PKT };
	struct rma_duo r;
	struct weft_cqe cqe;
	uint8_t *in = calloc(1, BYTES), *payload = duo_pattern(PKT, 1);
	rma_open(&r, NULL, BYTES, ALL);
	r.d.e[0]->pds.conf.tune.profile = WEFT_PROFILE_AI_BASE; /* a request for each packet of the answer */
	const struct plain_pkt request = ask(&r, in, BYTES);
	struct plain_pkt w = duo_ack_of(&request, WIRE_NH_RSP);
	w.ses = (struct plain_ses){.opcode = WIRE_RSP_RESPONSE, .return_code = WIRE_RC_BAD_MKEY, .message_id = 1};
	duo_inject_pkt(&r.d, 0, &w, NULL);
	duo_poll(&r.d, 0);
	assert_int_equal(duo_stats(&r.d, 0)->rx_ack, 1);
	assert_false(duo_cqe(&r.d, 0, &cqe)); /* one is under way */
	struct plain_pkt data = answer(&request, 0, PKT, WIRE_RC_OK);
	data.ses.message_offset = PKT;
	duo_inject_pkt(&r.d, 0, &data, payload);
	duo_poll(&r.d, 0);
	assert_int_equal(duo_stats(&r.d, 0)->rma_stale, 1);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(in[i], 0);
	w = answer_in_ack(&request);
	w.pds.psn++;
	duo_inject_pkt(&r.d, 0, &w, payload);
	duo_poll(&r.d, 0);
	assert_int_equal(duo_stats(&r.d, 0)->rma_stale, 2);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(in[i], 0);
	duo_expect(&r.d, 0, in, EACCES);
	rma_close(&r);
	free(payload);
	free(in);
}

/* The first controls that ask for the window get lost, `arg` of them. */
static enum duo_fate lose_controls(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *left = arg;
	bool asks = w->pds.type == WIRE_PDS_CP && (w->pds.ctl == WIRE_CTL_CLEAR_CMD || w->pds.ctl == WIRE_CTL_ACK_REQ);
	if (!asks || !*left)
		return DUO_PASS;
	--*left;
	return DUO_DROP;
}

/* Answers in acknowledgements hold the target's CACK back. When they are cleared, every packet of the window has been
 * acknowledged: nothing of the target says that there is room, and nothing of ours is on its way. */
static void many_small_reads(uint32_t lost)
{
	enum { READS = 500 };
	static uint32_t in[READS];
	struct duo_conf conf;
	struct rma_duo r;
	duo_conf_init(&conf);
	conf.tune.window_pkts = 128;
	conf.ring_entries = 1024;
	rma_open(&r, &conf, sizeof in, ALL);
	r.d.fate = lose_controls;
	r.d.fate_arg = &lost;
	for (uint32_t i = 0; i < READS; i++) {
		struct weft_op op = rma_op(WEFT_OP_READ, &in[i], 4, 4 * i);
		memcpy(r.mem + 4 * i, &i, 4);
		rma_submit(&r.d, 0, &op);
	}
	duo_run(&r.d, r.d.now + WEFT_MS(50));
	for (uint32_t i = 0; i < READS; i++) {
		struct weft_cqe cqe;
		assert_true(duo_cqe(&r.d, 0, &cqe));
		assert_int_equal(cqe.err, 0);
	}
	for (uint32_t i = 0; i < READS; i++)
		assert_int_equal(in[i], i);
	assert_int_equal(lost, 0);
	rma_close(&r);
}

static void read__small_ones_fill_the_window(void **state)
{
	many_small_reads(0);
	many_small_reads(10);
}

/* Requests of another implementation, captured: 3,000 bytes in parts of 1,024, in any order. */
static void read__parts_in_any_order(void **state)
{
	static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {2, 0, 1}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}};
	for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
		struct rma_duo r;
		uint8_t none;
		rma_open(&r, NULL, 4096, ALL);
		r.d.logging = true;
		for (int i = 0; i < 3; i++) {
			struct plain_pkt w = duo_syn(1, 0);
			uint32_t n = (uint32_t)orders[o][i];
			w.pds.psn += n;
			w.pds.psn_offset = (uint16_t)n;
			w.ses.opcode = WIRE_OP_READ;
			w.ses.match = RMA_KEY;
			w.ses.request_length = 3000;
			w.ses.flags =
				(uint8_t)(WIRE_SES_REL | (n == 0 ? WIRE_SES_SOM : 0) | (n == 2 ? WIRE_SES_EOM : 0));
			w.ses.payload_length = n == 0 ? 0 : n == 1 ? 1024 : 952;
			w.ses.message_offset = n * 1024;
			duo_inject_pkt(&r.d, 1, &w, &none);
			duo_poll(&r.d, 1);
		}
		uint32_t seen = 0;
		for (uint32_t i = 0; i < r.d.log_len; i++) {
			const struct plain_pkt *w = &r.d.log[i].w;
			if (!is_data(w))
				continue;
			assert_int_equal(w->pds.next_hdr, WIRE_NH_RSP_DATA);
			assert_int_equal(w->pds.dpdcid, 9);
			assert_int_equal(w->pds.flags & WIRE_F_SYN, 0);
			assert_in_range(w->pds.psn, 1000, 1002);
			assert_int_equal(w->ses.read_message_id, 1);
			assert_int_equal(w->ses.modified_length, 3000);
			assert_int_equal(w->payload_bytes, w->ses.message_offset == 2048 ? 952 : 1024);
			seen |= 1u << w->ses.message_offset / 1024;
		}
		assert_int_equal(seen, 7);
		rma_close(&r);
	}
}

/* A long answer tells that its sender lives: the reader, of whom nothing is to be acknowledged, need not ask. */
static void read__answers_are_signs_of_life(void **state)
{
	enum { BYTES = 16 << 20 /* 1.4 ms at 100 Gb/s */ };
	struct duo_conf conf;
	struct rma_duo r;
	uint8_t *in = calloc(1, BYTES);
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(2); /* it asks after a quarter of that */
	rma_open(&r, &conf, BYTES, ALL);
	r.d.logging = true;
	struct weft_op op = rma_op(WEFT_OP_READ, in, BYTES, 0);
	rma_do(&r, &op, 0);
	assert_int_equal(count_ctl(&r.d, 0, WIRE_CTL_NOOP), 0);
	assert_int_equal(duo_stats(&r.d, 0)->timeouts, 0);
	rma_close(&r);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write__arrives_in_the_region),
		cmocka_unit_test(read__brings_the_region),
		cmocka_unit_test(read__over_one_connection),
		cmocka_unit_test(read__answered_in_the_ack),
		cmocka_unit_test(read__parts_in_any_order),
		cmocka_unit_test(read__small_ones_fill_the_window),
		cmocka_unit_test(read__answers_are_signs_of_life),
		cmocka_unit_test(read__answer_in_the_ack_names_its_message),
		cmocka_unit_test(read__no_error_after_the_answer),
		cmocka_unit_test(read__no_answers_after_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
