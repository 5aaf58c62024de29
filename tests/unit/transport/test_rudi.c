/* SPDX-License-Identifier: BSD-3-Clause */
/* Idempotent operations without a connection (RUDI). */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

enum { REGION = 400000, LONG = 300001 };
#define KEY (WEFT_MR_KEY_IDEMPOTENT | RMA_KEY)

struct world {
	struct rma_duo r;
	struct weft_mr *mr; /* the same memory under KEY */
	uint8_t *out;
};

static void start_with(struct world *w, const struct duo_conf *conf, uint8_t access)
{
	rma_open(&w->r, conf, REGION, WEFT_MR_READ | WEFT_MR_WRITE);
	const struct weft_mr_attr attr = {.key = KEY, .base = w->r.mem, .bytes = REGION, .access = access};
	assert_int_equal(weft_mr_add(w->r.d.e[1], &attr, &w->mr), 0);
	w->out = duo_pattern(REGION, 3);
}

static void start(struct world *w, uint8_t access)
{
	start_with(w, NULL, access);
}

static void stop(struct world *w)
{
	weft_mr_del(w->mr);
	rma_close(&w->r);
	free(w->out);
}

static struct weft_op op_of(uint8_t kind, void *buf, uint64_t len, uint64_t raddr)
{
	struct weft_op op = rma_op(kind, buf, len, raddr);
	op.rkey = KEY;
	op.flags = WEFT_OP_IDEMPOTENT;
	return op;
}

static const uint64_t sizes[] = {0, 1, 1024, 4096, 4097, LONG};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Every size there and back, by operations that `build` makes. */
static void there_and_back_by(struct world *w, struct weft_op (*build)(uint8_t, void *, uint64_t, uint64_t))
{
	uint8_t *in = malloc(REGION);
	for (int i = 0; i < SIZES; i++) {
		memset(w->r.mem, 0, REGION);
		const struct weft_op write = build(WEFT_OP_WRITE, w->out, sizes[i], 7);
		assert_int_equal(rma_do(&w->r, &write, 0).len, sizes[i]);
		assert_memory_equal(w->r.mem + 7, w->out, sizes[i]);
		memset(in, 0, REGION);
		const struct weft_op read = build(WEFT_OP_READ, in, sizes[i], 7);
		assert_int_equal(rma_do(&w->r, &read, 0).len, sizes[i]);
		assert_memory_equal(in, w->out, sizes[i]);
	}
	free(in);
}

static void there_and_back(struct world *w)
{
	there_and_back_by(w, op_of);
}

static void operations__need_no_connection(void **state)
{
	struct world w;
	start(&w, WEFT_MR_READ | WEFT_MR_WRITE);
	there_and_back(&w);
	assert_int_equal(duo_stats(&w.r.d, 0)->pdc_opened + duo_stats(&w.r.d, 1)->pdc_accepted, 0);
	assert_int_equal(duo_stats(&w.r.d, 0)->tx_rudi_retx, 0);
	assert_int_equal(duo_stats(&w.r.d, 0)->tx_rudi, duo_stats(&w.r.d, 1)->rx_rudi);
	stop(&w);
}

/* Packets in both directions are lost, doubled, late or trimmed. */
static enum duo_fate trouble(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const enum duo_fate fates[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_TRIM, DUO_MARK};
	uint64_t dice = rng_mix(nth * 2 + (uint64_t)from);
	return dice % 8 ? DUO_PASS : fates[(dice >> 8) % 5];
}

static void operations__end_whatever_is_lost(void **state)
{
	struct world w;
	start(&w, WEFT_MR_READ | WEFT_MR_WRITE);
	w.r.d.fate = trouble;
	w.r.d.late_ns = WEFT_US(200);
	there_and_back(&w);
	duo_run(&w.r.d, w.r.d.now + WEFT_MS(5));
	assert_true(duo_stats(&w.r.d, 0)->tx_rudi_retx > 10);
	assert_true(duo_stats(&w.r.d, 0)->rma_stale > 0); /* responses that came twice */
	stop(&w);
}

static const uint32_t payloads[][2] = {{4096, 1024}, {1024, 4096}, {8192, 1000}};
enum { PAYLOADS = sizeof payloads / sizeof *payloads };

static void start_unlike(struct world *w, const uint32_t payload_bytes[2])
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	struct weft_engine_tune theirs = conf.tune;
	conf.tune.payload_bytes = payload_bytes[0];
	theirs.payload_bytes = payload_bytes[1];
	conf.tune_1 = &theirs;
	start_with(w, &conf, WEFT_MR_READ | WEFT_MR_WRITE);
}

/* Full packets of two sides may be of unlike sizes. */
static void operations__of_sides_with_unlike_packets(void **state)
{
	for (int i = 0; i < PAYLOADS; i++) {
		struct world w;
		start_unlike(&w, payloads[i]);
		there_and_back(&w);
		assert_int_equal(duo_stats(&w.r.d, 0)->tx_rudi_retx, 0);
		assert_int_equal(duo_stats(&w.r.d, 0)->tx_rudi, duo_stats(&w.r.d, 1)->rx_rudi);
		there_and_back_by(&w, rma_op); /* with a connection, too */
		w.r.d.fate = trouble;
		w.r.d.late_ns = WEFT_US(200);
		there_and_back(&w);
		stop(&w);
	}
}

/* A stranger asks for more in one packet than ours hold, or any port carries. */
static void answers__are_no_longer_than_our_packets(void **state)
{
	struct world w;
	start(&w, WEFT_MR_READ);
	struct plain_pkt ask = duo_syn(1, 0);
	ask.pds = (struct plain_pds){.type = WIRE_PDS_RUDI_REQ, .next_hdr = WIRE_NH_STD, .psn = 5};
	ask.ses.opcode = WIRE_OP_READ;
	ask.ses.flags = WIRE_SES_REL;
	ask.ses.match = KEY;
	ask.ses.message_offset = 4096;
	ask.ses.payload_length = 0x3fff;
	ask.ses.request_length = LONG;
	w.r.d.logging = true;
	duo_inject_pkt(&w.r.d, 1, &ask, NULL);
	duo_poll(&w.r.d, 1);
	assert_int_equal(w.r.d.log_len, 1);
	assert_int_equal(w.r.d.log[0].w.ses.message_offset, 4096);
	assert_int_equal(w.r.d.log[0].w.payload_bytes, 4096);
	stop(&w);
}

/* What is trimmed, in either direction, comes again without waiting for a timer. */
static enum duo_fate trimmed_once(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.flags & WIRE_F_RETX || w->pds.type == WIRE_PDS_NACK || !w->payload_bytes ? DUO_PASS : DUO_TRIM;
}

static void trimmed__at_once(void **state)
{
	struct world w;
	start(&w, WEFT_MR_READ | WEFT_MR_WRITE);
	w.r.d.fate = trimmed_once;
	struct weft_op op = op_of(WEFT_OP_WRITE, w.out, LONG, 0);
	rma_submit(&w.r.d, 0, &op);
	duo_run(&w.r.d, w.r.d.now + w.r.d.e[0]->pds.conf.rto_ns); /* half the timer of these packets */
	duo_expect(&w.r.d, 0, w.out, 0);
	assert_memory_equal(w.r.mem, w.out, LONG);
	memset(w.out, 0, LONG);
	op = op_of(WEFT_OP_READ, w.out, LONG, 0);
	rma_submit(&w.r.d, 0, &op);
	duo_run(&w.r.d, w.r.d.now + w.r.d.e[0]->pds.conf.rto_ns);
	duo_expect(&w.r.d, 0, w.out, 0);
	assert_memory_equal(w.r.mem, w.out, LONG);
	assert_true(duo_stats(&w.r.d, 0)->tx_rudi_retx >= 2 * LONG / 4096);
	assert_int_equal(duo_stats(&w.r.d, 1)->tx_nack, duo_stats(&w.r.d, 0)->rx_nack);
	stop(&w);
}

/* What a peer may not do, we may not do to ourselves either. */
static void refusals__of_our_own_region(void **state)
{
	struct world w;
	uint8_t in[100];
	start(&w, WEFT_MR_READ);
	const struct weft_addr self = {weft_peer_addr(w.r.d.e[0], w.r.d.peer[0])->ip, 200};
	struct weft_op op = op_of(WEFT_OP_READ, in, 100, 0);
	assert_int_equal(weft_peer_add(w.r.d.e[1], &self, &op.peer), 0);
	op.rkey = RMA_KEY; /* a region for which twice is not the same as once */
	op.context = in;
	assert_int_equal(weft_submit(w.r.d.ep[1], &op), 0);
	duo_poll(&w.r.d, 1);
	duo_expect(&w.r.d, 1, in, EACCES);
	op.rkey = KEY;
	assert_int_equal(weft_submit(w.r.d.ep[1], &op), 0);
	duo_poll(&w.r.d, 1);
	duo_expect(&w.r.d, 1, in, 0);
	stop(&w);
}

/* As side 0 would ask, but the request has header data. */
static void ask_with_header_data(struct world *w, uint8_t opcode)
{
	struct plain_pkt ask = duo_syn(1, opcode == WIRE_OP_WRITE ? 100 : 0);
	ask.pds = (struct plain_pds){.type = WIRE_PDS_RUDI_REQ, .next_hdr = WIRE_NH_STD, .psn = 5};
	ask.ses.opcode = opcode;
	ask.ses.flags |= WIRE_SES_HD;
	ask.ses.match = KEY;
	ask.ses.request_length = 100;
	uint32_t seen = w->r.d.log_len;
	duo_inject_pkt(&w->r.d, 1, &ask, w->out);
	duo_poll(&w->r.d, 1);
	assert_int_equal(w->r.d.log_len, seen + 1);
	assert_int_equal(w->r.d.log[seen].w.pds.next_hdr, WIRE_NH_RSP);
	assert_int_equal(w->r.d.log[seen].w.ses.return_code, WIRE_RC_UNSUPPORTED_OP);
}

/* Nobody here asks so: header data would be for a completion, and there is none. */
static void refusals__of_header_data(void **state)
{
	struct world w;
	start(&w, WEFT_MR_READ | WEFT_MR_WRITE);
	w.r.d.logging = true;
	ask_with_header_data(&w, WIRE_OP_READ);
	ask_with_header_data(&w, WIRE_OP_WRITE);
	assert_int_equal(duo_stats(&w.r.d, 1)->rma_refused, 2);
	for (int i = 0; i < REGION; i++)
		assert_int_equal(w.r.mem[i], 0);
	stop(&w);
}

static void refusals__as_of_others(void **state)
{
	struct world w;
	uint8_t in[100];
	start(&w, WEFT_MR_READ);
	struct weft_op op = op_of(WEFT_OP_WRITE, w.out, 100, 0);
	rma_do(&w.r, &op, EACCES);
	op = op_of(WEFT_OP_READ, in, 100, REGION - 50);
	rma_do(&w.r, &op, ERANGE);
	op = op_of(WEFT_OP_READ, in, 100, 0);
	op.rkey = RMA_KEY; /* a region for which twice is not the same as once */
	rma_do(&w.r, &op, EACCES);
	op = op_of(WEFT_OP_WRITE, w.out, 100, 0);
	op.flags |= WEFT_OP_HAS_DATA;
	rma_do(&w.r, &op, EINVAL);
	op = op_of(WEFT_OP_TSEND, w.out, 100, 0);
	rma_do(&w.r, &op, EINVAL);
	assert_int_equal(duo_stats(&w.r.d, 1)->rma_refused, 3);
	stop(&w);
}

/* A READ of side 0 in two packets, whose buffer has a guard behind it. */
enum { ASKED = 5000, REST = ASKED - 4096, GUARD = 64, UNTOUCHED = 0xcc };

static const struct forged {
	uint8_t nth; /* packet of the READ that it is about */
	uint8_t next_hdr, return_code;
	uint16_t bytes;
	uint32_t offset;
	bool stranger; /* comes from another host than was asked */
} forgeries[] = {
	{0, WIRE_NH_RSP_DATA, WIRE_RC_OK, 4097, 0, false}, /* longer than that packet asked for */
	{1, WIRE_NH_RSP_DATA, WIRE_RC_OK, REST + GUARD, 0, false},
	{0, WIRE_NH_RSP_DATA, WIRE_RC_OK, 100, 1, false},
	{1, WIRE_NH_RSP_DATA, WIRE_RC_OK, REST, REST, false},
	{0, WIRE_NH_RSP_DATA, WIRE_RC_OK, 4096, 0, true},
	{1, WIRE_NH_RSP_DATA, WIRE_RC_OK, 100, 0, true},
	{0, WIRE_NH_RSP, WIRE_RC_PERM_VIOLATION, 0, 0, true},
	{0, WIRE_NH_RSP, WIRE_RC_OK, 0, 0, false}, /* no data */
};
enum { FORGERIES = sizeof forgeries / sizeof *forgeries };

static void inject_forged(struct world *w, const struct forged *f)
{
	static uint8_t bytes[WEFT_PKT_HEAD_MAX + 8192];
	struct plain_pkt p = {.net = {.dst_port = WIRE_UDP_PORT, .dscp = WIRE_DSCP_TRIMMABLE, .entropy = 5},
			      .pds = {.type = WIRE_PDS_RUDI_RESP, .next_hdr = f->next_hdr},
			      .ses = {.opcode = f->bytes ? WIRE_RSP_W_DATA : WIRE_RSP_RESPONSE,
				      .return_code = f->return_code,
				      .payload_length = f->bytes,
				      .message_offset = f->offset},
			      .payload_bytes = f->bytes};
	p.pds.psn = w->r.d.log[f->nth].w.pds.psn;
	p.net.src = w->r.d.log[f->nth].w.net.dst;
	p.net.src.b[15] ^= f->stranger ? 0x40 : 0;
	p.net.dst = w->r.d.log[f->nth].w.net.src;
	size_t head = plain_encode(&p, bytes);
	assert_true(head > 0);
	memset(bytes + head, 0xbb, f->bytes);
	duo_inject(&w->r.d, 0, bytes, (uint16_t)(head + f->bytes));
	duo_poll(&w->r.d, 0);
}

/* Who knows the id of a packet fills no more of the buffer than it asked for, and who was not asked nothing of it. */
static void responses__forged_ones_are_ignored(void **state)
{
	struct world w;
	struct weft_cqe cqe;
	uint8_t in[ASKED + GUARD], untouched[ASKED + GUARD];
	start(&w, WEFT_MR_READ);
	w.r.d.logging = true;
	memset(in, UNTOUCHED, sizeof in);
	memset(untouched, UNTOUCHED, sizeof untouched);
	memcpy(w.r.mem, w.out, ASKED);
	const struct weft_op op = op_of(WEFT_OP_READ, in, ASKED, 0);
	rma_submit(&w.r.d, 0, &op);
	duo_poll(&w.r.d, 0);
	assert_int_equal(w.r.d.log_len, 2);
	for (int i = 0; i < FORGERIES; i++) {
		inject_forged(&w, &forgeries[i]);
		assert_int_equal(duo_stats(&w.r.d, 0)->rma_stale, i + 1);
		assert_memory_equal(in, untouched, sizeof in);
		assert_false(duo_cqe(&w.r.d, 0, &cqe));
	}
	duo_run(&w.r.d, w.r.d.now + WEFT_MS(5));
	assert_int_equal(duo_expect(&w.r.d, 0, in, 0).len, ASKED);
	assert_memory_equal(in, w.out, ASKED);
	assert_memory_equal(in + ASKED, untouched, GUARD);
	assert_int_equal(duo_stats(&w.r.d, 0)->rma_stale, FORGERIES);
	stop(&w);
}

static enum duo_fate silence(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from ? DUO_DROP : DUO_PASS;
}

static void silence__ends_in_a_timeout(void **state)
{
	struct world w;
	start(&w, WEFT_MR_WRITE);
	w.r.d.fate = silence;
	const struct weft_op op = op_of(WEFT_OP_WRITE, w.out, LONG, 0);
	rma_submit(&w.r.d, 0, &op);
	duo_run(&w.r.d, w.r.d.now + WEFT_S(200));
	duo_expect(&w.r.d, 0, w.out, ETIMEDOUT);
	stop(&w);
}

static enum duo_fate late_answers(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from ? DUO_LATE : DUO_PASS;
}

/* No more in flight than 512 packets or about 1 MiB, and as many as that. */
static void flight__is_bounded(void **state)
{
	struct world w;
	start(&w, WEFT_MR_WRITE);
	w.r.d.fate = silence;
	for (int i = 0; i < 10; i++) {
		const struct weft_op op = op_of(WEFT_OP_WRITE, w.out, LONG, 0);
		rma_submit(&w.r.d, 0, &op);
	}
	duo_run(&w.r.d, w.r.d.now + WEFT_US(20));
	assert_in_range(duo_stats(&w.r.d, 0)->tx_rudi, 256, 262);
	stop(&w);
}

/* An endpoint closes in the middle, and a region goes: nothing of them is used any more. */
static void close__drops_operations(void **state)
{
	struct world w;
	uint8_t in[8192];
	start(&w, WEFT_MR_READ | WEFT_MR_WRITE);
	w.r.d.fate = silence;
	const struct weft_op write = op_of(WEFT_OP_WRITE, w.out, LONG, 0), read = op_of(WEFT_OP_READ, in, sizeof in, 0);
	rma_submit(&w.r.d, 0, &write);
	rma_submit(&w.r.d, 0, &read);
	duo_poll(&w.r.d, 0);
	assert_false(weft_engine_idle(w.r.d.e[0]));
	weft_ep_close(w.r.d.ep[0]);
	assert_true(weft_engine_idle(w.r.d.e[0]) || w.r.d.e[0]->pds.out.count);
	w.r.d.ep[0] = NULL;
	w.r.d.fate = NULL;
	duo_run(&w.r.d, w.r.d.now + WEFT_MS(5));
	stop(&w);
}

static uint32_t waiting_with_payload(const struct out_batch *o)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < o->count; i++)
		n += o->pkts[i]->payload != NULL;
	return n;
}

/* Counts packets that carry what the application writes once the buffer is its own again. */
enum { REUSED = 0x5c, MARK_BYTES = 16 };

static void count_reused(void *arg, int from, const uint8_t *bytes, uint16_t len)
{
	uint8_t mark[MARK_BYTES];
	memset(mark, REUSED, sizeof mark);
	*(uint32_t *)arg += memmem(bytes, len, mark, sizeof mark) != NULL;
}

/* A WRITE ends while its repetition waits for the port: the buffer is the application's, and nothing of it leaves. */
static void completion__repetitions_are_not_sent(void **state)
{
	struct world w;
	uint32_t reused = 0;
	start(&w, WEFT_MR_WRITE);
	const struct out_batch *o = &w.r.d.e[0]->pds.out;
	weft_ns rto_ns = w.r.d.e[0]->pds.conf.rto_ns;
	uint8_t buf[100];
	memcpy(buf, w.out, sizeof buf);
	w.r.d.fate = late_answers;
	w.r.d.late_ns = 3 * rto_ns;
	const struct weft_op op = op_of(WEFT_OP_WRITE, buf, sizeof buf, 0);
	rma_submit(&w.r.d, 0, &op);
	duo_run(&w.r.d, w.r.d.now + rto_ns);
	assert_memory_equal(w.r.mem, w.out, sizeof buf);
	w.r.d.port[0].tx_room = 0;
	w.r.d.now += rto_ns + WEFT_US(1); /* it is sent again */
	duo_poll(&w.r.d, 0);
	assert_int_equal(waiting_with_payload(o), 1);
	w.r.d.now += 3 * rto_ns; /* and the answer is here */
	duo_poll(&w.r.d, 0);
	duo_expect(&w.r.d, 0, buf, 0);
	memset(buf, REUSED, sizeof buf);
	w.r.d.tap = count_reused;
	w.r.d.tap_arg = &reused;
	w.r.d.port[0].tx_room = UINT32_MAX;
	duo_run(&w.r.d, w.r.d.now + WEFT_MS(5));
	assert_int_equal(reused, 0);
	assert_memory_equal(w.r.mem, w.out, sizeof buf);
	stop(&w);
}

/* MPICH's dynamic windows are such a region. What waits for the port is dropped at once, not 4 GiB by 4 GiB, and
 * packets without a payload stay. */
static void close__of_a_region_of_all_memory(void **state)
{
	struct world w;
	struct weft_mr *all;
	uint8_t in[8192], refused[16];
	const struct weft_mr_attr attr = {.key = KEY + 1, .bytes = UINT64_MAX, .access = WEFT_MR_READ};
	start(&w, WEFT_MR_READ);
	assert_int_equal(weft_mr_add(w.r.d.e[1], &attr, &all), 0);
	struct weft_op read = op_of(WEFT_OP_READ, in, sizeof in, (uintptr_t)w.r.mem), write = read;
	read.rkey = KEY + 1;
	memcpy(w.r.mem, w.out, sizeof in);
	rma_do(&w.r, &read, 0);
	assert_memory_equal(in, w.out, sizeof in);

	const struct out_batch *o = &w.r.d.e[1]->pds.out;
	write = op_of(WEFT_OP_WRITE, refused, sizeof refused, 0);
	w.r.d.port[1].tx_room = 0;
	rma_submit(&w.r.d, 0, &read);
	rma_submit(&w.r.d, 0, &write);
	duo_poll(&w.r.d, 0);
	w.r.d.now += w.r.d.latency_ns + WEFT_US(1);
	duo_poll(&w.r.d, 1);
	uint32_t others = o->count - waiting_with_payload(o);
	assert_int_equal(waiting_with_payload(o), 2);
	assert_true(others > 0);
	weft_mr_del(all);
	assert_int_equal(waiting_with_payload(o), 0);
	assert_int_equal(o->count, others);
	w.r.d.port[1].tx_room = UINT32_MAX;
	duo_run(&w.r.d, w.r.d.now + WEFT_MS(50));
	duo_expect(&w.r.d, 0, refused, EACCES);
	duo_expect(&w.r.d, 0, in, EACCES);
	stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations__need_no_connection),
		cmocka_unit_test(operations__end_whatever_is_lost),
		cmocka_unit_test(operations__of_sides_with_unlike_packets),
		cmocka_unit_test(answers__are_no_longer_than_our_packets),
		cmocka_unit_test(trimmed__at_once),
		cmocka_unit_test(refusals__of_our_own_region),
		cmocka_unit_test(refusals__as_of_others),
		cmocka_unit_test(refusals__of_header_data),
		cmocka_unit_test(responses__forged_ones_are_ignored),
		cmocka_unit_test(silence__ends_in_a_timeout),
		cmocka_unit_test(flight__is_bounded),
		cmocka_unit_test(close__drops_operations),
		cmocka_unit_test(completion__repetitions_are_not_sent),
		cmocka_unit_test(close__of_a_region_of_all_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
