/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduled credit, for receiver-driven algorithms that schedule (rcc.h): each credit is a packet of its own that calls
 * for a fixed amount of data, has a number and a path, and is lost for good when it is lost. A sender asks once and
 * says when it has no data any more (doc/reference/protocol.md, Scheduled credit). */
#ifndef WEFT_CREDIT_SCHED_H
#define WEFT_CREDIT_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "credit_queue.h"
#include "pool.h"
#include "wheel.h"

enum {
	SCHED_NUMBER_MASK = 0xffffff, /* credits count modulo 2^24 */
	SCHED_RING = 42,              /* credits a sender keeps */
	SCHED_SEEN = 1024,            /* a credit may be late by this many: slow queues on its path; a power of two */
	SCHED_HOST_RING = 64,         /* credits that wait in a receiving host; a power of two */
	SCHED_SYNCED = 1, /* in ccc_id: `credit` is the number of the credit that called for the packet ... */
	SCHED_MARKED = 2, /* ... which was marked */
};

/* A credit at the sender. */
struct sched_credit {
	uint32_t number;     /* modulo 2^24 */
	uint16_t ev;         /* the path it came on, and its data has to take */
	uint16_t bytes : 15; /* it calls for */
	uint16_t marked : 1;
};

/* Initiator side, one per connection. */
struct sched_tx {
	struct sched_credit ring[SCHED_RING]; /* credits not yet used, oldest at `head` */
	uint8_t head, count;
	bool asked;                     /* the target sends credits, or will */
	bool stopped;                   /* it was told to stop, at stopped_ns */
	bool numbered;                  /* `newest` means something */
	bool lingering;                 /* no data is left: ask_at_ns is when to say stop */
	struct sched_credit now;        /* the credit in use */
	uint32_t left_bytes;            /* of it, and of those before it */
	uint32_t newest;                /* highest number seen */
	uint64_t seen[SCHED_SEEN / 64]; /* of the last SCHED_SEEN numbers up to `newest`, by number */
	uint16_t serial;                /* of our last request or stop, 1..65535 */
	uint32_t gap_ns;                /* time between the last two credits */
	weft_ns heard_ns;               /* the last credit came */
	weft_ns stopped_ns;
};

struct pdc_rx;

/* Target side, behind pdc_rx; the algorithm's further state follows. */
struct sched_rx {
	struct wheel_node timer; /* next credit of this sender ... */
	weft_ns at_ns;           /* ... is due then */
	struct pdc_rx *rx;
	uint32_t number;     /* of the next credit */
	uint32_t timed;      /* credit whose round trip is being measured ... */
	weft_ns timed_at_ns; /* ... sent then; WEFT_NEVER: none is */
	uint32_t answered;   /* highest number of a credit that data came for, or that was the last before a request */
	uint16_t serial;     /* of the last request or stop; 0: none yet */
	uint16_t first_ev;   /* path number n is entropy first_ev + n */
};

/* A credit that waits in the host. */
struct sched_wait {
	weft_ns at_ns; /* it came then */
	uint16_t pdc_id, ev;
	uint32_t number;
};

/* Of an engine. */
struct sched {
	struct wheel wheel; /* sched_rx.timer */
	struct credit_queue queue;
	struct sched_wait ring[SCHED_HOST_RING];
	uint32_t head;
	uint32_t unanswered_max; /* credits on their way to one sender; beyond, one per base RTT */
	uint32_t numbers_ahead;  /* a credit that a sender takes may be newer than the newest by this many: all others
				  * may be lost, so at least unanswered_max */
	struct pool txs;         /* struct sched_tx */
	weft_ns free_ns;         /* when our link will have carried the data of all credits that came */
	uint32_t looked, fouled; /* data packets since the last look, and those that saw a data queue too long */
	uint32_t alarms;         /* signs that the fabric does not limit credits */
};

#endif
