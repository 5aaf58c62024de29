/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands at the same place in requests and in responses, taken and put without a look at its parts. */
#ifndef WEFT_WIRE_ECHO_H
#define WEFT_WIRE_ECHO_H

#include <stddef.h>
#include <string.h>

#include "wire_hdr.h"

_Static_assert(offsetof(struct wire_req, id_or_length) == 2 && offsetof(struct wire_rsp, id_or_length) == 2 &&
		       offsetof(struct wire_req, pid_on_fep) == 8 && offsetof(struct wire_rsp, modified_length) == 8,
	       "message id, generation and job id");

/* What the response to a request repeats, as on the wire. All 0: there was no request. */
struct wire_echo {
	uint64_t head;   /* the first 8 bytes; of them a response has message id, generation and job id */
	uint32_t length; /* of the request: a response says how much of it was done */
};

static inline uint64_t wire_head(const void *ses)
{
	uint64_t head;
	memcpy(&head, ses, sizeof head);
	return head;
}

/* Of a standard request. */
static inline struct wire_echo wire_echo_of(const struct wire_std *h)
{
	struct wire_echo e = {.head = wire_head(h)};
	memcpy(&e.length, &h->request_length, sizeof e.length);
	return e;
}

/* Into a response without data; opcode, version and return code stay. */
static inline void wire_rsp_repeat(struct wire_rsp *rsp, const struct wire_echo *e)
{
	uint16_t first;
	memcpy(&first, rsp, sizeof first);
	memcpy(rsp, &e->head, sizeof e->head);
	memcpy(rsp, &first, sizeof first);
	memcpy(&rsp->modified_length, &e->length, sizeof e->length);
}

/* Bits of `head` that all packets of a message have in common: operation, version, initiator's error, message id,
 * generation and job id. */
static inline uint64_t wire_message_head(const void *ses)
{
	static const uint8_t common[8] = {0x3f, 0xd0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	return wire_head(ses) & wire_head(common);
}

enum { WIRE_MESSAGE_HEAD_NONE = 0xc0 }; /* of no message: two bits that are not in common (little endian) */

#endif
