/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of rma_model.h says what reads bring and what the regions are in the end. Operations that may be repeated
 * have a region of their own: what is read there never changes, and each place is written once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "world.h"

enum { IDEMPOTENT_SLOT_BYTES = 9000, READ_BYTES = 9000 };
enum { IDEMPOTENT_BYTES = READ_BYTES + WORLD_IDEMPOTENT * IDEMPOTENT_SLOT_BYTES, READ_SEED = 91 };

static const uint64_t idempotent_key = WEFT_MR_KEY_IDEMPOTENT | WORLD_KEY;

static void region_begin(struct world *w, int side)
{
	struct memory *m = &w->memory;
	const struct weft_mr_attr attr = {.key = WORLD_KEY,
					  .base = m->regions[side],
					  .bytes = MODEL_REGION_BYTES,
					  .access = WEFT_MR_READ | WEFT_MR_WRITE};
	if (weft_mr_add(w->d.e[side], &attr, &m->mrs[side]))
		m->mrs[side] = NULL;
	m->deleted[side] &= !m->mrs[side];
	w->disturbed |= !m->mrs[side];
}

static void model_begin(struct world *w)
{
	struct memory *m = &w->memory;
	m->regions = malloc(2 * sizeof *m->regions);
	assert_non_null(m->regions);
	m->model = model_new(w->conf.seed, m->regions);
	region_begin(w, 0);
	region_begin(w, 1);
}

void world_rma(struct world *w)
{
	enum { FENCE = 7 };
	struct memory *m = &w->memory;
	uint16_t dice = program_u16(&w->in);
	if (!m->model)
		model_begin(w);
	m->model->dice.state = dice;
	struct model_op *op = model_next(m->model);
	if (!op || !w->d.ep[op->host])
		return;
	struct weft_op_atomic *atomic = &m->atomics[op->host][op->slot - m->model->slots[op->host]][op - op->slot->ops];
	uint32_t peer = op->host == op->target ? w->self[op->host] : w->d.peer[op->host];
	struct weft_op wop = model_weft_op(op, atomic, peer, WORLD_KEY);
	wop.flags |= (dice & FENCE) == FENCE ? WEFT_OP_FENCE : 0;
	if (weft_submit(w->d.ep[op->host], &wop) == 0)
		model_begun(m->model, op);
	w->d.due[op->host] = w->d.now;
}

static void idempotent_begin(struct world *w, int side)
{
	struct memory *m = &w->memory;
	uint8_t *pattern = duo_pattern(READ_BYTES, READ_SEED);
	m->idempotent[side] = calloc(1, IDEMPOTENT_BYTES);
	assert_non_null(m->idempotent[side]);
	memcpy(m->idempotent[side], pattern, READ_BYTES);
	free(pattern);
	const struct weft_mr_attr attr = {.key = idempotent_key,
					  .base = m->idempotent[side],
					  .bytes = IDEMPOTENT_BYTES,
					  .access = WEFT_MR_READ | WEFT_MR_WRITE};
	if (weft_mr_add(w->d.e[side], &attr, &m->idempotent_mrs[side]))
		m->idempotent_mrs[side] = NULL;
	w->disturbed |= !m->idempotent_mrs[side];
}

void world_idempotent(struct world *w)
{
	enum { SIDE = 1, WRITE = 2 };
	struct memory *m = &w->memory;
	uint8_t what = program_u8(&w->in), size = program_u8(&w->in);
	uint32_t i = m->ops_count;
	if (i == WORLD_IDEMPOTENT || !w->d.ep[what & SIDE])
		return;
	for (int side = 0; side < 2 && !m->idempotent[side]; side++)
		idempotent_begin(w, side);
	struct idempotent *o = &m->ops[i];
	uint32_t len = size < 100 ? size : (uint32_t)size * (READ_BYTES / 256);
	*o = (struct idempotent){.side = what & SIDE,
				 .is_write = what & WRITE,
				 .at = what & WRITE ? READ_BYTES + (uint64_t)i * IDEMPOTENT_SLOT_BYTES : what,
				 .len = what & WRITE || len + what < READ_BYTES ? len : (uint32_t)(READ_BYTES - what),
				 .buf = duo_pattern(IDEMPOTENT_SLOT_BYTES, i)};
	const struct weft_op op = {.kind = o->is_write ? WEFT_OP_WRITE : WEFT_OP_READ,
				   .flags = WEFT_OP_IDEMPOTENT,
				   .peer = w->d.peer[o->side],
				   .buf = o->buf,
				   .len = o->len,
				   .rkey = idempotent_key,
				   .raddr = o->at,
				   .context = o};
	if (weft_submit(w->d.ep[o->side], &op)) {
		free(o->buf);
		o->buf = NULL;
	} else {
		m->ops_count++;
	}
	w->d.due[o->side] = w->d.now;
}

/* Nobody writes where there is no region. */
static void region_check_left(const struct world *w, int side)
{
	const struct memory *m = &w->memory;
	if (m->deleted[side])
		assert_memory_equal(m->regions[side], m->left[side], MODEL_REGION_BYTES);
}

void world_region(struct world *w)
{
	struct memory *m = &w->memory;
	int side = program_u8(&w->in) & 1;
	if (!m->model)
		return;
	w->disturbed = true;
	if (!m->mrs[side]) {
		region_check_left(w, side);
		region_begin(w, side);
		return;
	}
	if (!m->left)
		m->left = calloc(2, sizeof *m->left);
	assert_non_null(m->left);
	weft_mr_del(m->mrs[side]);
	m->mrs[side] = NULL;
	m->deleted[side] = true;
	memcpy(m->left[side], m->regions[side], MODEL_REGION_BYTES);
}

uint32_t world_rma_open(const struct world *w)
{
	const struct memory *m = &w->memory;
	uint64_t open = m->model ? m->model->posted - m->model->done : 0;
	for (uint32_t i = 0; i < m->ops_count; i++)
		open += m->ops[i].buf != NULL;
	return (uint32_t)open;
}

static void idempotent_ended(struct world *w, struct idempotent *o, const struct weft_cqe *cqe)
{
	assert_non_null(o->buf);
	if (!w->disturbed && !w->hostile)
		assert_int_equal(cqe->err, 0);
	o->done = !cqe->err;
	if (o->done && !o->is_write && !w->hostile) {
		uint8_t *want = duo_pattern(READ_BYTES, READ_SEED);
		assert_memory_equal(o->buf, want + o->at, o->len);
		free(want);
	}
	free(o->buf);
	o->buf = NULL;
}

/* Without a check: nobody knows what came of it. */
static void model_forget(struct model *model, struct model_op *op)
{
	assert_true(op->busy);
	op->busy = op->slot->large = false;
	op->slot->busy--;
	model->done++;
}

void world_rma_ended(struct world *w, int side, const struct weft_cqe *cqe)
{
	struct memory *m = &w->memory;
	struct idempotent *o = cqe->context;
	struct model_op *op = cqe->context;
	if (cqe->kind == WEFT_OP_REMOTE_WRITE) {
		m->data[side] += cqe->data;
	} else if (o >= m->ops && o < m->ops + WORLD_IDEMPOTENT) {
		idempotent_ended(w, o, cqe);
	} else if (w->hostile || w->disturbed) {
		model_forget(m->model, op);
	} else {
		assert_int_equal(cqe->err, op->bad_key ? EACCES : op->bad_addr ? ERANGE : 0);
		model_ended(m->model, op, cqe->err);
	}
}

void world_rma_drop(struct world *w, int side)
{
	struct memory *m = &w->memory;
	for (uint32_t i = 0; i < m->ops_count; i++)
		if (m->ops[i].side == side) {
			free(m->ops[i].buf);
			m->ops[i].buf = NULL;
		}
	for (int s = 0; m->model && s < MODEL_SLOTS; s++)
		for (int k = 0; k < MODEL_DEPTH; k++)
			if (m->model->slots[side][s].ops[k].busy)
				model_forget(m->model, &m->model->slots[side][s].ops[k]);
}

static void idempotent_check(const struct memory *m, uint32_t i)
{
	const struct idempotent *o = &m->ops[i];
	if (!o->is_write || !o->done)
		return;
	uint8_t *want = duo_pattern(IDEMPOTENT_SLOT_BYTES, i);
	assert_memory_equal(m->idempotent[!o->side] + o->at, want, o->len);
	free(want);
}

void world_memory_check(const struct world *w)
{
	const struct memory *m = &w->memory;
	for (uint32_t i = 0; i < m->ops_count; i++)
		idempotent_check(m, i);
	for (int side = 0; side < 2 && m->model; side++) {
		region_check_left(w, side);
		if (w->disturbed)
			continue;
		assert_memory_equal(m->regions[side], m->model->shadow[side], MODEL_REGION_BYTES);
		assert_int_equal(m->data[side], m->model->data[side]);
	}
}

void world_memory_close(struct world *w)
{
	struct memory *m = &w->memory;
	for (int side = 0; side < 2; side++) {
		world_rma_drop(w, side);
		free(m->idempotent[side]);
	}
	free(m->model);
	free(m->regions);
	free(m->left);
}
