/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic requests: what they say beyond a range of a region, on the wire and when they are carried out. */
#ifndef WEFT_RMA_AMO_H
#define WEFT_RMA_AMO_H

#include "mr_range.h"
#include "weft/atomic.h"
#include "wire_check.h"

/* As in the atomic extension; all 0 in messages that are no atomic requests. */
struct amo_request {
	uint8_t opcode;                    /* enum weft_amo_op, or a vendor opcode for arrays with comparands */
	uint8_t datatype;                  /* enum weft_amo_type */
	uint64_t operand[2], comparand[2]; /* of one element with a comparand: a number, the high half first */
};

/* ---- initiator ---- */

/* False: nothing that could be sent. */
bool rma_amo_valid(const struct ses *ses, const struct weft_op *op);
/* Fills in `q` from a valid operation; returns the payload bytes, which are the first of its buffer. */
uint32_t rma_amo_fill(struct amo_request *q, const struct weft_op *op);
/* Adds the extension to the request's header; returns its end. */
uint8_t *rma_amo_build(const struct amo_request *q, uint32_t payload_bytes, struct wire_std *h);

/* ---- target ---- */

void rma_amo_take(struct amo_request *q, const struct wire_std *h);
/* enum wire_rc: whether the packet is an atomic request that makes sense. */
uint8_t rma_amo_check(const struct wire_view *v);
/* Bytes of the target's elements. */
uint32_t rma_amo_length(const struct wire_std *h);
/* enum weft_mr_access that it needs. */
uint8_t rma_amo_access(const struct amo_request *q, bool fetches);
/* Carries it out on a range that mr_check has passed; `result`, unless NULL, gets what was there. WIRE_RC_OK, or what
 * to answer because the region is broken: then it may have been done in part, and `result` means nothing. */
uint8_t rma_amo_apply(const struct amo_request *q, struct weft_mr *mr, struct mr_range range, const uint8_t *payload,
		      uint8_t *result);

#endif
