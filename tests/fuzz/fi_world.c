/* SPDX-License-Identifier: BSD-3-Clause */
#include "fi_world.h"

#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INVERSE_31 = 223, ENTRIES = 8, SETTLE_S = 30 };

struct fi_provider *fi_prov_ini(void);
static struct fi_provider *provider;

void fi_world_start(void)
{
	if (provider)
		return;
	setenv("CMOCKA_TEST_ABORT", "1", 0);
	setenv("FI_WEFT_POOL_PKTS", "1023", 0);
	setenv("FI_WEFT_RNDV_BYTES", "4096", 0);
	setenv("FI_WEFT_PEER_TIMEOUT_MS", "2000", 0);
	assert_int_equal(rings_setup(NULL), 0);
	setenv("FI_WEFT_LINGER_MS", "0", 1);
	provider = fi_prov_ini();
	assert_non_null(provider);
}

/* ---- operations ---- */

static uint8_t byte_of(unsigned id, size_t i)
{
	return (uint8_t)(id * 31 + i * 7);
}

struct fi_world_op *fi_world_op(struct fi_world *w, enum fi_world_kind kind, int side, size_t len)
{
	assert_true(len <= FI_BYTES);
	if (w->count == FI_OPS)
		return NULL;
	struct fi_world_op *op = &w->ops[w->count++];
	*op = (struct fi_world_op){.kind = kind, .side = side, .len = len};
	for (size_t i = 0; kind == FI_WORLD_SEND && i < len; i++)
		op->buf[i] = byte_of((unsigned)w->count, i);
	return op;
}

void fi_world_posted(struct fi_world_op *op, ssize_t ret)
{
	assert_true(ret <= 0);
	if (ret)
		assert_false(op->ended);
	op->posted = ret == 0;
}

static void check_message(const struct fi_world *w, const uint8_t *bytes, size_t len, bool is_cut)
{
	unsigned id = len ? (uint8_t)(bytes[0] * INVERSE_31) : 0;
	if (!len)
		return;
	assert_in_range(id, 1, w->count);
	assert_int_equal(w->ops[id - 1].kind, FI_WORLD_SEND);
	if (!is_cut)
		assert_int_equal(len, w->ops[id - 1].len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], byte_of(id, i));
}

static void check_region(const uint8_t *bytes, size_t len, size_t at)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], fi_world_region_byte(at + i));
}

/* `err`: libfabric's, 0 for none. */
static void op_end(struct fi_world *w, int side, struct fi_world_op *op, size_t len, int err)
{
	assert_true(op >= w->ops && op < w->ops + w->count);
	assert_int_equal(op->side, side);
	assert_true(op->posted && (!op->ended || op->is_many));
	op->ended = true;
	if (op->kind == FI_WORLD_RECV && !op->keeps_buf && !op->is_many && (!err || err == FI_ETRUNC))
		check_message(w, op->buf, len, err != 0);
	if (op->kind == FI_WORLD_READ && !err)
		check_region(op->buf, op->len, op->at);
	/* Without an answer it completes before it is carried out. */
	if (op->kind == FI_WORLD_ADD && !op->keeps_buf && !err)
		w->side[!side].added[op->at]++;
}

static void error_take(struct fi_world *w, int side)
{
	struct fi_cq_err_entry e = {0};
	uint8_t room[4];
	e.err_data = room;
	e.err_data_size = w->count % 2 ? sizeof room : 0;
	assert_int_equal(fi_cq_readerr(w->side[side].cq, &e, 0), 1);
	assert_true(e.err > 0);
	if (e.op_context)
		op_end(w, side, e.op_context, e.len, e.err);
}

void fi_world_read(struct fi_world *w, int side, size_t n)
{
	struct fi_cq_tagged_entry e[ENTRIES];
	assert_true(n <= ENTRIES);
	ssize_t got = fi_cq_read(w->side[side].cq, e, n);
	if (got == -FI_EAVAIL)
		error_take(w, side);
	else
		assert_true(got == -FI_EAGAIN || (got >= 0 && (size_t)got <= n));
	for (ssize_t i = 0; i < got; i++)
		if (e[i].op_context)
			op_end(w, side, e[i].op_context, e[i].len, 0);
}

/* ---- the end ---- */

static bool is_pending(const struct fi_world_op *op)
{
	return op->posted && !op->ended && !op->may_stay && !op->is_many;
}

static bool any_pending(const struct fi_world *w, bool is_recv)
{
	for (int i = 0; i < w->count; i++)
		if (is_pending(&w->ops[i]) && (w->ops[i].kind == FI_WORLD_RECV) == is_recv)
			return true;
	return false;
}

static uint8_t sinks[2][2][FI_BYTES]; /* by side and whether tagged: what nobody received */
static struct fi_context2 sink_contexts[2][2];
static bool sink_posted[2][2];

static void sinks_post(struct fi_world *w, int side)
{
	struct fid_ep *ep = w->side[side].ep;
	for (int tagged = 0; tagged < 2; tagged++) {
		void *buf = sinks[side][tagged], *context = &sink_contexts[side][tagged];
		ssize_t ret = sink_posted[side][tagged] ? 0
			      : tagged ? fi_trecv(ep, buf, FI_BYTES, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, context)
				       : fi_recv(ep, buf, FI_BYTES, NULL, FI_ADDR_UNSPEC, context);
		assert_true(ret == 0 || ret == -FI_EAGAIN);
		sink_posted[side][tagged] = ret == 0;
	}
}

static bool is_sink(int side, const void *context, size_t len, const struct fi_world *w, int err)
{
	for (int tagged = 0; tagged < 2; tagged++)
		if (context == &sink_contexts[side][tagged]) {
			if (!err)
				check_message(w, sinks[side][tagged], len, false);
			sink_posted[side][tagged] = false;
			return true;
		}
	return false;
}

static void settle_read(struct fi_world *w, int side)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err = {0};
	ssize_t got = fi_cq_read(w->side[side].cq, &e, 1);
	if (got == -FI_EAVAIL) {
		assert_int_equal(fi_cq_readerr(w->side[side].cq, &err, 0), 1);
		if (err.op_context && !is_sink(side, err.op_context, err.len, w, err.err))
			op_end(w, side, err.op_context, err.len, err.err);
	} else if (got == 1) {
		if (e.op_context && !is_sink(side, e.op_context, e.len, w, 0))
			op_end(w, side, e.op_context, e.len, 0);
	}
}

static void recvs_cancel(struct fi_world *w)
{
	for (int i = 0; i < w->count; i++)
		if (is_pending(&w->ops[i]) && w->ops[i].kind == FI_WORLD_RECV)
			fi_cancel(&w->side[w->ops[i].side].ep->fid, &w->ops[i]);
}

void fi_world_settle(struct fi_world *w)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	memset(sink_posted, 0, sizeof sink_posted);
	for (int side = 0; side < 2; side++)
		if (!w->side[side].ep)
			fi_world_ep_open(w, side);
	while (any_pending(w, true) || any_pending(w, false)) {
		for (int side = 0; side < 2; side++) {
			if (any_pending(w, false))
				sinks_post(w, side);
			settle_read(w, side);
		}
		if (!any_pending(w, false))
			recvs_cancel(w);
		clock_gettime(CLOCK_MONOTONIC, &now);
		assert_true(now.tv_sec - begin.tv_sec < SETTLE_S); /* it hangs */
	}
	for (int side = 0; side < 2; side++) {
		struct fi_world_side *s = &w->side[side];
		check_region(s->region, FI_REGION_BYTES, 0);
		for (int i = 0; i < FI_COUNTERS; i++)
			assert_true(s->numbers[i] >= s->added[i] && s->numbers[i] <= s->tried[i]);
	}
}

/* ---- opening and closing ---- */

static void names_exchange(struct fi_world *w, int side)
{
	for (int at = 0; at < 2; at++) {
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		fi_addr_t *addr = at == side ? &w->side[at].self : &w->side[at].peer;
		ok(fi_getname(&w->side[side].ep->fid, name, &len));
		assert_int_equal(fi_av_insert(w->side[at].av, name, 1, addr, 0, NULL), 1);
	}
}

void fi_world_ep_open(struct fi_world *w, int side)
{
	struct fi_world_side *s = &w->side[side];
	ok(fi_endpoint(s->domain, s->info, &s->ep, NULL));
	ok(fi_ep_bind(s->ep, &s->av->fid, 0));
	ok(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(s->ep, &s->cntr->fid, FI_SEND | FI_RECV));
	ok(fi_enable(s->ep));
	names_exchange(w, side);
}

void fi_world_ep_close(struct fi_world *w, int side)
{
	ok(fi_close(&w->side[side].ep->fid));
	w->side[side].ep = NULL;
	for (int i = 0; i < w->count; i++)
		w->ops[i].may_stay |= w->ops[i].side == side;
}

static void side_open(struct fi_world_side *s, int side)
{
	struct fi_info *hints = fixture_hints(side);
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
	hints->caps |= FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_MULTI_RECV;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	ok(provider->getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &s->info));
	fi_freeinfo(hints);
	ok(provider->fabric(s->info->fabric_attr, &s->fabric, NULL));
	ok(fi_domain(s->fabric, s->info, &s->domain, NULL));
	ok(fi_av_open(s->domain, &av_attr, &s->av, NULL));
	ok(fi_cq_open(s->domain, &cq_attr, &s->cq, NULL));
	ok(fi_cntr_open(s->domain, NULL, &s->cntr, NULL));
	for (size_t i = 0; i < FI_REGION_BYTES; i++)
		s->region[i] = fi_world_region_byte(i);
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	ok(fi_mr_reg(s->domain, s->region, FI_REGION_BYTES, access, 0, FI_KEY, 0, &s->mr[0], NULL));
	ok(fi_mr_reg(s->domain, s->numbers, sizeof s->numbers, access, 0, FI_KEY + 1, 0, &s->mr[1], NULL));
}

void fi_world_open(struct fi_world *w, const uint8_t *data, size_t size)
{
	memset(w, 0, sizeof *w);
	w->in = (struct program){data, size};
	for (int side = 0; side < 2; side++)
		side_open(&w->side[side], side);
	for (int side = 0; side < 2; side++)
		fi_world_ep_open(w, side);
}

/* Objects use others; whoever is not used any more can be closed. */
static void extras_close(struct fi_world_side *s)
{
	for (int turn = 0; turn < FI_EXTRA; turn++)
		for (int i = 0; i < FI_EXTRA; i++)
			if (s->extra[i] && fi_close(s->extra[i]) == 0)
				s->extra[i] = NULL;
	for (int i = 0; i < FI_EXTRA; i++)
		assert_null(s->extra[i]);
}

void fi_world_close(struct fi_world *w)
{
	for (int side = 0; side < 2; side++) {
		struct fi_world_side *s = &w->side[side];
		extras_close(s);
		struct fid *fids[] = {s->ep ? &s->ep->fid : NULL,
				      &s->mr[0]->fid,
				      &s->mr[1]->fid,
				      &s->cntr->fid,
				      &s->cq->fid,
				      &s->av->fid,
				      &s->domain->fid,
				      &s->fabric->fid};
		for (size_t i = 0; i < sizeof fids / sizeof *fids; i++)
			if (fids[i])
				ok(fi_close(fids[i]));
		fi_freeinfo(s->info);
	}
	rings_drain();
}
