/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit as both ends count it: in units of 256 bytes, from the connection's start, modulo 2^24 (UE 1.0 sec. 3.6.14;
 * doc/reference/protocol.md). Totals rather than amounts: a lost packet is made up for by the next. */
#ifndef WEFT_CREDIT_H
#define WEFT_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "weft/mem.h"
#include "weft/spi/rcc.h"

enum { CREDIT_MASK = 0xffffff };

/* Total `a` - `b` in bytes, right within 2 GiB; negative: `a` is older. */
static inline int64_t credit_diff(uint32_t a, uint32_t b)
{
	return (int64_t)((int32_t)((a - b) << 8) >> 8) * WEFT_RCC_UNIT_BYTES;
}

static inline uint32_t credit_units(uint64_t bytes)
{
	return (uint32_t)((bytes + WEFT_RCC_UNIT_BYTES - 1) / WEFT_RCC_UNIT_BYTES);
}

/* `units` more, of WEFT_RCC_MAX_BYTES at most. */
static inline uint32_t credit_plus(uint32_t total, uint32_t units)
{
	return (total + units) & CREDIT_MASK;
}

/* Initiator side, in pdc_tx. What may be sent: first_bytes + balance_bytes > 0, so that a packet may overdraw. */
struct credit_tx {
	int64_t balance_bytes;  /* granted and not spent; below 0 by less than a packet */
	uint64_t unsent_bytes;  /* wire bytes of all that was submitted and not cut into packets */
	uint32_t first_bytes;   /* left of what an idle sender may send without credit */
	uint32_t granted;       /* total the target is known to have granted */
	uint32_t announced;     /* highest total it should know we want */
	uint8_t asks;           /* CREDIT_REQs since the last credit */
	weft_ns ask_at_ns;      /* the next is due; WEFT_NEVER: we do not wait for credit */
	struct sched_tx *sched; /* of an algorithm that schedules (credit_sched.h), the connection's; else NULL */
};

/* Target side, in pdc_rx. */
struct credit_rx {
	struct list link; /* in credit.wanting */
	uint32_t granted; /* total */
	uint8_t unproven; /* credits sent since the initiator's last packet, while PDC_UNPROVEN */
	struct weft_rcc rcc;
};

struct sched;

/* Of an engine: the algorithm, and the one pacer that gives every sender its turn. */
struct credit {
	const struct weft_rcc_ops *rcc; /* NULL: packets need no credit */
	struct weft_cc_params params;
	struct weft_rcc_limits limits;
	struct sched *sched; /* owned; NULL: the algorithm does not schedule */
	struct list wanting; /* pdc_rx whose senders want credit, in the order of their turns */
	weft_ns due_ns;      /* somebody's turn; WEFT_NEVER: nobody wants any */
	weft_ns free_ns;     /* when all credit given so far will have been used at the pace of our link */
	uint32_t free_frac;  /* fraction of it, 2^-20 ns */
	void *tune;          /* the algorithm's parameters, owned */
};

#endif
