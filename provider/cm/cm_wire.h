/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about connections, from the endpoint PROV_CM_NUMBER of one host to that of another
 * (doc/reference/protocol.md). */
#ifndef CM_WIRE_H
#define CM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "prov_limits.h"

enum cm_kind {
	CM_REQUEST = 1, /* somebody wants a connection with who listens at `dst`; has data */
	CM_ACCEPT,      /* it is granted; has data */
	CM_REJECT,      /* it is not; has data */
	CM_READY,       /* the answer has arrived: messages may come */
	CM_BYE,         /* nothing comes any more */
	CM_PING,        /* asks nothing but whether the connection is there */
	CM_RESET,       /* it is not */
	CM_KINDS,
};

struct cm_msg {
	uint8_t kind;      /* enum cm_kind */
	uint16_t src, dst; /* numbers of the two endpoints; CM_REQUEST: dst is that of the listener; CM_REJECT: src is
			    * 0; CM_BYE, CM_PING: dst is 0 when it is not known */
	uint16_t name;     /* CM_REQUEST: port in the name of the endpoint */
	uint64_t id;       /* of the connection: its initiator's, random, not 0 */
	const uint8_t *data;
	size_t data_len; /* at most PROV_CM_DATA_BYTES */
};

enum { CM_HEAD_BYTES = 16, CM_BYTES_MAX = CM_HEAD_BYTES + PROV_CM_DATA_BYTES };

/* Writes up to CM_BYTES_MAX bytes; returns how many. */
size_t cm_build(uint8_t *to, const struct cm_msg *msg);
/* -EINVAL: no such message. `data` lies in `from`. */
int cm_parse(const uint8_t *from, size_t len, struct cm_msg *msg);

#endif
