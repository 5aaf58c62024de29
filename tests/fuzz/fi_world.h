/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts for fuzz_fi: what they have open and which operations are under way. */
#ifndef WEFT_FUZZ_FI_WORLD_H
#define WEFT_FUZZ_FI_WORLD_H

#include "fixture.h"

#include <stdbool.h>

#include "program.h"

enum {
	FI_OPS = 96,     /* of a program */
	FI_BYTES = 9000, /* of the longest message; from 4096 on the receiver fetches it */
	FI_REGION_BYTES = 16384,
	FI_COUNTERS = 8, /* numbers that atomics add to */
	FI_KEY = 7,      /* of the bytes; the numbers' is the next one */
	FI_EXTRA = 6,    /* objects beside those that work */
};

enum fi_world_kind { FI_WORLD_SEND, FI_WORLD_RECV, FI_WORLD_READ, FI_WORLD_WRITE, FI_WORLD_ADD };

/* One operation. Its address is the context, its number + 1 what its bytes are made of. */
struct fi_world_op {
	struct fi_context2 context; /* first */
	enum fi_world_kind kind;
	int side;
	bool posted, ended;
	bool may_stay;  /* its endpoint was closed: it may end or not */
	bool is_many;   /* one for many messages: ends more than once */
	bool keeps_buf; /* nothing comes into its bytes */
	size_t len;
	size_t at; /* of accesses: where in the region */
	uint8_t buf[FI_BYTES];
};

struct fi_world_side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct fid_mr *mr[2];
	struct fid *extra[FI_EXTRA]; /* NULL: none */
	fi_addr_t peer, self;
	uint8_t region[FI_REGION_BYTES];
	_Alignas(64) uint64_t numbers[FI_COUNTERS], added[FI_COUNTERS], tried[FI_COUNTERS];
};

struct fi_world {
	struct program in;
	struct fi_world_side side[2];
	struct fi_world_op ops[FI_OPS];
	int count;
};

/* Once per process: devices joined by rings. */
void fi_world_start(void);
void fi_world_open(struct fi_world *w, const uint8_t *data, size_t size);
/* Lets everything end, and checks that it does. */
void fi_world_settle(struct fi_world *w);
void fi_world_close(struct fi_world *w);

/* An endpoint with which everything works, and its address at both sides. */
void fi_world_ep_open(struct fi_world *w, int side);
/* What it had under way may stay so. */
void fi_world_ep_close(struct fi_world *w, int side);

/* Takes up to `n` completions of a side. */
void fi_world_read(struct fi_world *w, int side, size_t n);

/* NULL: the program had its share. */
struct fi_world_op *fi_world_op(struct fi_world *w, enum fi_world_kind kind, int side, size_t len);
/* What a call said of it. */
void fi_world_posted(struct fi_world_op *op, ssize_t ret);

static inline uint8_t fi_world_region_byte(size_t at)
{
	return (uint8_t)(at * 13 + (at >> 8) + 5);
}

#endif
