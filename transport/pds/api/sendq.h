/* SPDX-License-Identifier: BSD-3-Clause */
/* The in-flight record: one entry per PSN from the oldest unacknowledged to the newest sent, plus two orders over them:
 * by time of the last transmission (in flight) and of discovery (lost, waiting to be sent again). */
#ifndef WEFT_SENDQ_H
#define WEFT_SENDQ_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "bitmap.h"
#include "likely.h"
#include "pool.h"
#include "psn.h"
#include "weft/time.h"

struct tx_run;

enum { SENDQ_MIN = 64, SENDQ_MAX = 32768 }; /* entries; a power of two that grows on demand up to the window */

enum { SENT_TRIES_MAX = 127 };

enum sent_control { SENT_CLOSE, SENT_NOOP };

enum { SENT_WITHDRAWN = 0x8000 }; /* in payload_len: sent as a withdrawal (withdraw.h), never as data again */

enum sent_state { SENT_NONE, SENT_INFLIGHT, SENT_ACKED, SENT_LOST /* ... plus an enum sent_cause */ };

/* Why a packet has to be sent again. */
enum sent_cause { CAUSE_TRIM, CAUSE_GAP, CAUSE_RTO, CAUSE_PATH, CAUSE_REWIND, CAUSE_NACK };

struct sent {
	weft_ns sent_at;    /* last transmission */
	struct tx_run *run; /* whose bytes it carries; NULL: a control packet */
	uint32_t offset;    /* of the payload in the run; control packets: enum sent_control */
	union {
		struct {
			uint16_t ev; /* entropy of the last transmission */
			uint16_t wire_bytes;
		};
		uint32_t ev_and_bytes;
	};
	uint16_t payload_len; /* bytes; see also SENT_WITHDRAWN */
	uint16_t prev, next;  /* neighbours in the list of its state, if any: low 16 bits of their PSNs */
	uint8_t state;        /* enum sent_state; see sent_is_lost */
	uint8_t tries : 7;    /* retransmissions so far, up to SENT_TRIES_MAX */
	bool timed_out : 1;   /* the last loss was found by the retransmission timer */
};

_Static_assert(sizeof(struct sent) == 32, "two in-flight records per cache line");

static inline bool sent_is_lost(const struct sent *s)
{
	return s->state >= SENT_LOST;
}

/* Of a lost one. */
static inline enum sent_cause sent_cause(const struct sent *s)
{
	assert(sent_is_lost(s));
	return (enum sent_cause)(s->state - SENT_LOST);
}

static inline bool sent_is_close(const struct sent *s)
{
	return !s->run && s->offset == SENT_CLOSE;
}

static inline bool sent_is_withdrawn(const struct sent *s)
{
	return s->payload_len & SENT_WITHDRAWN;
}

/* Bytes, withdrawn or not. */
static inline uint16_t sent_payload_bytes(const struct sent *s)
{
	return s->payload_len & (uint16_t)~SENT_WITHDRAWN;
}

struct sendq_list {
	uint16_t head, tail; /* low 16 bits of PSNs, meaningful while count > 0 */
	uint32_t count;
};

struct sendq {
	struct sent *ring; /* indexed by PSN & mask; NULL while nothing was ever sent */
	uint64_t *acked;   /* bit per ring entry: acknowledged but not yet passed by `una` */
	uint32_t mask;
	uint32_t una;               /* oldest PSN not acknowledged by any means */
	uint32_t nxt;               /* next new PSN */
	struct sendq_list inflight; /* oldest transmission first */
	struct sendq_list lost;     /* first found first */
};

/* Memory of smallest rings, so that connections can drop theirs while idle. */
struct sendq_mem {
	const struct weft_mem *mem;
	struct pool small; /* rings of SENDQ_MIN entries */
};

void sendq_mem_init(struct sendq_mem *m, const struct weft_mem *mem);
void sendq_mem_fini(struct sendq_mem *m);

/* Empty, numbering from `psn`. */
void sendq_init(struct sendq *q, uint32_t psn);

/* Gives the ring back; the PSNs stay. The queue must be empty or dead. */
void sendq_release(struct sendq *q, struct sendq_mem *m);

static inline uint32_t sendq_len(const struct sendq *q)
{
	return q->nxt - q->una;
}

static inline struct sent *sendq_at(const struct sendq *q, uint32_t psn)
{
	assert(q->ring);
	return &q->ring[psn & q->mask];
}

/* True when `psn` is between una and nxt. */
static inline bool sendq_has(const struct sendq *q, uint32_t psn)
{
	return psn - q->una < sendq_len(q);
}

/* Twice the room, or the first. False: no memory, or SENDQ_MAX reached. */
bool sendq_grow(struct sendq *q, struct sendq_mem *m);

/* Makes sure one more PSN fits. False: no memory, try again later. */
static inline bool sendq_reserve(struct sendq *q, struct sendq_mem *m)
{
	return likely(q->ring && sendq_len(q) <= q->mask) || sendq_grow(q, m);
}

/* Appends the record of `psn`, which is in no list, to one. */
static inline void sendq_list_append(struct sendq *q, struct sendq_list *l, uint32_t psn, struct sent *s)
{
	assert(l->count <= q->mask);
	if (likely(l->count++))
		sendq_at(q, l->tail)->next = (uint16_t)psn;
	else
		l->head = (uint16_t)psn;
	s->prev = l->tail;
	l->tail = (uint16_t)psn;
}

/* Takes the record of `psn` out of the list it is in. */
static inline void sendq_list_remove(struct sendq *q, struct sendq_list *l, uint32_t psn, const struct sent *s)
{
	assert(l->count > 0);
	l->count--;
	if (likely(l->head == (uint16_t)psn)) {
		l->head = s->next;
		return; /* the next has no neighbour before it now, and nobody looks for one */
	}
	sendq_at(q, s->prev)->next = s->next;
	if (l->tail == (uint16_t)psn)
		l->tail = s->prev;
	else
		sendq_at(q, s->next)->prev = s->prev;
}

/* Takes the next PSN (after sendq_reserve) as in flight since `now`. The caller fills in the rest. */
static inline struct sent *sendq_add(struct sendq *q, weft_ns now)
{
	assert(q->ring && sendq_len(q) <= q->mask);
	uint32_t psn = q->nxt++;
	struct sent *s = sendq_at(q, psn);
	s->sent_at = now;
	s->state = SENT_INFLIGHT;
	s->tries = 0;
	s->timed_out = false;
	sendq_list_append(q, &q->inflight, psn, s);
	return s;
}

/* In flight -> lost: last, but before those that were never sent, which may have to wait for the window. */
void sendq_lose(struct sendq *q, uint32_t psn, enum sent_cause cause);
/* Lost packets from `psn`, one of them, on go first, in their order, unless some at the end were never sent. */
void sendq_lead(struct sendq *q, uint32_t psn);

/* Lost -> in flight since `now`. A record whose sent_at is WEFT_NEVER has not been sent before. */
void sendq_resend(struct sendq *q, uint32_t psn, weft_ns now);

/* All that is not acknowledged -> lost, in the order of their PSNs; for CAUSE_REWIND what was in flight. */
void sendq_rewind(struct sendq *q);

/* Takes a record out of the list of its state; it is acknowledged. Then either `una` moves over it, or sendq_mark.
 * Returns whether it was in flight, and not lost. */
static inline bool sendq_unlink(struct sendq *q, uint32_t psn, const struct sent *s)
{
	assert(s->state == SENT_INFLIGHT || sent_is_lost(s));
	if (likely(s->state == SENT_INFLIGHT)) {
		sendq_list_remove(q, &q->inflight, psn, s);
		return true;
	}
	sendq_list_remove(q, &q->lost, psn, s);
	return false;
}

/* Acknowledged while older ones are not. */
static inline void sendq_mark(struct sendq *q, uint32_t psn, struct sent *s)
{
	assert(sendq_has(q, psn) && s->state != SENT_ACKED);
	s->state = SENT_ACKED;
	bitmap_set(q->acked, q->mask, psn);
}

/* Any -> acknowledged. */
static inline void sendq_ack(struct sendq *q, uint32_t psn)
{
	struct sent *s = sendq_at(q, psn);
	sendq_unlink(q, psn, s);
	sendq_mark(q, psn, s);
}

/* Moves `una` over its packet, which is acknowledged. */
static inline void sendq_pop(struct sendq *q)
{
	assert(sendq_len(q) > 0 && sendq_at(q, q->una)->state == SENT_ACKED);
	bitmap_clear(q->acked, q->mask, q->una++);
}

/* Moves `una` over what is acknowledged. */
static inline void sendq_advance(struct sendq *q)
{
	assert(q->inflight.count + q->lost.count <= sendq_len(q));
	while (sendq_len(q) && sendq_at(q, q->una)->state == SENT_ACKED)
		sendq_pop(q);
}

/* How many packets sent after `psn` are acknowledged, at most `max`. */
uint32_t sendq_acked_beyond(const struct sendq *q, uint32_t psn, uint32_t max);

/* PSN of the oldest transmission in flight or the first lost packet; the list must not be empty. */
static inline uint32_t sendq_psn(const struct sendq *q, uint16_t low)
{
	assert(sendq_len(q) > 0);
	return q->una + (uint16_t)(low - (uint16_t)q->una);
}

#endif
