/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

enum { ALL = WEFT_MR_READ | WEFT_MR_WRITE, BYTES = 50000 };

static void refused__by_key_permission_bounds(void **state)
{
	static const struct {
		uint8_t kind;
		uint64_t key, at, len;
		int err;
	} rows[] = {
		{WEFT_OP_WRITE, RMA_KEY + 1, 0, 8, EACCES},
		{WEFT_OP_READ, RMA_KEY + 1, 0, 8, EACCES},
		{WEFT_OP_WRITE, 5, 0, 8, EACCES}, /* read only */
		{WEFT_OP_READ, 6, 0, 8, EACCES},  /* write only */
		{WEFT_OP_WRITE, RMA_KEY, BYTES - 7, 8, ERANGE},
		{WEFT_OP_READ, RMA_KEY, BYTES - 7, 8, ERANGE},
		{WEFT_OP_WRITE, RMA_KEY, BYTES + 1, 0, ERANGE},
		{WEFT_OP_WRITE, RMA_KEY, UINT64_MAX - 3, 8, ERANGE},
		{WEFT_OP_READ, RMA_KEY, UINT64_MAX, 1, ERANGE},
		{WEFT_OP_WRITE, RMA_KEY, 1, BYTES, ERANGE},
		{WEFT_OP_READ, RMA_KEY, 1, BYTES, ERANGE},
		{WEFT_OP_WRITE, RMA_KEY, BYTES, 0, 0},
		{WEFT_OP_READ, RMA_KEY, BYTES, 0, 0},
	};
	struct rma_duo r;
	struct weft_mr *ro, *wo;
	uint8_t *buf = calloc(1, BYTES);
	rma_open(&r, NULL, BYTES, ALL);
	struct weft_mr_attr attr = {.key = 5, .base = r.mem, .bytes = BYTES, .access = WEFT_MR_READ};
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &ro), 0);
	attr.key = 6;
	attr.access = WEFT_MR_WRITE;
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &wo), 0);
	memset(buf, 0xdd, BYTES);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct weft_op op = rma_op(rows[i].kind, buf, rows[i].len, rows[i].at);
		op.rkey = rows[i].key;
		assert_int_equal(rma_do(&r, &op, rows[i].err).len, 0);
	}
	for (int i = 0; i < BYTES; i++) {
		assert_int_equal(r.mem[i], 0);
		assert_int_equal(buf[i], 0xdd);
	}
	assert_int_equal(weft_engine_stats(r.d.e[0])->pdc_failed, 0);
	assert_int_equal(weft_engine_stats(r.d.e[0])->pdc_opened, 1);
	weft_mr_del(ro);
	weft_mr_del(wo);
	rma_close(&r);
	free(buf);
}

static void refused__no_endpoint(void **state)
{
	struct rma_duo r;
	uint8_t buf[8] = {1};
	rma_open(&r, NULL, BYTES, ALL);
	struct weft_addr nobody = {weft_peer_addr(r.d.e[0], r.d.peer[0])->ip, 999};
	struct weft_op op = rma_op(WEFT_OP_WRITE, buf, 8, 0);
	op.context = buf;
	assert_int_equal(weft_peer_add(r.d.e[0], &nobody, &op.peer), 0);
	assert_int_equal(weft_submit(r.d.ep[0], &op), 0);
	r.d.due[0] = r.d.now;
	duo_run(&r.d, r.d.now + WEFT_MS(10));
	duo_expect(&r.d, 0, buf, EHOSTUNREACH);
	rma_close(&r);
}

/* A region is reached through endpoints of its scope only. */
static void scope__keys_of_another_are_unknown(void **state)
{
	struct rma_duo r;
	uint8_t buf[8] = {1, 2, 3}, other[8] = {0};
	struct weft_mr *mr;
	rma_open(&r, NULL, BYTES, ALL);
	const struct weft_mr_attr attr = {.key = RMA_KEY, .base = other, .bytes = 8, .scope = 4, .access = ALL};
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &mr), 0);
	struct weft_op op = rma_op(WEFT_OP_WRITE, buf, 8, 0);
	weft_ep_scope(r.d.ep[1], 4, false);
	rma_do(&r, &op, 0);
	assert_memory_equal(other, buf, 8);
	assert_int_equal(r.mem[0], 0);
	weft_ep_scope(r.d.ep[1], 5, false);
	rma_do(&r, &op, EACCES);
	weft_mr_del(mr);
	rma_close(&r);
}

static void events__of_regions_and_of_data(void **state)
{
	struct rma_duo r;
	struct weft_cqe cqe;
	uint8_t *buf = calloc(1, BYTES);
	rma_open(&r, NULL, BYTES, ALL);
	struct weft_op write = rma_op(WEFT_OP_WRITE, buf, 5000, 0), read = rma_op(WEFT_OP_READ, buf, 5000, 0);
	rma_do(&r, &write, 0);
	rma_do(&r, &read, 0);
	assert_false(duo_cqe(&r.d, 1, &cqe));
	write.flags = WEFT_OP_HAS_DATA;
	write.data = 99;
	rma_do(&r, &write, 0);
	cqe = duo_expect(&r.d, 1, r.mem, 0);
	assert_int_equal(cqe.kind, WEFT_OP_REMOTE_WRITE);
	assert_int_equal(cqe.flags, WEFT_OP_HAS_DATA);
	assert_int_equal(cqe.data, 99);
	assert_int_equal(cqe.len, 5000);
	assert_int_equal(cqe.tag, RMA_KEY);
	assert_int_equal(cqe.peer, r.d.peer[1]);
	weft_mr_events(r.mr);
	write.flags = 0;
	for (uint64_t len = 0; len <= 5000; len += 1000) {
		write.len = read.len = len;
		rma_do(&r, &write, 0);
		cqe = duo_expect(&r.d, 1, r.mem, 0);
		assert_int_equal(cqe.kind, WEFT_OP_REMOTE_WRITE);
		assert_int_equal(cqe.flags, 0);
		assert_int_equal(cqe.len, len);
		rma_do(&r, &read, 0);
		assert_int_equal(duo_expect(&r.d, 1, r.mem, 0).kind, WEFT_OP_REMOTE_READ);
	}
	rma_close(&r);
	free(buf);
}

/* Side 0's first data packets arrive in the reverse of their order, or one of them late. */
struct shuffle {
	uint64_t late; /* which */
};

static enum duo_fate make_late(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct shuffle *s = arg;
	return from == 0 && is_data(w) && nth == s->late ? DUO_LATE : DUO_PASS;
}

/* A message that arrives 30 us late, so that what follows it waits for its turn. */
static void send_late(struct rma_duo *r, struct shuffle *s, const uint8_t *byte)
{
	duo_transfer(&r->d, 0, 8); /* the connection is there */
	*s = (struct shuffle){r->d.sent[0]};
	r->d.fate = make_late;
	r->d.fate_arg = s;
	r->d.late_ns = WEFT_US(30);
	duo_send(&r->d, 0, byte, 1, 3, (void *)byte);
	duo_poll(&r->d, 0);
}

/* A read waits for its turn, and the region is gone when that comes: it is refused, and nobody was read from. */
static void events__none_of_a_refused_read(void **state)
{
	struct rma_duo r;
	struct weft_cqe cqe;
	uint8_t byte = 1, in[8];
	rma_open(&r, NULL, BYTES, ALL);
	weft_mr_events(r.mr);
	struct shuffle s;
	send_late(&r, &s, &byte);
	struct weft_op read = rma_op(WEFT_OP_READ, in, sizeof in, 0);
	rma_submit(&r.d, 0, &read);
	duo_run(&r.d, r.d.now + WEFT_US(15));
	weft_mr_del(r.mr);
	r.mr = NULL;
	duo_run(&r.d, r.d.now + WEFT_MS(50));
	duo_expect(&r.d, 0, &byte, 0);
	duo_expect(&r.d, 0, in, EACCES);
	assert_false(duo_cqe(&r.d, 1, &cqe));
	assert_int_equal(r.d.e[1]->ses.cqe_nodes.used, 0);
	rma_close(&r);
}

/* Writes of one place, then a read: the last value is there, and seen, whichever packet is late. */
static void order__small_operations(void **state)
{
	enum { WRITES = 5 };
	for (uint64_t late = 0; late <= WRITES; late++) {
		struct rma_duo r;
		struct shuffle s = {late};
		uint8_t buf[WRITES][512], in[512] = {0};
		rma_open(&r, NULL, BYTES, ALL);
		r.d.fate = make_late;
		r.d.fate_arg = &s;
		r.d.late_ns = WEFT_US(30);
		for (int i = 0; i < WRITES; i++) {
			memset(buf[i], i + 1, 512);
			struct weft_op op = rma_op(WEFT_OP_WRITE, buf[i], 512, (uint64_t)i % 2 * 8);
			rma_submit(&r.d, 0, &op);
		}
		struct weft_op read = rma_op(WEFT_OP_READ, in, 512, 0);
		rma_submit(&r.d, 0, &read);
		struct weft_op after = rma_op(WEFT_OP_WRITE, buf[0], 512, 0);
		after.context = &after;
		rma_submit(&r.d, 0, &after);
		duo_run(&r.d, r.d.now + WEFT_MS(10));
		for (int i = 0; i < 512; i++)
			assert_int_equal(in[i], WRITES); /* neither earlier nor later */
		for (int i = 0; i < 512; i++)
			assert_int_equal(r.mem[i], 1);
		for (int i = 512; i < 520; i++)
			assert_int_equal(r.mem[i], WRITES - 1);
		rma_close(&r);
	}
}

/* A message is matched, and a read executed, when all of a large write is here. */
static void order__after_large_writes(void **state)
{
	for (uint64_t late = 0; late < 12; late++) {
		struct rma_duo r;
		struct weft_cqe cqe;
		struct shuffle s = {late};
		uint8_t *out = duo_pattern(40000, 1), *in = calloc(1, 40000), byte = 1, got = 0;
		rma_open(&r, NULL, BYTES, ALL);
		r.d.fate = make_late;
		r.d.fate_arg = &s;
		r.d.late_ns = WEFT_US(25);
		duo_recv(&r.d, 1, &got, 1, 7, 0, &got);
		duo_poll(&r.d, 1);
		struct weft_op write = rma_op(WEFT_OP_WRITE, out, 40000, 0), read = rma_op(WEFT_OP_READ, in, 40000, 0);
		rma_submit(&r.d, 0, &write);
		duo_send(&r.d, 0, &byte, 1, 7, &byte);
		rma_submit(&r.d, 0, &read);
		while (!duo_cqe(&r.d, 1, &cqe))
			duo_run(&r.d, r.d.now + 500);
		assert_memory_equal(r.mem, out, 40000);
		duo_run(&r.d, r.d.now + WEFT_MS(10));
		assert_memory_equal(in, out, 40000);
		rma_close(&r);
		free(out);
		free(in);
	}
}

/* With DELIVERED the completion waits until the write has been done, not just taken over. */
static void delivered__completes_when_done(void **state)
{
	for (int delivered = 0; delivered < 2; delivered++) {
		struct rma_duo r;
		struct weft_cqe cqe;
		struct shuffle s = {0};
		uint8_t a = 1, b = 2;
		rma_open(&r, NULL, BYTES, ALL);
		duo_transfer(&r.d, 0, 10); /* the connection is there */
		s.late = r.d.sent[0];
		r.d.fate = make_late;
		r.d.fate_arg = &s;
		r.d.late_ns = WEFT_US(20);
		struct weft_op first = rma_op(WEFT_OP_WRITE, &a, 1, 0), second = rma_op(WEFT_OP_WRITE, &b, 1, 1);
		second.flags = delivered ? WEFT_OP_DELIVERED : 0;
		rma_submit(&r.d, 0, &first);
		rma_submit(&r.d, 0, &second);
		while (!duo_cqe(&r.d, 0, &cqe))
			duo_run(&r.d, r.d.now + 500);
		assert_ptr_equal(cqe.context, delivered ? &a : &b);
		assert_int_equal(r.mem[1], delivered ? 2 : 0);
		duo_run(&r.d, r.d.now + WEFT_MS(10));
		assert_int_equal(r.mem[0], 1);
		assert_int_equal(r.mem[1], 2);
		assert_true(duo_cqe(&r.d, 0, &cqe));
		rma_close(&r);
	}
}

/* At any moment of a transfer: not one byte is touched afterwards, and the peer learns or gets what was there. */
static void deleted__region_is_dead_at_once(void **state)
{
	for (int read = 0; read < 2; read++)
		for (int moment = 0; moment < 20; moment++) {
			struct rma_duo r;
			struct weft_cqe cqe;
			uint8_t *buf = calloc(1, BYTES), *now = malloc(BYTES);
			rma_open(&r, NULL, BYTES, ALL);
			memset(r.mem, 7, BYTES);
			struct weft_op op = rma_op(read ? WEFT_OP_READ : WEFT_OP_WRITE, buf, BYTES, 0);
			memset(buf, 9, BYTES);
			rma_submit(&r.d, 0, &op);
			duo_run(&r.d, r.d.now + 800 * (weft_ns)moment);
			weft_mr_del(r.mr);
			r.mr = NULL;
			if (read)
				memset(r.mem, 8, BYTES);
			memcpy(now, r.mem, BYTES);
			duo_run(&r.d, r.d.now + WEFT_MS(20));
			assert_memory_equal(r.mem, now, BYTES);
			assert_true(duo_cqe(&r.d, 0, &cqe));
			assert_true(cqe.err == 0 || cqe.err == EACCES);
			for (int i = 0; read && !cqe.err && i < BYTES; i++)
				assert_int_equal(buf[i], 7);
			struct weft_op again = rma_op(WEFT_OP_READ, buf, 1, 0);
			rma_do(&r, &again, EACCES);
			rma_close(&r);
			free(buf);
			free(now);
		}
}

/* A key used again is another region: what was under way to the old one does not reach it. */
static void deleted__key_used_again(void **state)
{
	for (int moment = 5; moment < 20; moment++) {
		struct rma_duo r;
		uint8_t *buf = malloc(BYTES), *other = calloc(1, BYTES);
		rma_open(&r, NULL, BYTES, ALL);
		memset(buf, 9, BYTES);
		struct weft_op op = rma_op(WEFT_OP_WRITE, buf, BYTES, 0);
		rma_submit(&r.d, 0, &op);
		duo_run(&r.d, r.d.now + 1000 * (weft_ns)moment);
		bool begun = weft_engine_stats(r.d.e[1])->rx_data > 0;
		weft_mr_del(r.mr);
		const struct weft_mr_attr attr = {.key = RMA_KEY, .base = other, .bytes = BYTES, .access = ALL};
		assert_int_equal(weft_mr_add(r.d.e[1], &attr, &r.mr), 0);
		duo_run(&r.d, r.d.now + WEFT_MS(20));
		for (int i = 0; begun && i < BYTES; i++)
			assert_int_equal(other[i], 0);
		rma_close(&r);
		free(buf);
		free(other);
	}
}

/* Nor does what waits for its turn then: its initiator hears that the key is none. */
static void deleted__key_used_again_before_the_turn(void **state)
{
	for (int fetches = 0; fetches < 2; fetches++) {
		struct rma_duo r;
		uint8_t byte = 1, operand[8] = {5}, was[8] = {0}, other[BYTES] = {0};
		const struct weft_op_atomic sum = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = was};
		rma_open(&r, NULL, BYTES, ALL);
		struct shuffle s;
		send_late(&r, &s, &byte);
		struct weft_op op =
			rma_op(fetches ? WEFT_OP_FETCH_ATOMIC : WEFT_OP_READ, fetches ? operand : was, 8, 0);
		op.atomic = fetches ? &sum : NULL;
		rma_submit(&r.d, 0, &op);
		uint64_t arrived = duo_stats(&r.d, 1)->rx_data;
		duo_run(&r.d, r.d.now + WEFT_US(15));
		assert_int_equal(duo_stats(&r.d, 1)->rx_data, arrived + 1); /* it is accepted, and waits */
		weft_mr_del(r.mr);
		memset(other, 9, BYTES);
		const struct weft_mr_attr attr = {.key = RMA_KEY, .base = other, .bytes = BYTES, .access = ALL};
		assert_int_equal(weft_mr_add(r.d.e[1], &attr, &r.mr), 0);
		duo_run(&r.d, r.d.now + WEFT_MS(50));
		duo_expect(&r.d, 0, &byte, 0);
		duo_expect(&r.d, 0, op.buf, EACCES);
		for (int i = 0; i < 8; i++) {
			assert_int_equal(was[i], 0);
			assert_int_equal(other[i], 9);
		}
		rma_close(&r);
	}
}

static void add__keys_and_pieces(void **state)
{
	struct rma_duo r;
	struct weft_mr *mr;
	uint8_t a[3] = {0}, b[1] = {0}, c[60] = {0}, out[64], in[64];
	const struct weft_mr_seg segs[3] = {{a, 3}, {b, 1}, {c, 60}};
	rma_open(&r, NULL, BYTES, ALL);
	struct weft_mr_attr attr = {.key = RMA_KEY, .base = a, .bytes = 3, .access = ALL};
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &mr), -EEXIST);
	attr = (struct weft_mr_attr){
		.key = 1, .segs = segs, .seg_count = 3, .start = 1000, .access = ALL, .context = &attr};
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &mr), 0);
	assert_ptr_equal(weft_mr_find(r.d.e[1], 0, 1), &attr);
	assert_null(weft_mr_find(r.d.e[1], 1, 1));
	for (int i = 0; i < 64; i++)
		out[i] = (uint8_t)(i + 1);
	struct weft_op op = rma_op(WEFT_OP_WRITE, out, 64, 1000);
	op.rkey = 1;
	rma_do(&r, &op, 0);
	assert_int_equal(a[2], 3);
	assert_int_equal(b[0], 4);
	assert_int_equal(c[59], 64);
	op = rma_op(WEFT_OP_READ, in, 62, 1002);
	op.rkey = 1;
	rma_do(&r, &op, 0);
	assert_memory_equal(in, out + 2, 62);
	op.raddr = 999;
	rma_do(&r, &op, ERANGE);
	op.raddr = 0;
	rma_do(&r, &op, ERANGE);
	weft_mr_del(mr);
	rma_close(&r);
}

/* Memory that nobody but its mover may touch: the region's addresses are offsets into `store`. */
struct device {
	uint8_t store[BYTES];
	uint64_t moved_bytes[2]; /* from it, to it */
	bool fails;
};

static bool device_move(void *context, void *at, void *other, uint64_t bytes, bool to_region)
{
	struct device *device = context;
	if (device->fails)
		return false;
	uint8_t *p = device->store + (uintptr_t)at;
	assert_true((uintptr_t)at + bytes <= sizeof device->store);
	memcpy(to_region ? p : (uint8_t *)other, to_region ? (uint8_t *)other : p, bytes);
	device->moved_bytes[to_region] += bytes;
	return true;
}

static void move__every_access(void **state)
{
	enum { LONG = 20000, SHORT = 600, TINY = 8, AT = 4096 };
	struct rma_duo r;
	struct weft_mr *mr;
	struct device *device = calloc(1, sizeof *device);
	const struct weft_mr_attr attr = {
		.key = 1, .base = NULL, .bytes = BYTES, .access = ALL, .context = device, .move = device_move};
	uint8_t *out = duo_pattern(LONG, 5), *in = calloc(1, LONG);
	static const uint32_t sizes[] = {TINY, SHORT, LONG};
	rma_open(&r, NULL, BYTES, ALL);
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &mr), 0);
	for (int i = 0; i < 3; i++) {
		struct weft_op op = rma_op(WEFT_OP_WRITE, out, sizes[i], AT);
		op.rkey = 1;
		rma_do(&r, &op, 0);
		assert_memory_equal(device->store + AT, out, sizes[i]);
		memset(in, 0, LONG);
		op = rma_op(WEFT_OP_READ, in, sizes[i], AT);
		op.rkey = 1;
		rma_do(&r, &op, 0);
		assert_memory_equal(in, out, sizes[i]);
	}
	assert_int_equal(device->moved_bytes[1], TINY + SHORT + LONG);
	assert_int_equal(device->moved_bytes[0], TINY + SHORT + LONG);
	weft_mr_del(mr);
	rma_close(&r);
	free(device);
	free(out);
	free(in);
}

/* One access to a device of side 1 that fails, and the next one though the device is back: by side 0 or side 1 itself.
 */
static void fail_twice(uint8_t kind, uint32_t bytes, int side)
{
	struct rma_duo r;
	struct weft_mr *mr;
	struct device *device = calloc(1, sizeof *device);
	const struct weft_mr_attr attr = {
		.key = 1, .bytes = BYTES, .access = ALL | WEFT_MR_EVENTS, .context = device, .move = device_move};
	struct weft_cqe cqe;
	uint8_t *mine = duo_pattern(bytes, 5);
	uint64_t was;
	const struct weft_op_atomic atomic = {.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = &was};
	rma_open(&r, NULL, BYTES, ALL);
	assert_int_equal(weft_peer_add(r.d.e[1], weft_peer_addr(r.d.e[0], r.d.peer[0]), &r.d.peer[1]), 0);
	assert_int_equal(weft_mr_add(r.d.e[1], &attr, &mr), 0);
	struct weft_op op = rma_op(kind, mine, bytes, 0);
	op.rkey = 1;
	op.atomic = kind == WEFT_OP_WRITE || kind == WEFT_OP_READ ? NULL : &atomic;
	for (int i = 0; i < 2; i++) {
		device->fails = i == 0;
		rma_submit(&r.d, side, &op);
		duo_run(&r.d, r.d.now + WEFT_MS(50));
		duo_expect(&r.d, side, mine, EIO);
	}
	assert_false(duo_cqe(&r.d, 1, &cqe)); /* the region's owner hears of nothing */
	assert_int_equal(duo_stats(&r.d, 1)->rma_broken, 1);
	assert_int_equal(device->moved_bytes[0] + device->moved_bytes[1], 0);
	weft_mr_del(mr);
	rma_close(&r);
	free(device);
	free(mine);
}

static void move__fails(void **state)
{
	enum { LONG = 20000, SMALL = 8 };
	for (int side = 0; side < 2; side++) {
		fail_twice(WEFT_OP_WRITE, LONG, side);
		fail_twice(WEFT_OP_WRITE, SMALL, side);
		fail_twice(WEFT_OP_READ, LONG, side);
		fail_twice(WEFT_OP_READ, SMALL, side);
		fail_twice(WEFT_OP_ATOMIC, SMALL, side);
		fail_twice(WEFT_OP_FETCH_ATOMIC, SMALL, side);
	}
}

/* Each allocation fails once at either side: everything is done, a little later. */
static void memory__runs_out(void **state)
{
	for (uint64_t nth = 1; nth < 25; nth++)
		for (int side = 0; side < 2; side++) {
			struct rma_duo r;
			uint8_t *out = duo_pattern(6000, nth), *in = calloc(1, 6000);
			rma_open(&r, NULL, BYTES, ALL | WEFT_MR_EVENTS);
			r.d.mem[side].fail_at = r.d.mem[side].calls + nth;
			struct weft_op op = rma_op(WEFT_OP_WRITE, out, 6000, 0);
			rma_submit(&r.d, 0, &op);
			op = rma_op(WEFT_OP_READ, in, 1000, 0);
			rma_submit(&r.d, 0, &op);
			op = rma_op(WEFT_OP_READ, in + 1000, 5000, 1000);
			rma_submit(&r.d, 0, &op);
			duo_run(&r.d, r.d.now + WEFT_MS(50));
			struct weft_cqe cqe;
			for (int i = 0; i < 3; i++) {
				assert_true(duo_cqe(&r.d, 0, &cqe));
				assert_int_equal(cqe.err, 0);
				assert_true(duo_cqe(&r.d, 1, &cqe));
			}
			assert_memory_equal(in, out, 6000);
			rma_close(&r);
			free(out);
			free(in);
		}
}

/* Answers that nobody asked for, or that do not fit what was asked. */
static void stale__answers_change_nothing(void **state)
{
	struct rma_duo r;
	uint8_t in[100], payload[200];
	rma_open(&r, NULL, BYTES, ALL);
	r.d.logging = true;
	memset(payload, 0xbb, sizeof payload);
	struct weft_op op = rma_op(WEFT_OP_READ, in, 100, 0);
	memset(in, 0, sizeof in);
	rma_submit(&r.d, 0, &op);
	duo_poll(&r.d, 0); /* the request is on its way */
	const struct plain_pkt *request = &r.d.log[r.d.log_len - 1].w;
	assert_int_equal(request->ses.opcode, WIRE_OP_READ);
	for (int i = 0; i < 6; i++) {
		struct plain_pkt w = duo_syn(0, i == 4 ? 101 : i == 3 ? 0 : 10);
		w.pds.flags = 0;
		w.pds.spdcid = i == 5 ? 51 : 50;
		w.pds.dpdcid = request->pds.spdcid;
		w.pds.psn = request->pds.psn + (i == 0 ? 5000 : (uint32_t)i - 1);
		w.pds.next_hdr = WIRE_NH_RSP_DATA;
		w.ses = (struct plain_ses){.opcode = WIRE_RSP_W_DATA,
					   .return_code = WIRE_RC_OK,
					   .read_message_id = i == 1 ? 7 : 1,
					   .message_offset = i == 2 ? 91 : 0,
					   .payload_length = w.payload_bytes};
		duo_inject_pkt(&r.d, 0, &w, payload);
		duo_poll(&r.d, 0);
	}
	/* Neither far from where its direction begins, nor of another target than that which answered first. */
	assert_int_equal(weft_engine_stats(r.d.e[0])->rx_no_pdc, 2);
	assert_int_equal(weft_engine_stats(r.d.e[0])->rma_stale, 4);
	for (int i = 0; i < 100; i++)
		assert_int_equal(in[i], 0);
	rma_close(&r);
}

/* A request in the direction of answers, and an answer in that of requests, are refused. */
static void refused__in_the_wrong_direction(void **state)
{
	struct rma_duo r;
	uint8_t in[100], payload[10] = {0};
	rma_open(&r, NULL, BYTES, ALL);
	r.d.logging = true;
	struct weft_op op = rma_op(WEFT_OP_READ, in, 100, 0);
	rma_submit(&r.d, 0, &op);
	duo_poll(&r.d, 0);
	const struct plain_pkt *request = &r.d.log[r.d.log_len - 1].w;
	struct plain_pkt w = duo_syn(0, 10);
	w.pds.flags = 0;
	w.pds.spdcid = 50;
	w.pds.dpdcid = request->pds.spdcid;
	w.pds.psn = request->pds.psn;
	duo_inject_pkt(&r.d, 0, &w, payload);
	duo_poll(&r.d, 0);
	assert_int_equal(weft_engine_stats(r.d.e[0])->rx_bad_ses, 1);
	w = duo_syn(0, 10);
	w.pds.next_hdr = WIRE_NH_RSP_DATA;
	w.ses = (struct plain_ses){.opcode = WIRE_RSP_W_DATA, .payload_length = 10};
	duo_inject_pkt(&r.d, 0, &w, payload);
	duo_poll(&r.d, 0);
	assert_int_equal(weft_engine_stats(r.d.e[0])->rx_bad_ses, 2);
	assert_int_equal(weft_engine_stats(r.d.e[0])->rma_stale, 0);
	rma_close(&r);
}

/* Requests of a hand-made peer that contradict themselves. */
static void forged__requests_write_nothing(void **state)
{
	struct rma_duo r;
	uint8_t payload[64];
	rma_open(&r, NULL, BYTES, ALL);
	memset(payload, 0xbb, sizeof payload);
	for (int i = 0; i < 4; i++) {
		struct plain_pkt w = duo_syn(1, 64);
		w.pds.spdcid = (uint16_t)(50 + i);
		w.ses.opcode = i == 0 ? WIRE_OP_READ : WIRE_OP_WRITE;
		w.ses.match = RMA_KEY;
		w.ses.request_length = 10000;
		w.ses.flags = WIRE_SES_REL;
		w.ses.message_offset = 64;
		w.ses.buffer_offset = i == 1 ? BYTES - 9999 : i == 2 ? UINT64_MAX - 63 : 0;
		if (i == 3) {
			duo_inject_pkt(&r.d, 1, &w, payload); /* fine so far */
			duo_poll(&r.d, 1);
			assert_int_equal(r.mem[64], 0xbb);
			memset(r.mem, 0, BYTES);
			w.pds.psn++;
			w.pds.psn_offset = 1;
			w.ses.buffer_offset = 100; /* but the same message has another place now */
		}
		duo_inject_pkt(&r.d, 1, &w, payload);
		duo_poll(&r.d, 1);
	}
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(r.mem[i], 0);
	assert_int_equal(r.d.e[1]->ses.answers, 0);
	rma_close(&r);
}

/* Side 1 never sends data, and once it is dead nobody sends anything. */
static enum duo_fate no_answers(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const bool *dead = arg;
	return *dead || (from == 1 && is_data(w)) ? DUO_DROP : DUO_PASS;
}

static void open_unanswered(struct rma_duo *r, const bool *dead)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(100);
	rma_open(r, &conf, BYTES, ALL);
	r->d.fate = no_answers;
	r->d.fate_arg = (void *)dead;
}

/* The target dies after it has taken the request: the connection asks whether it is there. */
static void peer_dies__reader_learns_it(void **state)
{
	struct rma_duo r;
	bool dead = false;
	uint8_t in[100];
	open_unanswered(&r, &dead);
	struct weft_op op = rma_op(WEFT_OP_READ, in, 100, 0);
	rma_submit(&r.d, 0, &op);
	duo_run(&r.d, r.d.now + WEFT_MS(1));
	assert_int_equal(first_tx(r.d.e[0])->q.inflight.count, 0); /* acknowledged */
	dead = true;
	duo_run(&r.d, r.d.now + WEFT_MS(300));
	duo_expect(&r.d, 0, in, ETIMEDOUT);
	rma_close(&r);
}

/* The answer can't get through, but everything else does: the target gives up, and says so when asked. */
static void answer_lost__reader_learns_it(void **state)
{
	struct rma_duo r;
	bool dead = false;
	uint8_t in[100];
	open_unanswered(&r, &dead);
	struct weft_op op = rma_op(WEFT_OP_READ, in, 100, 0);
	rma_submit(&r.d, 0, &op);
	duo_run(&r.d, r.d.now + WEFT_MS(400));
	duo_expect(&r.d, 0, in, ECONNRESET);
	rma_close(&r);
}

/* An answer that can't be delivered ends the connection it was asked on, but not another from the same host. */
static void answer_lost__other_connections_stay(void **state)
{
	struct rma_duo r;
	bool dead = false;
	open_unanswered(&r, &dead);
	for (uint16_t i = 0; i < 2; i++) {
		struct plain_pkt w = duo_syn(1, 0);
		w.pds.spdcid = 50 + i;
		w.ses.opcode = i ? WIRE_OP_WRITE : WIRE_OP_READ;
		w.ses.match = RMA_KEY;
		w.ses.request_length = i ? 0 : 100;
		duo_inject_pkt(&r.d, 1, &w, NULL);
		duo_poll(&r.d, 1);
	}
	assert_int_equal(r.d.e[1]->ses.answers, 1);
	duo_run(&r.d, r.d.now + WEFT_MS(400));
	assert_int_equal(r.d.e[1]->ses.answers, 0);
	assert_non_null(first_rx(r.d.e[1]));
	assert_int_equal(first_rx(r.d.e[1])->remote_id, 51);
	assert_ptr_equal(first_rx(r.d.e[1])->link.next, &r.d.e[1]->pds.rxs);
	rma_close(&r);
}

/* The region may go on being read; what an answer has copied is freed with it, and only then. */
static void close__endpoint_with_answers_under_way(void **state)
{
	for (int moment = 0; moment < 20; moment++) {
		struct rma_duo r;
		uint8_t *in = calloc(2, BYTES);
		rma_open(&r, NULL, BYTES, ALL | WEFT_MR_EVENTS);
		memset(r.mem, 7, BYTES);
		struct weft_op small = rma_op(WEFT_OP_READ, in, 100, 0),
			       large = rma_op(WEFT_OP_READ, in + 100, BYTES, 0);
		rma_submit(&r.d, 0, &small);
		rma_submit(&r.d, 0, &large);
		duo_run(&r.d, r.d.now + 800 * (weft_ns)moment);
		weft_ep_close(r.d.ep[1]);
		if (moment % 2)
			duo_run(&r.d, r.d.now + WEFT_MS(20));
		rma_close(&r);
		free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused__by_key_permission_bounds),
		cmocka_unit_test(refused__no_endpoint),
		cmocka_unit_test(scope__keys_of_another_are_unknown),
		cmocka_unit_test(events__of_regions_and_of_data),
		cmocka_unit_test(events__none_of_a_refused_read),
		cmocka_unit_test(order__small_operations),
		cmocka_unit_test(order__after_large_writes),
		cmocka_unit_test(delivered__completes_when_done),
		cmocka_unit_test(deleted__region_is_dead_at_once),
		cmocka_unit_test(deleted__key_used_again),
		cmocka_unit_test(deleted__key_used_again_before_the_turn),
		cmocka_unit_test(add__keys_and_pieces),
		cmocka_unit_test(move__every_access),
		cmocka_unit_test(move__fails),
		cmocka_unit_test(memory__runs_out),
		cmocka_unit_test(stale__answers_change_nothing),
		cmocka_unit_test(refused__in_the_wrong_direction),
		cmocka_unit_test(forged__requests_write_nothing),
		cmocka_unit_test(close__endpoint_with_answers_under_way),
		cmocka_unit_test(peer_dies__reader_learns_it),
		cmocka_unit_test(answer_lost__reader_learns_it),
		cmocka_unit_test(answer_lost__other_connections_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
