/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine under test as the other end of a scripted peer: what the peer sends arrives at the engine, what the engine
 * sends is what the peer receives. The clock is moved by hand. */
#ifndef WEFT_TEST_ENGINE_IO_H
#define WEFT_TEST_ENGINE_IO_H

#include "conform.h"
#include "duo.h"

enum {
	BOX_NUMBER = 15, /* the endpoint's: PIDonFEP 0, resource index 15 */
	BOX_PEER_NUMBER = 16,
	BOX_JOB = 1,
	BOX_RECEIVES = 16,
	BOX_MESSAGE_MAX = 1 << 20,
	BOX_REGION_BYTES = 1 << 20,
};
#define BOX_TAG UINT64_C(0xabcd)
#define BOX_KEY UINT64_C(0x77)

struct engine_box {
	struct duo duo;                  /* side 0 is the engine; side 1 only stands for its peer and is never polled */
	struct weft_ep *ep;              /* number BOX_NUMBER at side 0 */
	uint32_t peer;                   /* our scripted peer as side 0 knows it */
	struct weft_mr *mr, *idempotent; /* the same memory, under BOX_KEY and for idempotent operations */
	uint8_t *region;
	uint8_t *buffers[BOX_RECEIVES]; /* the posted receives' */
	struct uet_link link;           /* as the peer sees it */
	uint32_t loss_ppm, random;      /* packets lost in either direction; state of the generator */
	uint32_t lost;
};

/* An engine with defaults and one endpoint, a region with the key BOX_KEY, no receives. */
void box_open(struct engine_box *b, bool v6, enum uet_encap encap, bool crc);
void box_close(struct engine_box *b);

/* Makes the region shorter. */
void box_region(struct engine_box *b, uint32_t bytes);

/* A peer that talks to it. */
void box_peer(struct engine_box *b, struct conform_peer *p);

/* Posts a receive with the box's n-th buffer, tagged (for every tag) or not; its completion's context is the buffer. */
void box_receive(struct engine_box *b, uint32_t n, bool tagged);

/* Takes the completion of a receive: `len` bytes of what message `id` carries. Fails the test otherwise. */
void box_expect_message(struct engine_box *b, uint32_t id, uint32_t len);

/* True: the endpoint has a completion. */
bool box_completion(struct engine_box *b, struct weft_cqe *cqe);

/* Polls the engine for this long. What it sends waits for the peer. */
void box_run(struct engine_box *b, uint64_t ns);

#endif
