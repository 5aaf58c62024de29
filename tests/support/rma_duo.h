/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of side 1 that side 0 writes and reads, for tests on the two engines of duo.h. */
#ifndef WEFT_TEST_RMA_DUO_H
#define WEFT_TEST_RMA_DUO_H

#include <stdlib.h>

#include "cmocka_all.h"
#include "duo.h"

enum { RMA_KEY = 77 };

struct rma_duo {
	struct duo d;
	struct weft_mr *mr; /* of side 1, RMA_KEY; NULL once a test has deleted it */
	uint8_t *mem;       /* the region, `bytes` between two guards */
	uint64_t bytes;
};

enum { RMA_GUARD_BYTES = 64, RMA_GUARD = 0xa5 };

static inline void rma_open(struct rma_duo *r, const struct duo_conf *conf, uint64_t bytes, uint8_t access)
{
	struct duo_conf def;
	duo_conf_init(&def);
	duo_open(&r->d, conf ? conf : &def);
	r->bytes = bytes;
	r->mem = malloc(bytes + 2 * RMA_GUARD_BYTES);
	assert_non_null(r->mem);
	memset(r->mem, RMA_GUARD, bytes + 2 * RMA_GUARD_BYTES);
	r->mem += RMA_GUARD_BYTES;
	memset(r->mem, 0, bytes);
	const struct weft_mr_attr attr = {
		.key = RMA_KEY, .base = r->mem, .bytes = bytes, .access = access, .context = r->mem};
	assert_int_equal(weft_mr_add(r->d.e[1], &attr, &r->mr), 0);
}

/* Also checks that nothing was written beside the region. */
static inline void rma_close(struct rma_duo *r)
{
	if (r->mr)
		weft_mr_del(r->mr);
	for (int i = 0; i < RMA_GUARD_BYTES; i++) {
		assert_int_equal(r->mem[-1 - i], RMA_GUARD);
		assert_int_equal(r->mem[r->bytes + (uint64_t)i], RMA_GUARD);
	}
	duo_close(&r->d);
	free(r->mem - RMA_GUARD_BYTES);
}

static inline void rma_submit(struct duo *d, int side, const struct weft_op *op)
{
	struct weft_op full = *op;
	full.peer = d->peer[side];
	if (!full.context)
		full.context = full.buf;
	assert_int_equal(weft_submit(d->ep[side], &full), 0);
	d->due[side] = d->now;
}

static inline struct weft_op rma_op(uint8_t kind, void *buf, uint64_t len, uint64_t raddr)
{
	return (struct weft_op){.kind = kind, .buf = buf, .len = len, .rkey = RMA_KEY, .raddr = raddr};
}

/* From side 0, and waits for the end. */
static inline struct weft_cqe rma_do(struct rma_duo *r, const struct weft_op *op, int err)
{
	rma_submit(&r->d, 0, op);
	duo_run(&r->d, r->d.now + WEFT_MS(50));
	return duo_expect(&r->d, 0, op->context ? op->context : op->buf, err);
}

#endif
