/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "rma_model.h"

#include <stdlib.h>
#include <string.h>

#include "amo.h"

/* Integers only: others are not the same bits when their bytes are random. */
static const uint8_t types[] = {WEFT_AMO_INT8,  WEFT_AMO_UINT16, WEFT_AMO_INT32,  WEFT_AMO_UINT32,
				WEFT_AMO_INT64, WEFT_AMO_UINT64, WEFT_AMO_UINT128};
static const uint8_t plain[] = {WEFT_AMO_MIN,  WEFT_AMO_MAX,  WEFT_AMO_SUM,  WEFT_AMO_PROD,
				WEFT_AMO_LXOR, WEFT_AMO_BXOR, WEFT_AMO_BAND, WEFT_AMO_WRITE};

static void random_bytes(struct rng *dice, uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)rng_next(dice);
}

static void slot_open(struct model *m, unsigned host, unsigned i)
{
	bool is_self = i == MODEL_SLOTS - 1;
	struct model_slot *s = &m->slots[host][i];
	for (int k = 0; k < MODEL_DEPTH; k++) {
		s->ops[k].slot = s;
		s->ops[k].host = host;
		s->ops[k].target = is_self ? host : !host;
	}
}

struct model *model_new(uint64_t seed, uint8_t regions[2][MODEL_REGION_BYTES])
{
	struct model *m = calloc(1, sizeof *m);
	assert_non_null(m);
	m->dice.state = seed;
	for (unsigned h = 0; h < 2; h++) {
		random_bytes(&m->dice, regions[h], MODEL_REGION_BYTES);
		memcpy(m->shadow[h], regions[h], MODEL_REGION_BYTES);
		for (unsigned i = 0; i < MODEL_SLOTS; i++)
			slot_open(m, h, i);
	}
	return m;
}

static size_t random_len(struct rng *dice, bool may_be_large)
{
	size_t limit = (size_t)1 << rng_below(dice, may_be_large ? 15 : 11);
	return 1 + rng_below(dice, limit < MODEL_SLOT_BYTES ? limit : MODEL_SLOT_BYTES);
}

/* Where the slot's memory begins: the peer's slots first, then the host's own. */
static size_t base_of(const struct model *m, const struct model_op *op)
{
	size_t i = (size_t)(op->slot - m->slots[op->host]);
	return (op->host == op->target ? MODEL_SLOTS + i : i) * MODEL_SLOT_BYTES;
}

static void draw_atomic(struct model *m, struct model_op *op)
{
	struct rng *dice = &m->dice;
	op->type = types[rng_below(dice, sizeof types)];
	op->amo = op->kind == MODEL_COMPARE
			  ? (uint8_t)(WEFT_AMO_CSWAP + rng_below(dice, WEFT_AMO_MSWAP - WEFT_AMO_CSWAP + 1))
			  : plain[rng_below(dice, sizeof plain)];
	if (op->kind == MODEL_FETCH && rng_below(dice, 8) == 0)
		op->amo = WEFT_AMO_READ;
	size_t bytes = weft_amo_bytes(op->type);
	size_t most = op->kind == MODEL_COMPARE ? MODEL_COMPARE_BYTES : MODEL_AMO_BYTES;
	op->len = op->len < most ? op->len : most;
	op->len = rng_below(dice, 4) == 0 || op->len < bytes ? bytes : op->len / bytes * bytes;
}

static void draw(struct model *m, struct model_op *op)
{
	struct rng *dice = &m->dice;
	op->kind = rng_below(dice, MODEL_KINDS);
	op->bad_key = rng_below(dice, 200) == 0;
	op->bad_addr = !op->bad_key && rng_below(dice, 200) == 0;
	op->delivered = rng_below(dice, 2);
	op->len = random_len(dice, op->kind <= MODEL_READ && !op->slot->busy && !op->slot->soft_from);
	if (op->kind >= MODEL_ATOMIC)
		draw_atomic(m, op);
	op->has_data = op->kind == MODEL_WRITE && !op->bad_key && !op->bad_addr && rng_below(dice, 4) == 0;
	op->data = rng_next(dice);
	op->addr = op->bad_addr ? MODEL_REGION_BYTES : base_of(m, op) + rng_below(dice, MODEL_SLOT_BYTES - op->len + 1);
	random_bytes(dice, op->out, op->len * (op->kind == MODEL_COMPARE ? 2 : 1));
	if (op->kind == MODEL_COMPARE && !op->bad_addr && rng_below(dice, 2))
		memcpy(op->out + op->len, m->shadow[op->target] + op->addr, op->len);
}

struct model_op *model_next(struct model *m)
{
	struct model_slot *s = &m->slots[rng_below(&m->dice, 2)][rng_below(&m->dice, MODEL_SLOTS)];
	for (int i = 0; i < MODEL_DEPTH && !s->large; i++) {
		if (s->ops[i].busy)
			continue;
		draw(m, &s->ops[i]);
		return &s->ops[i];
	}
	return NULL;
}

static void apply(struct model *m, struct model_op *op)
{
	uint8_t *memory = m->shadow[op->target] + op->addr;
	if (op->kind == MODEL_WRITE)
		memcpy(memory, op->out, op->len);
	else if (op->kind == MODEL_READ)
		memcpy(op->want, memory, op->len);
	else
		amo_apply(op->amo, op->type, memory,
			  &(struct amo_args){.operand = op->out,
					     .compare = op->out + op->len,
					     .result = op->want,
					     .count = op->len / weft_amo_bytes(op->type)});
	if (op->has_data)
		m->data[op->target] += op->data;
}

static bool is_soft(const struct model_op *op)
{
	return (op->kind == MODEL_WRITE || op->kind == MODEL_ATOMIC) && !op->delivered;
}

void model_begun(struct model *m, struct model_op *op)
{
	if (!op->bad_key && !op->bad_addr)
		apply(m, op);
	op->busy = true;
	op->slot->busy++;
	op->slot->large = op->len > MODEL_SMALL_BYTES;
	op->number = ++m->posted;
	if (is_soft(op))
		op->slot->soft_from = op->number;
}

void model_ended(struct model *m, struct model_op *op, bool refused)
{
	assert_true(op->busy);
	assert_int_equal(refused, op->bad_key || op->bad_addr);
	if (!refused && op->kind != MODEL_WRITE && op->kind != MODEL_ATOMIC)
		assert_memory_equal(op->in, op->want, op->len);
	if (!is_soft(op) && !refused && op->number > op->slot->soft_from)
		op->slot->soft_from = 0;
	op->busy = op->slot->large = false;
	op->slot->busy--;
	m->done++;
	m->refused += refused;
	m->done_of[op->kind]++;
}
