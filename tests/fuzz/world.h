/* SPDX-License-Identifier: BSD-3-Clause */
/* Two engines, the wire between them and an application on each, which a program drives. */
#ifndef WEFT_FUZZ_WORLD_H
#define WEFT_FUZZ_WORLD_H

#include "bad_wire.h"
#include "model_op.h"

enum { WORLD_SENDS = 250, WORLD_POSTS = 1500, WORLD_IDEMPOTENT = 64, WORLD_MESSAGE_BYTES = 60000 };
enum { WORLD_ACCESSES = 200, WORLD_GROUND_MRS = 5, WORLD_DGRAMS = 24 };
enum { WORLD_KEY = 3, WORLD_NOBODY = 77 };

/* A message, by the id it carries as its data. */
struct sent {
	uint8_t *buf; /* until its completion, or its endpoint's end */
	uint32_t len;
	int from, to;
	uint8_t kind;
	uint64_t tag;
	bool in_order; /* among those of its sender */
	bool nowhere;  /* there is no such endpoint */
	bool ended, received;
	int err;
};

/* A receive, or a look for a message, in order of posting. */
struct posted {
	uint8_t *buf; /* NULL: it has ended */
	int side;
	uint8_t kind;
	uint16_t flags;
	uint32_t peer;
	uint64_t len, tag, ignore;
	uint32_t first_id[2], last_id[2]; /* of messages in order, by sender; 0: none */
};

/* A WRITE or READ that may be repeated. */
struct idempotent {
	uint8_t *buf; /* NULL: it has ended */
	int side;
	bool is_write, done;
	uint64_t at;
	uint32_t len;
};

struct memory {
	struct model *model; /* NULL: not used so far */
	uint8_t (*regions)[MODEL_REGION_BYTES];
	uint8_t (*left)[MODEL_REGION_BYTES]; /* what a region had in it when it was deleted */
	struct weft_mr *mrs[2];
	bool deleted[2];
	struct weft_op_atomic atomics[2][MODEL_SLOTS][MODEL_DEPTH];
	uint64_t data[2]; /* sum of what came with WRITEs, by target */
	uint8_t *idempotent[2];
	struct weft_mr *idempotent_mrs[2];
	struct idempotent ops[WORLD_IDEMPOTENT];
	uint32_t ops_count;
};

/* An access to memory at the limits of what is allowed. */
struct access {
	uint8_t *buf; /* NULL: it has ended */
	int side;
	uint32_t len, sunk; /* `sunk`: bytes that the sink got */
	uint64_t at;
	bool is_refused, may_be_bad; /* `may_be_bad`: as an operation, wherever it goes */
	bool is_pattern, sinks;      /* reads what never changes; through a sink */
	struct weft_op_atomic atomic;
};

struct access_memory {
	uint8_t *ground[2]; /* NULL: not used so far */
	struct weft_mr *mrs[2][WORLD_GROUND_MRS];
	struct access ops[WORLD_ACCESSES];
	uint32_t count;
};

/* Of a side. */
struct dgrams {
	struct weft_ep *ep; /* NULL: closed */
	uint32_t peer;
	uint8_t *bufs[WORLD_DGRAMS]; /* of operations under way; NULL: free */
};

struct world {
	struct duo d;
	struct program in;
	struct bad_wire wire;
	struct duo_conf conf;
	uint32_t self[2], nobody[2]; /* peer ids */
	/* Packets were altered, or came after their connection's life: bytes and ends are not promised any more. */
	bool hostile;
	/* Endpoints or regions were closed: operations may fail. */
	bool disturbed;
	struct sent sends[WORLD_SENDS + 1]; /* from 1 */
	struct posted posts[WORLD_POSTS];
	uint32_t sent_count, posted_count;
	struct memory memory;
	struct access_memory access;
	struct dgrams dgrams[2];
	uint32_t dgram_count;
	bool recorded;
	uint8_t *recorder[2]; /* NULL: nothing is recorded */
};

/* ---- messages ---- */

/* One operation each, as the program says. */
void world_send(struct world *w);
void world_recv(struct world *w);
void world_peek(struct world *w);
void world_cancel(struct world *w);

/* Receives for everything that is still on its way. */
void world_recv_rest(struct world *w);
void world_cancel_rest(struct world *w);

/* Sends that have not ended. */
uint32_t world_sends_open(const struct world *w);
/* Receives that have not ended, at endpoints that are open. */
uint32_t world_posts_open(const struct world *w);

/* A completion of a SEND, TSEND, RECV, TRECV, RELEASE or PEEK; checks what it says. */
void world_message_ended(struct world *w, int side, const struct weft_cqe *cqe);

/* The endpoint was closed: its buffers are the application's. */
void world_messages_drop(struct world *w, int side);

/* All that was to arrive did. */
void world_messages_check(const struct world *w);
void world_messages_close(struct world *w);

/* ---- memory ---- */

void world_rma(struct world *w);
void world_idempotent(struct world *w);

/* Ends the region of a side, or begins it again. */
void world_region(struct world *w);

uint32_t world_rma_open(const struct world *w);
void world_rma_ended(struct world *w, int side, const struct weft_cqe *cqe);
void world_rma_drop(struct world *w, int side);
void world_memory_check(const struct world *w);
void world_memory_close(struct world *w);

/* ---- access that is refused, or nearly so ---- */

void world_access(struct world *w);
/* Whether it is the completion of a peer's access to these regions. */
bool world_access_owns(const struct weft_cqe *cqe);
/* False: it is none of these operations. */
bool world_access_ended(struct world *w, const struct weft_cqe *cqe);
uint32_t world_access_open(const struct world *w);
void world_access_drop(struct world *w, int side);
void world_access_check(const struct world *w);
void world_access_close(struct world *w);

/* ---- datagrams ---- */

void world_dgram(struct world *w);
void world_dgrams_collect(struct world *w, int side);
void world_dgrams_close(struct world *w);

/* ---- what others may look at ---- */

void world_look(struct world *w);
void world_recorder_open(struct world *w);
/* After the engines. */
void world_recorder_close(struct world *w);

#endif
