/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of messages that have no receive yet, chunk by chunk as their bytes arrive: what a message says of its length
 * costs nothing. Senders share what there is: none may hold more than SHARE times what is left, so there is always some
 * for another. */
#ifndef WEFT_BOUNCE_H
#define WEFT_BOUNCE_H

#include "endpoint.h"
#include "msg.h"

enum { BOUNCE_CHUNK = 1 << 16 };

struct bounce {
	uint64_t held_bytes;     /* of the limit */
	uint64_t unproven_bytes; /* of these while the initiator was PDC_UNPROVEN */
	uint32_t count;
	uint8_t *chunks[]; /* NULL: nothing of this chunk has arrived. A single one is part of this memory */
};

/* Makes sure that there is memory for these bytes of a message, within the limit if it has no receive. False: none. */
bool bounce_reserve(struct ses *ses, struct rx_msg *m, uint32_t offset, uint32_t len);
/* For all of it, whatever the limit. */
bool bounce_reserve_all(struct ses *ses, struct rx_msg *m);
/* Whether there is memory for these bytes. */
bool bounce_has(const struct rx_msg *m, uint32_t offset, uint32_t len);
/* Copies them; there is memory for them. */
void bounce_store(struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len);
/* Copies the whole message to its receive. */
void bounce_hand_over(const struct rx_msg *m);
/* All of a message that is no longer than a chunk; NULL: nothing of it was stored. */
uint8_t *bounce_flat(const struct rx_msg *m);
/* Nothing when there is none. */
void bounce_free(struct ses *ses, struct rx_msg *m);

/* A record for a message from `peer`, within the limit unless it is `wanted`. NULL: none. */
struct rx_msg *bounce_record(struct ses *ses, uint32_t peer, bool is_unproven, bool wanted);
void bounce_record_free(struct ses *ses, struct rx_msg *m);

#endif
