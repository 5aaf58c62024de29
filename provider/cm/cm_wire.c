/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm_wire.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { CM_VERSION = 1 };

/* As it travels; big-endian. */
struct cm_head {
	uint8_t version, kind;
	uint16_t name, src, dst;
	uint64_t id;
};
_Static_assert(sizeof(struct cm_head) == CM_HEAD_BYTES, "no holes");

static bool has_data(uint8_t kind)
{
	return kind == CM_REQUEST || kind == CM_ACCEPT || kind == CM_REJECT;
}

size_t cm_build(uint8_t *to, const struct cm_msg *msg)
{
	const struct cm_head head = {.version = CM_VERSION,
				     .kind = msg->kind,
				     .name = htobe16(msg->name),
				     .src = htobe16(msg->src),
				     .dst = htobe16(msg->dst),
				     .id = htobe64(msg->id)};
	assert(msg->data_len <= PROV_CM_DATA_BYTES && (has_data(msg->kind) || !msg->data_len));
	memcpy(to, &head, sizeof head);
	if (msg->data_len)
		memcpy(to + sizeof head, msg->data, msg->data_len);
	return sizeof head + msg->data_len;
}

int cm_parse(const uint8_t *from, size_t len, struct cm_msg *msg)
{
	struct cm_head head;
	if (len < sizeof head || len > CM_BYTES_MAX)
		return -EINVAL;
	memcpy(&head, from, sizeof head);
	*msg = (struct cm_msg){.kind = head.kind,
			       .name = be16toh(head.name),
			       .src = be16toh(head.src),
			       .dst = be16toh(head.dst),
			       .id = be64toh(head.id),
			       .data = from + sizeof head,
			       .data_len = len - sizeof head};
	if (head.version != CM_VERSION || !head.kind || head.kind >= CM_KINDS || !msg->id)
		return -EINVAL;
	return msg->data_len && !has_data(msg->kind) ? -EINVAL : 0;
}
