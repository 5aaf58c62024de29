/* SPDX-License-Identifier: BSD-3-Clause */
/* Random reads, writes and atomics of two hosts on each other's and on their own memory, and what both memories must
 * be. A test carries the operations out, by whatever interface; the model draws them and checks what comes of them.
 * Small operations follow each other without waiting, so that their order and their being done exactly once is checked,
 * too.
 */
#ifndef WEFT_TEST_RMA_MODEL_H
#define WEFT_TEST_RMA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum {
	MODEL_SLOTS = 16,          /* of each host: pieces of memory with operations of their own */
	MODEL_DEPTH = 6,           /* operations of a slot under way */
	MODEL_SLOT_BYTES = 16384,  /* memory of a slot */
	MODEL_AMO_BYTES = 992,     /* most operands of an atomic: a packet of 1024 bytes, which every path carries */
	MODEL_COMPARE_BYTES = 480, /* the same with comparands */
	MODEL_SMALL_BYTES = 1024,  /* longer ones wait for those before them, and those behind for them */
	MODEL_REGION_BYTES = 2 * MODEL_SLOTS * MODEL_SLOT_BYTES,
};

enum model_kind { MODEL_WRITE, MODEL_READ, MODEL_ATOMIC, MODEL_FETCH, MODEL_COMPARE, MODEL_KINDS };

struct model_slot;

struct model_op {
	struct model_slot *slot;
	bool busy;
	uint64_t number; /* in order of beginning, from 1 */
	unsigned host;   /* whose operation */
	unsigned target; /* whose memory */
	enum model_kind kind;
	bool bad_key, bad_addr; /* must be refused */
	bool delivered;         /* complete when it is done */
	bool has_data;          /* WRITE: with `data` */
	uint8_t amo, type;      /* atomics: enum weft_amo_op, enum weft_amo_type */
	uint64_t data;
	uint64_t addr;                     /* in the target's region */
	size_t len;                        /* bytes there */
	uint8_t out[2 * MODEL_SLOT_BYTES]; /* data; or operands, and directly behind them comparands */
	uint8_t in[MODEL_SLOT_BYTES];      /* what is read goes here */
	uint8_t want[MODEL_SLOT_BYTES];
};

struct model_slot {
	struct model_op ops[MODEL_DEPTH];
	unsigned busy;
	bool large;         /* the one under way is */
	uint64_t soft_from; /* number of the last change that may complete before it is done; 0: all are done */
};

struct model {
	struct rng dice;
	uint64_t posted, done, refused, done_of[MODEL_KINDS];
	uint64_t data[2];                      /* sum of what writes brought along, by target */
	uint8_t shadow[2][MODEL_REGION_BYTES]; /* what the regions must be */
	struct model_slot slots[2][MODEL_SLOTS];
};

/* A model whose regions begin with the same bytes as `regions`, which it fills in. free() it. */
struct model *model_new(uint64_t seed, uint8_t regions[2][MODEL_REGION_BYTES]);

/* An operation to begin next, drawn anew each time; NULL: somebody has to wait. */
struct model_op *model_next(struct model *m);
/* It was begun. */
void model_begun(struct model *m, struct model_op *op);
/* It has completed, refused or not; checks what it brought. */
void model_ended(struct model *m, struct model_op *op, bool refused);

#endif
