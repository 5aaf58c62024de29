/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic requests on the wire (UE 1.0 sec. 3.4, atomic extension): always one packet. One element of a compare-and-swap
 * travels in the extension, as UET has it; arrays of them have operands and then comparands as payload and vendor
 * opcodes (doc/reference/protocol.md). */
#include <string.h>

#include "amo.h"
#include "rma_amo.h"
#include "ses.h"

enum {
	ARRAY_FORM = 0xe0 - WEFT_AMO_CSWAP,  /* added to the opcode */
	EXTENSION_BYTES = 32,                /* of payload that the longer header may cost */
	SINGLE_BYTES = 2 * sizeof(uint64_t), /* longest element that fits the extension */
};

/* ---- forms ---- */

static bool is_array_form(uint8_t opcode)
{
	return opcode >= ARRAY_FORM + WEFT_AMO_CSWAP && opcode <= ARRAY_FORM + WEFT_AMO_MSWAP;
}

static uint8_t op_of(uint8_t opcode)
{
	return is_array_form(opcode) ? opcode - ARRAY_FORM : opcode;
}

static bool is_single(uint8_t op, uint8_t type, uint32_t length)
{
	return weft_amo_compares(op) && length == weft_amo_bytes(type) && length <= SINGLE_BYTES;
}

/* Of a request on `length` bytes of elements. */
static uint32_t payload_of(uint8_t opcode, uint32_t length)
{
	if (opcode == WEFT_AMO_READ || weft_amo_compares(opcode))
		return 0;
	return is_array_form(opcode) ? 2 * length : length;
}

uint32_t ses_atomic_bytes(const struct ses *ses, uint8_t op)
{
	uint32_t bytes = ses->pds->conf.sure_bytes - EXTENSION_BYTES;
	return (weft_amo_compares(op) ? bytes / 2 : bytes) & ~(uint32_t)(EXTENSION_BYTES - 1);
}

/* Elements in the extension are numbers, the highest byte first. */
static void words_put(uint64_t words[2], const uint8_t *element, uint32_t bytes)
{
	words[0] = words[1] = 0;
	for (uint32_t i = 0; i < bytes; i++)
		words[1 - i / 8] |= (uint64_t)element[i] << (i % 8 * 8);
}

static void words_get(const uint64_t words[2], uint8_t *element, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		element[i] = (uint8_t)(words[1 - i / 8] >> (i % 8 * 8));
}

/* ---- initiator ---- */

bool rma_amo_valid(const struct ses *ses, const struct weft_op *op)
{
	const struct weft_op_atomic *a = op->atomic;
	bool fetches = op->kind == WEFT_OP_FETCH_ATOMIC;
	return a && weft_amo_valid(a->op, a->type) && op->len && op->len % weft_amo_bytes(a->type) == 0 &&
	       op->len <= ses_atomic_bytes(ses, a->op) && (fetches || a->op != WEFT_AMO_READ) &&
	       (op->buf || a->op == WEFT_AMO_READ);
}

uint32_t rma_amo_fill(struct amo_request *q, const struct weft_op *op)
{
	const struct weft_op_atomic *a = op->atomic;
	uint32_t length = (uint32_t)op->len;
	*q = (struct amo_request){.opcode = a->op, .datatype = a->type};
	if (is_single(a->op, a->type, length)) {
		words_put(q->operand, op->buf, length);
		words_put(q->comparand, (const uint8_t *)op->buf + length, length);
	} else if (weft_amo_compares(a->op)) {
		q->opcode += ARRAY_FORM;
	}
	return payload_of(q->opcode, length);
}

uint8_t *rma_amo_build(const struct amo_request *q, uint32_t payload_bytes, struct wire_std *h)
{
	struct wire_amo *a = (struct wire_amo *)(h + 1);
	if (is_array_form(q->opcode))
		wire_std_set_request_length(h, payload_bytes);
	wire_store(a, WIRE_AMO_BYTES, 0);
	wire_amo_set_opcode(a, q->opcode);
	wire_amo_set_datatype(a, q->datatype);
	if (!wire_amo_has_operands(q->opcode))
		return (uint8_t *)a + WIRE_AMO_BYTES;
	for (unsigned i = 0; i < 2; i++) {
		wire_store(a->compare + 8 * i, 8, q->comparand[i]);
		wire_store(a->swap + 8 * i, 8, q->operand[i]);
	}
	return (uint8_t *)(a + 1);
}

/* ---- target ---- */

void rma_amo_take(struct amo_request *q, const struct wire_std *h)
{
	const struct wire_amo *a = wire_amo_of(h);
	*q = (struct amo_request){.opcode = wire_amo_opcode(a), .datatype = wire_amo_datatype(a)};
	if (!weft_amo_compares(q->opcode))
		return;
	for (unsigned i = 0; i < 2; i++) {
		q->operand[i] = wire_load(a->swap + 8 * i, 8);
		q->comparand[i] = wire_load(a->compare + 8 * i, 8);
	}
}

uint8_t rma_amo_access(const struct amo_request *q, bool fetches)
{
	uint8_t access = q->opcode == WEFT_AMO_READ ? 0 : WEFT_MR_WRITE;
	return fetches ? access | WEFT_MR_READ : access;
}

static bool is_whole(const struct wire_std *h)
{
	uint32_t length = wire_std_request_length(h);
	return wire_req_som(&h->req) && wire_req_eom(&h->req) && length && length <= UINT16_MAX;
}

/* A single comparison's request counts its element, or the operands in the extension: the facts say neither. */
uint32_t rma_amo_length(const struct wire_std *h)
{
	const struct wire_amo *a = wire_amo_of(h);
	uint32_t length = wire_std_request_length(h);
	if (length == EXTENSION_BYTES && weft_amo_compares(wire_amo_opcode(a)))
		return weft_amo_bytes(wire_amo_datatype(a));
	return is_array_form(wire_amo_opcode(a)) ? length / 2 : length;
}

uint8_t rma_amo_check(const struct wire_view *v)
{
	const struct wire_amo *a = wire_amo_of(v->std);
	uint8_t opcode = wire_amo_opcode(a), type = wire_amo_datatype(a), op = op_of(opcode);
	uint32_t bytes = weft_amo_bytes(type), length = rma_amo_length(v->std);
	if (!bytes)
		return WIRE_RC_AMO_UNSUPPORTED_DT;
	if (!weft_amo_valid(op, type) || (op == WEFT_AMO_READ && wire_req_opcode(v->req) != WIRE_OP_FETCHING_ATOMIC))
		return WIRE_RC_AMO_UNSUPPORTED_OP;
	if (!is_whole(v->std) || length % bytes || v->payload_bytes != payload_of(opcode, length) ||
	    (weft_amo_compares(opcode) && !is_single(op, type, length)))
		return WIRE_RC_AMO_UNSUPPORTED_SIZE;
	return WIRE_RC_OK;
}

/* Elements that lie in several pieces of a region change as well as any, if not in one step. */
static uint8_t apply_element(uint8_t op, uint8_t type, struct weft_mr *mr, uint64_t raddr, struct amo_args *args)
{
	uint8_t element[2 * SINGLE_BYTES];
	uint32_t bytes = weft_amo_bytes(type);
	void *at = mr_at(mr, (struct mr_range){raddr, bytes});
	args->count = 1;
	if (at) {
		amo_apply(op, type, at, args);
		return WIRE_RC_OK;
	}
	uint8_t rc = mr_load(mr, raddr, element, bytes);
	if (rc != WIRE_RC_OK)
		return rc;
	amo_apply(op, type, element, args);
	return op == WEFT_AMO_READ ? WIRE_RC_OK : mr_store(mr, raddr, element, bytes);
}

static const uint8_t *after(const uint8_t *p, uint32_t bytes)
{
	return p ? p + bytes : NULL;
}

static uint8_t apply(uint8_t op, uint8_t type, struct weft_mr *mr, struct mr_range range, struct amo_args args)
{
	uint32_t bytes = weft_amo_bytes(type);
	void *at = mr_at(mr, range);
	if (at) {
		args.count = range.bytes / bytes;
		amo_apply(op, type, at, &args);
		return WIRE_RC_OK;
	}
	uint8_t rc = WIRE_RC_OK;
	for (uint64_t done = 0; done < range.bytes && rc == WIRE_RC_OK; done += bytes) {
		rc = apply_element(op, type, mr, range.raddr + done, &args);
		args.operand = after(args.operand, bytes);
		args.compare = after(args.compare, bytes);
		args.result = (void *)after(args.result, bytes);
	}
	return rc;
}

uint8_t rma_amo_apply(const struct amo_request *q, struct weft_mr *mr, struct mr_range range, const uint8_t *payload,
		      uint8_t *result)
{
	uint8_t operand[SINGLE_BYTES], comparand[SINGLE_BYTES];
	struct amo_args args = {.operand = payload, .compare = after(payload, (uint32_t)range.bytes), .result = result};
	if (weft_amo_compares(q->opcode)) {
		words_get(q->operand, operand, (uint32_t)range.bytes);
		words_get(q->comparand, comparand, (uint32_t)range.bytes);
		args.operand = operand;
		args.compare = comparand;
	}
	return apply(op_of(q->opcode), q->datatype, mr, range, args);
}
