/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic requests between two engines: forms on the wire, exactly once and in order whatever is lost. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "amo.h"
#include "inside.h"

enum { REGION_BYTES = 4096, KEY = 5, STEPS = 40 };

struct world {
	struct duo d;
	struct weft_mr *mr;
	_Alignas(64) uint8_t region[REGION_BYTES];
};

static void start(struct world *w, const struct weft_mr_attr *attr)
{
	memset(w->region, 0, sizeof w->region);
	open_default(&w->d);
	w->d.logging = true;
	struct weft_mr_attr whole = {
		.key = KEY, .base = w->region, .bytes = REGION_BYTES, .access = WEFT_MR_READ | WEFT_MR_WRITE};
	assert_int_equal(weft_mr_add(w->d.e[1], attr ? attr : &whole, &w->mr), 0);
}

static void stop(struct world *w)
{
	weft_mr_del(w->mr);
	duo_close(&w->d);
}

static void submit(struct world *w, bool fetches, const struct weft_op_atomic *a, const void *buf, uint64_t len,
		   uint64_t raddr, const void *context)
{
	const struct weft_op op = {.kind = fetches ? WEFT_OP_FETCH_ATOMIC : WEFT_OP_ATOMIC,
				   .peer = w->d.peer[0],
				   .buf = (void *)buf,
				   .len = len,
				   .rkey = KEY,
				   .raddr = raddr,
				   .atomic = a,
				   .context = (void *)context};
	assert_int_equal(weft_submit(w->d.ep[0], &op), 0);
}

static void expect(struct world *w, const void *context, int err)
{
	duo_run(&w->d, w->d.now + WEFT_S(1));
	duo_expect(&w->d, 0, context, err);
}

/* The only packet of this opcode from side 0. */
static const struct plain_pkt *sent(const struct world *w, uint8_t opcode)
{
	const struct plain_pkt *found = NULL;
	for (uint32_t i = 0; i < w->d.log_len; i++) {
		const struct plain_pkt *p = &w->d.log[i].w;
		if (w->d.log[i].from != 0 || !is_data(p) || p->ses.opcode != opcode)
			continue;
		assert_null(found);
		found = p;
	}
	assert_non_null(found);
	return found;
}

static void swap__one_element_travels_in_the_extension(void **state)
{
	struct world w;
	start(&w, NULL);
	const uint32_t args[2] = {0x11223344, 7}, seven = 7;
	uint32_t was = 0;
	memcpy(w.region + 8, &seven, 4);
	const struct weft_op_atomic a = {.op = WEFT_AMO_CSWAP, .type = WEFT_AMO_UINT32, .result = &was};
	submit(&w, true, &a, args, 4, 8, &a);
	expect(&w, &a, 0);
	assert_int_equal(was, 7);
	assert_memory_equal(w.region + 8, args, 4);
	const struct plain_pkt *p = sent(&w, WIRE_OP_FETCHING_ATOMIC);
	assert_int_equal(p->ses.amo_opcode, 0x0d);
	assert_int_equal(p->ses.amo_datatype, 0x05);
	assert_int_equal(p->ses.amo_swap[0], 0);
	assert_int_equal(p->ses.amo_swap[1], 0x11223344);
	assert_int_equal(p->ses.amo_compare[1], 7);
	assert_int_equal(p->ses.request_length, 4);
	assert_int_equal(p->payload_bytes, 0);
	stop(&w);
}

static void swap__arrays_have_a_vendor_opcode(void **state)
{
	struct world w;
	start(&w, NULL);
	const uint64_t args[6] = {100, 101, 102, 0, 5, 0}, after[3] = {100, 0, 102};
	uint64_t was[3] = {9, 9, 9};
	const struct weft_op_atomic a = {.op = WEFT_AMO_CSWAP, .type = WEFT_AMO_UINT64, .result = was};
	submit(&w, true, &a, args, sizeof after, 0, &a);
	expect(&w, &a, 0);
	assert_memory_equal(w.region, after, sizeof after);
	assert_int_equal(was[0] | was[1] | was[2], 0);
	const struct plain_pkt *p = sent(&w, WIRE_OP_FETCHING_ATOMIC);
	assert_int_equal(p->ses.amo_opcode, 0xe0);
	assert_int_equal(p->ses.request_length, sizeof args);
	assert_int_equal(p->payload_bytes, sizeof args);
	stop(&w);
}

static void read__needs_no_payload(void **state)
{
	struct world w;
	start(&w, NULL);
	uint16_t was[2];
	memset(w.region, 0x5a, 4);
	const struct weft_op_atomic a = {.op = WEFT_AMO_READ, .type = WEFT_AMO_UINT16, .result = was};
	submit(&w, true, &a, NULL, sizeof was, 0, &a);
	expect(&w, &a, 0);
	assert_memory_equal(was, w.region, sizeof was);
	assert_int_equal(sent(&w, WIRE_OP_FETCHING_ATOMIC)->payload_bytes, 0);
	stop(&w);
}

static enum duo_fate answers_lost(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 ? DUO_DROP : DUO_PASS;
}

/* Who waits for a change of the memory learns of it when it has happened, whether or not the answer arrives. Few bytes
 * are answered in the acknowledgement, more by a packet. */
static void events__come_with_the_change(void **state)
{
	static const struct {
		uint8_t op;
		uint16_t flags;
	} kinds[] = {{WEFT_AMO_SUM, WEFT_OP_MODIFIED}, {WEFT_AMO_READ, 0}};
	for (int k = 0; k < 2; k++)
		for (uint64_t len = 8; len <= 400; len += 392) {
			struct world w;
			uint8_t ones[400], was[400];
			start(&w, NULL);
			weft_mr_events(w.mr);
			memset(ones, 1, sizeof ones);
			const struct weft_op_atomic a = {.op = kinds[k].op, .type = WEFT_AMO_UINT8, .result = was};
			submit(&w, true, &a, ones, len, 0, &a);
			w.d.fate = answers_lost;
			duo_run(&w.d, w.d.now + WEFT_MS(1));
			struct weft_cqe cqe = duo_expect(&w.d, 1, NULL, 0);
			assert_int_equal(cqe.kind, WEFT_OP_REMOTE_READ);
			assert_int_equal(cqe.flags, kinds[k].flags);
			assert_int_equal(cqe.len, len);
			assert_int_equal(w.region[0], kinds[k].flags ? 1 : 0);
			assert_false(duo_cqe(&w.d, 0, &cqe));
			w.d.fate = NULL;
			expect(&w, &a, 0);
			assert_false(duo_cqe(&w.d, 1, &cqe));
			stop(&w);
		}
}

/* An element may begin in one piece of a region and end in the next. */
static void apply__across_the_pieces_of_a_region(void **state)
{
	struct world w;
	uint8_t one[6] = {0}, two[3] = {0}, three[23] = {0};
	const struct weft_mr_seg segs[] = {{one, sizeof one}, {two, sizeof two}, {three, sizeof three}};
	start(&w,
	      &(struct weft_mr_attr){.key = KEY, .segs = segs, .seg_count = 3, .access = WEFT_MR_READ | WEFT_MR_WRITE});
	uint64_t adds[4], was[4];
	for (int i = 0; i < 4; i++)
		adds[i] = 0x0102030405060708 * (uint64_t)(i + 1);
	const struct weft_op_atomic a = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = was};
	submit(&w, true, &a, adds, sizeof adds, 0, &a);
	submit(&w, true, &a, adds, sizeof adds, 0, &w);
	expect(&w, &a, 0);
	expect(&w, &w, 0);
	assert_memory_equal(was, adds, sizeof adds);
	uint8_t all[32];
	memcpy(all, one, 6);
	memcpy(all + 6, two, 3);
	memcpy(all + 9, three, 23);
	for (int i = 0; i < 4; i++)
		adds[i] *= 2;
	assert_memory_equal(all, adds, sizeof all);
	stop(&w);
}

/* The region's memory is an offset that only its mover understands. */
static bool word_move(void *context, void *at, void *other, uint64_t bytes, bool to_region)
{
	uint8_t *p = (uint8_t *)context + (uintptr_t)at;
	memcpy(to_region ? p : (uint8_t *)other, to_region ? (uint8_t *)other : p, bytes);
	return true;
}

static void apply__memory_that_is_moved(void **state)
{
	struct world w;
	uint64_t words[4] = {1, 2, 3, 4}, adds[2] = {10, 20}, was[2] = {0};
	start(&w, &(struct weft_mr_attr){.key = KEY,
					 .bytes = sizeof words,
					 .access = WEFT_MR_READ | WEFT_MR_WRITE,
					 .context = words,
					 .move = word_move});
	const struct weft_op_atomic a = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = was};
	submit(&w, true, &a, adds, sizeof adds, 8, &a);
	submit(&w, false, &a, adds, sizeof adds, 8, &w);
	expect(&w, &w, 0);
	expect(&w, &a, 0); /* by an answer of its own: a copy may fail */
	assert_memory_equal(was, ((uint64_t[]){2, 3}), sizeof was);
	assert_memory_equal(words, ((uint64_t[]){1, 22, 43, 4}), sizeof words);
	stop(&w);
}

/* The n-th packet of either side is lost, repeated or late: each request is done once, in order, and answered. */
struct trouble {
	uint64_t nth;
	int from;
	enum duo_fate fate;
};

static enum duo_fate one_packet(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct trouble *t = arg;
	return from == t->from && nth == t->nth ? t->fate : DUO_PASS;
}

static void chain(struct world *w, bool fetches)
{
	static const uint64_t five = 5, three = 3;
	const struct weft_op_atomic add = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64};
	uint64_t t = 0, want[STEPS], have[STEPS] = {0};
	struct weft_op_atomic ops[STEPS];
	for (int i = 0; i < STEPS; i++) {
		ops[i] = add;
		ops[i].op = i % 2 ? WEFT_AMO_PROD : WEFT_AMO_SUM;
		ops[i].result = &have[i];
		want[i] = t;
		t = i % 2 ? t * three : t + five;
		submit(w, fetches, &ops[i], i % 2 ? &three : &five, 8, 64, &ops[i]);
	}
	duo_run(&w->d, w->d.now + WEFT_S(4));
	struct weft_cqe cqe;
	for (int i = 0; i < STEPS; i++) {
		assert_true(duo_cqe(&w->d, 0, &cqe));
		assert_int_equal(cqe.err, 0);
	}
	assert_false(duo_cqe(&w->d, 0, &cqe));
	assert_memory_equal(w->region + 64, &t, 8);
	if (fetches)
		assert_memory_equal(have, want, sizeof want);
}

static void atomics__exactly_once_and_in_order_whatever_is_lost(void **state)
{
	static const enum duo_fate fates[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_TRIM};
	for (int i = 0; i < 4; i++) {
		for (uint64_t nth = 0; nth < 24; nth += 3) {
			for (int both = 0; both < 4; both++) {
				struct world w;
				struct trouble t = {nth, both & 1, fates[i]};
				start(&w, NULL);
				w.d.late_ns = WEFT_US(50);
				w.d.fate = one_packet;
				w.d.fate_arg = &t;
				chain(&w, both & 2);
				stop(&w);
			}
		}
	}
}

/* Nothing from this side arrives before the time given. */
struct silence {
	const struct duo *d;
	int from;
	weft_ns until;
};

static enum duo_fate silent(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct silence *s = arg;
	return from == s->from && s->d->now < s->until ? DUO_DROP : DUO_PASS;
}

/* The endpoint that asked has gone, its operands too, but not what they were to do. */
static void close__operands_are_sent_from_a_copy(void **state)
{
	struct world w;
	start(&w, NULL);
	struct silence s = {&w.d, 0, w.d.now + WEFT_US(20)};
	uint64_t five = 5, was = 0;
	const struct weft_op_atomic a = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = &was};
	w.d.fate = silent;
	w.d.fate_arg = &s;
	submit(&w, true, &a, &five, 8, 0, &a);
	submit(&w, false, &a, &five, 8, 0, &a);
	duo_run(&w.d, w.d.now + WEFT_US(10));
	weft_ep_close(w.d.ep[0]);
	w.d.ep[0] = NULL;
	five = 1000;
	duo_run(&w.d, w.d.now + WEFT_S(1));
	assert_int_equal(w.region[0], 10);
	assert_int_equal(was, 0);
	stop(&w);
}

/* The endpoint that was asked has gone after it did what it was asked for. */
static void close__answers_are_sent_all_the_same(void **state)
{
	struct world w;
	start(&w, NULL);
	struct silence s = {&w.d, 1, w.d.now + WEFT_US(60)};
	const uint64_t five = 5;
	uint64_t was = 9;
	const struct weft_op_atomic a = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = &was};
	w.d.fate = silent;
	w.d.fate_arg = &s;
	submit(&w, true, &a, &five, 8, 0, &a);
	duo_run(&w.d, w.d.now + WEFT_US(30));
	assert_int_equal(w.region[0], 5);
	weft_ep_close(w.d.ep[1]);
	w.d.ep[1] = NULL;
	expect(&w, &a, 0);
	assert_int_equal(was, 0);
	assert_int_equal(w.region[0], 5);
	stop(&w);
}

static void submit__what_makes_no_sense_fails_at_once(void **state)
{
	struct world w;
	uint8_t buf[8192] = {0}, result[8192];
	start(&w, NULL);
	const struct {
		struct weft_op_atomic a;
		uint64_t len;
		bool fetches;
	} bad[] = {
		{{WEFT_AMO_SUM, WEFT_AMO_UINT32, result}, 0, true},
		{{WEFT_AMO_SUM, WEFT_AMO_UINT32, result}, 6, true},
		{{WEFT_AMO_SUM, WEFT_AMO_TYPES, result}, 4, true},
		{{WEFT_AMO_BOR, WEFT_AMO_FLOAT, result}, 4, false},
		{{WEFT_AMO_READ, WEFT_AMO_UINT32, result}, 4, false},
		{{WEFT_AMO_OPS, WEFT_AMO_UINT32, result}, 4, true},
		{{WEFT_AMO_SUM, WEFT_AMO_UINT8, result}, 4096, true},
		{{WEFT_AMO_CSWAP, WEFT_AMO_UINT8, result}, 2048, true},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		submit(&w, bad[i].fetches, &bad[i].a, buf, bad[i].len, 0, &bad[i]);
		expect(&w, &bad[i], EINVAL);
	}
	submit(&w, false, NULL, buf, 4, 0, &w);
	expect(&w, &w, EINVAL);
	assert_int_equal(weft_atomic_bytes(w.d.e[0], WEFT_AMO_SUM), 4064);
	assert_int_equal(weft_atomic_bytes(w.d.e[0], WEFT_AMO_MSWAP), 2016);
	stop(&w);
}

/* Forged requests: refused with the code UET has for it, and nothing changes. */
static void target__refuses_what_makes_no_sense(void **state)
{
	static const struct {
		uint8_t opcode, amo_opcode, amo_datatype, flags, rc;
		uint16_t payload;
		uint32_t length;
	} bad[] = {
		{WIRE_OP_ATOMIC, WEFT_AMO_SUM, 0x10, 3, WIRE_RC_AMO_UNSUPPORTED_DT, 4, 4},
		{WIRE_OP_ATOMIC, 0x14, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_OP, 4, 4},
		{WIRE_OP_ATOMIC, WEFT_AMO_READ, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_OP, 0, 4},
		{WIRE_OP_ATOMIC, 0xe7, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_OP, 8, 8},
		{WIRE_OP_ATOMIC, WEFT_AMO_SUM, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 4, 8},
		{WIRE_OP_ATOMIC, WEFT_AMO_SUM, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 6, 6},
		{WIRE_OP_ATOMIC, WEFT_AMO_SUM, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 0, 0},
		{WIRE_OP_ATOMIC, WEFT_AMO_SUM, WEFT_AMO_INT32, 1, WIRE_RC_AMO_UNSUPPORTED_SIZE, 4, 4},
		{WIRE_OP_FETCHING_ATOMIC, WEFT_AMO_CSWAP, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 0, 8},
		{WIRE_OP_FETCHING_ATOMIC, WEFT_AMO_CSWAP, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 4, 4},
		{WIRE_OP_FETCHING_ATOMIC, 0xe0, WEFT_AMO_INT32, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 4, 4},
		{WIRE_OP_FETCHING_ATOMIC, WEFT_AMO_CSWAP, WEFT_AMO_LONG_DOUBLE_COMPLEX, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE,
		 0, 32},
		{WIRE_OP_FETCHING_ATOMIC, WEFT_AMO_READ, WEFT_AMO_INT8, 3, WIRE_RC_AMO_UNSUPPORTED_SIZE, 0, 100000},
	};
	static const uint8_t zero[REGION_BYTES], payload[16] = {1, 2, 3, 4, 5, 6, 7, 8};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct world w;
		start(&w, NULL);
		struct plain_pkt p = duo_syn(1, bad[i].payload);
		p.ses.opcode = bad[i].opcode;
		p.ses.flags = (uint8_t)(bad[i].flags | WIRE_SES_REL);
		p.ses.match = KEY;
		p.ses.request_length = bad[i].length;
		p.ses.amo_opcode = bad[i].amo_opcode;
		p.ses.amo_datatype = bad[i].amo_datatype;
		duo_inject_pkt(&w.d, 1, &p, payload);
		duo_poll(&w.d, 1);
		assert_memory_equal(w.region, zero, sizeof zero);
		assert_true(w.d.log_len > 0);
		const struct plain_pkt *answer = &w.d.log[w.d.log_len - 1].w;
		assert_int_equal(answer->ses.opcode, WIRE_RSP_RESPONSE);
		assert_int_equal(answer->ses.return_code, bad[i].rc);
		stop(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swap__one_element_travels_in_the_extension),
		cmocka_unit_test(swap__arrays_have_a_vendor_opcode),
		cmocka_unit_test(read__needs_no_payload),
		cmocka_unit_test(events__come_with_the_change),
		cmocka_unit_test(apply__across_the_pieces_of_a_region),
		cmocka_unit_test(apply__memory_that_is_moved),
		cmocka_unit_test(atomics__exactly_once_and_in_order_whatever_is_lost),
		cmocka_unit_test(close__operands_are_sent_from_a_copy),
		cmocka_unit_test(close__answers_are_sent_all_the_same),
		cmocka_unit_test(submit__what_makes_no_sense_fails_at_once),
		cmocka_unit_test(target__refuses_what_makes_no_sense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
