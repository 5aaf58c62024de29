/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to memory that is to be refused, and such at the limits of what is not: by permission, bounds, kind and type;
 * regions of several pieces; sinks; our own memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "world.h"

enum { GROUND_BYTES = 24000, GROUND_SEED = 17, REGION_BYTES = 8000, PIECES_BYTES = 7500, ATOMIC_MAX_BYTES = 480 };
enum { FIRST_KEY = 20 };

static const struct {
	uint64_t key;
	uint8_t access;
	uint32_t at, bytes; /* in the ground */
} plan[WORLD_GROUND_MRS] = {
	{FIRST_KEY, WEFT_MR_READ, 0, REGION_BYTES},
	{FIRST_KEY + 1, WEFT_MR_WRITE, REGION_BYTES, REGION_BYTES},
	{FIRST_KEY + 2, WEFT_MR_READ | WEFT_MR_WRITE | WEFT_MR_EVENTS, 2 * REGION_BYTES, PIECES_BYTES},
	{(FIRST_KEY + 3) | WEFT_MR_KEY_IDEMPOTENT, WEFT_MR_READ, 0, REGION_BYTES},
	{FIRST_KEY + 4, 0, 0, 0}, /* not there */
};

static void region_begin(struct world *w, int side, int i)
{
	struct access_memory *m = &w->access;
	uint8_t *base = m->ground[side] + plan[i].at;
	const struct weft_mr_seg segs[] = {{base, 1500}, {base + 1500, 0}, {base + 1600, PIECES_BYTES - 1500}};
	struct weft_mr_attr attr = {.key = plan[i].key, .base = base, .bytes = plan[i].bytes, .access = plan[i].access};
	if (plan[i].access & WEFT_MR_EVENTS) {
		attr.segs = segs;
		attr.seg_count = 3;
	}
	if (weft_mr_add(w->d.e[side], &attr, &m->mrs[side][i]))
		w->disturbed = true;
}

static void begin(struct world *w)
{
	for (int side = 0; side < 2; side++) {
		w->access.ground[side] = duo_pattern(GROUND_BYTES, GROUND_SEED);
		for (int i = 0; plan[i].bytes; i++)
			region_begin(w, side, i);
	}
}

bool world_access_owns(const struct weft_cqe *cqe)
{
	return (cqe->kind == WEFT_OP_REMOTE_WRITE || cqe->kind == WEFT_OP_REMOTE_READ) && cqe->tag == plan[2].key;
}

static void sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	struct access *a = arg;
	assert_true(a->buf && offset + len <= a->len && a->sunk + len <= a->len);
	if (data && len)
		memcpy(a->buf + offset, data, len);
	a->sunk += len;
}

/* Near the begin, near the end, one too far, or nowhere. */
static uint64_t place(uint8_t how, uint32_t bytes, uint32_t len)
{
	switch (how >> 6) {
	case 0:
		return how & 63;
	case 1:
		return len <= bytes ? bytes - len : 0;
	case 2:
		return (uint64_t)bytes - len + 1;
	default:
		return how & 1 ? UINT64_MAX - 3 : (uint64_t)bytes * (how & 63) / 64;
	}
}

static void draw_atomic(struct access *a, struct weft_op *op, uint8_t how, uint8_t kind)
{
	bool plain = how & 0xc0;
	a->atomic.op = plain ? WEFT_AMO_SUM : kind % (WEFT_AMO_OPS + 1);
	a->atomic.type = plain ? WEFT_AMO_UINT64 : kind / 8 % (WEFT_AMO_TYPES + 1);
	a->atomic.result = op->kind == WEFT_OP_FETCH_ATOMIC ? a->buf : NULL;
	op->atomic = &a->atomic;
	uint32_t unit = weft_amo_bytes(a->atomic.type),
		 most = op->len < ATOMIC_MAX_BYTES ? (uint32_t)op->len : ATOMIC_MAX_BYTES;
	op->len = unit && most >= unit ? most / unit * unit : unit ? unit : most;
	a->may_be_bad = !plain;
}

static uint8_t wanted(const struct weft_op *op)
{
	if (op->kind == WEFT_OP_READ)
		return WEFT_MR_READ;
	return op->kind == WEFT_OP_FETCH_ATOMIC ? WEFT_MR_READ | WEFT_MR_WRITE : WEFT_MR_WRITE;
}

static bool is_refused(const struct weft_op *op, int i)
{
	bool allowed = (plan[i].access & wanted(op)) == wanted(op);
	bool fits = op->raddr <= plan[i].bytes && op->len <= plan[i].bytes - op->raddr;
	bool repeats = !(op->flags & WEFT_OP_IDEMPOTENT) || plan[i].key & WEFT_MR_KEY_IDEMPOTENT;
	return !allowed || !fits || !repeats;
}

static void draw(struct world *w, struct access *a, struct weft_op *op, int *region)
{
	static const uint8_t kinds[] = {WEFT_OP_READ, WEFT_OP_WRITE, WEFT_OP_ATOMIC, WEFT_OP_FETCH_ATOMIC};
	enum { SIDE = 1, SINK = 8, SELF = 0x30, MORE = 0xc0 };
	uint8_t what = program_u8(&w->in), size = program_u8(&w->in), how = program_u8(&w->in),
		more = program_u8(&w->in);
	*region = more % WORLD_GROUND_MRS;
	a->side = what & SIDE;
	op->kind = kinds[what >> 1 & 3];
	op->peer = (what & SELF) == SELF ? w->self[a->side] : w->d.peer[a->side];
	op->len = size < 150 ? size : (size - 149u) * 76u;
	op->rkey = plan[*region].key;
	op->buf = a->buf = duo_pattern(2 * op->len + 2 * ATOMIC_MAX_BYTES, what);
	if (op->kind >= WEFT_OP_ATOMIC)
		draw_atomic(a, op, how, more);
	else if ((what & MORE) == MORE)
		op->flags = WEFT_OP_IDEMPOTENT;
	else if (what & 0x40)
		op->flags = op->kind == WEFT_OP_WRITE ? WEFT_OP_DELIVERED : 0;
	op->raddr = place(how, plan[*region].bytes, (uint32_t)op->len);
	a->len = (uint32_t)op->len;
	a->is_pattern = op->kind == WEFT_OP_READ && plan[*region].access == WEFT_MR_READ;
	a->at = op->raddr;
	if (what & SINK && (op->kind == WEFT_OP_READ || op->kind == WEFT_OP_FETCH_ATOMIC)) {
		op->sink = sink;
		op->sink_arg = a;
		op->buf = op->kind == WEFT_OP_READ ? NULL : op->buf;
		a->sinks = true;
	}
}

void world_access(struct world *w)
{
	struct access_memory *m = &w->access;
	struct weft_op op = {0};
	struct access drawn = {0}, *a = &m->ops[m->count];
	int region;
	if (m->count == WORLD_ACCESSES)
		return;
	if (!m->ground[0])
		begin(w);
	*a = drawn;
	draw(w, a, &op, &region);
	a->is_refused = is_refused(&op, region);
	op.context = a;
	if (!w->d.ep[a->side] || weft_submit(w->d.ep[a->side], &op)) {
		free(a->buf);
		a->buf = NULL;
	} else {
		m->count++;
	}
	w->d.due[a->side] = w->d.now;
}

static void check_read(const struct access *a)
{
	uint8_t *want = duo_pattern(GROUND_BYTES, GROUND_SEED);
	assert_memory_equal(a->buf, want + a->at, a->len);
	assert_true(!a->sinks || a->sunk == a->len);
	free(want);
}

bool world_access_ended(struct world *w, const struct weft_cqe *cqe)
{
	struct access *a = cqe->context;
	if (a < w->access.ops || a >= w->access.ops + WORLD_ACCESSES)
		return false;
	assert_non_null(a->buf);
	if (!w->hostile && !w->disturbed && !a->may_be_bad)
		assert_int_equal(cqe->err != 0, a->is_refused);
	if (!w->hostile && a->is_refused && !a->may_be_bad)
		assert_int_not_equal(cqe->err, 0);
	if (!w->hostile && !cqe->err && a->is_pattern)
		check_read(a);
	free(a->buf);
	a->buf = NULL;
	return true;
}

uint32_t world_access_open(const struct world *w)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < w->access.count; i++)
		open += w->access.ops[i].buf != NULL;
	return open;
}

void world_access_drop(struct world *w, int side)
{
	for (uint32_t i = 0; i < w->access.count; i++)
		if (w->access.ops[i].side == side) {
			free(w->access.ops[i].buf);
			w->access.ops[i].buf = NULL;
		}
}

/* Nobody wrote where nobody may. */
void world_access_check(const struct world *w)
{
	uint8_t *want = duo_pattern(GROUND_BYTES, GROUND_SEED);
	for (int side = 0; side < 2 && w->access.ground[side]; side++) {
		assert_memory_equal(w->access.ground[side], want, REGION_BYTES);
		assert_memory_equal(w->access.ground[side] + 2 * REGION_BYTES + 1500, want + 2 * REGION_BYTES + 1500,
				    100);
	}
	free(want);
}

void world_access_close(struct world *w)
{
	for (int side = 0; side < 2; side++) {
		world_access_drop(w, side);
		free(w->access.ground[side]);
	}
}
