/* SPDX-License-Identifier: BSD-3-Clause */
/* The model's operations (rma_model.h) as those of an engine. */
#ifndef WEFT_TEST_MODEL_OP_H
#define WEFT_TEST_MODEL_OP_H

#include "rma_model.h"
#include "weft/ep.h"

/* `key` is that of the regions, the next one nobody's. Fills in `atomic`, which lives until the completion. The context
 * is the model's operation. */
static inline struct weft_op model_weft_op(struct model_op *op, struct weft_op_atomic *atomic, uint32_t peer,
					   uint64_t key)
{
	static const uint8_t kinds[MODEL_KINDS] = {WEFT_OP_WRITE, WEFT_OP_READ, WEFT_OP_ATOMIC, WEFT_OP_FETCH_ATOMIC,
						   WEFT_OP_FETCH_ATOMIC};
	*atomic = (struct weft_op_atomic){.op = op->amo, .type = op->type, .result = op->in};
	return (struct weft_op){.kind = kinds[op->kind],
				.flags =
					(op->delivered ? WEFT_OP_DELIVERED : 0) | (op->has_data ? WEFT_OP_HAS_DATA : 0),
				.peer = peer,
				.buf = op->kind == MODEL_READ ? op->in : op->out,
				.len = op->len,
				.data = op->data,
				.rkey = op->bad_key ? key + 1 : key,
				.raddr = op->addr,
				.atomic = op->kind >= MODEL_ATOMIC ? atomic : NULL,
				.context = op};
}

#endif
