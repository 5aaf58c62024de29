/* SPDX-License-Identifier: BSD-3-Clause */
/* Who shares our link, as a target: it alone sees all connections that arrive there, and tells their initiators what
 * share each of them has (doc/reference/protocol.md, Vendor space). Counted are connections that bring messages of
 * which more is to come, from their first packet to their last; those that bring answers, and those that bring short
 * messages, while they do. A connection with short messages is counted once, in the middle of one or not. */
#ifndef WEFT_SHARERS_H
#define WEFT_SHARERS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "likely.h"
#include "weft/time.h"

enum {
	SHARERS_FULL_PCT = 88,      /* a link is full that carries so much of its rate: the rest is headers and gaps */
	SHARERS_ROUND_PERIODS = 3,  /* who brings answers or short messages does so at least so often */
	SHARERS_LAST_PKTS = 2,      /* and this many in that time: one may be all there is */
	SHARERS_STRANGER_WORDS = 8, /* of 64 bits */
	/* The queue before the link is not known, nor how long the paths are that end there. Windows that overrun it
	 * shrink, all by the same part in 256, until packets are trimmed in few periods. */
	SHARERS_PART_DOWN = 4,     /* after a period with trims */
	SHARERS_PART_UP = 1,       /* after another */
	SHARERS_PART_MIN_Q8 = 160, /* a link that is much slower than we know is the initiators' matter */
};

/* What a target says of its link: it has room, and connections would fill it with this share each; or it has none, and
 * this is an equal part. */
struct link_share {
	uint8_t code; /* wire_share.h; WIRE_SHARE_NONE: nothing */
	bool has_room;
};

/* Of an engine. Bytes are on the wire, of data that is new. */
struct sharers {
	uint64_t link_bps;   /* 0: not known; nothing is told */
	uint64_t full_bytes; /* of a period, when the link is full; > 0 */
	weft_ns period_ns;   /* a base RTT of the longest path, > 0 */
	weft_ns until_ns;    /* the present period ends with the first packet from then on */
	uint64_t bytes;      /* arrived in it */
	uint32_t with_msgs;  /* connections of which more is expected ... */
	uint32_t told_msgs;  /* ... and when `told` was decided */
	/* Of this round and the one before: connections that bring answers, and those whose messages end, which may be
	 * among those of which more is expected. */
	uint32_t answering, answering_before, ending, ending_before;
	/* Of this period and the one before: connections of which so far nothing but trimmed packets arrived, counted
	 * by a bit for the hash of each. */
	uint32_t strangers, strangers_before;
	uint64_t stranger_bits[SHARERS_STRANGER_WORDS];
	uint32_t fill_q8;             /* of the last period: 256 is full */
	uint32_t part_q8;             /* what is told of an equal part of the link, SHARERS_PART_MIN_Q8 to 256 */
	bool has_overrun;             /* in this period a packet was trimmed on its way into the link */
	bool is_full;                 /* the last period was, or a packet was trimmed on its way into the link since */
	uint8_t round, round_periods; /* number of the round, modulo 256, and periods of it that are over */
	struct link_share told;       /* what answers say: sharers_say */
};

/* Of a connection: its packets of which nothing more is expected. */
struct sharer {
	uint8_t round, pkts; /* the latest round in which there were any, and how many, up to SHARERS_LAST_PKTS */
};

/* What a packet that arrived is. */
enum sharers_pkt {
	SHARERS_MORE,   /* of a message of which more is expected */
	SHARERS_END,    /* it ends a message, and no more is expected of others of its connection */
	SHARERS_ANSWER, /* of an answer */
};

/* `period_ns` > 0. */
void sharers_init(struct sharers *s, uint64_t link_bps, weft_ns period_ns);

/* The link has another speed: it is told from the next period on. */
void sharers_set_link(struct sharers *s, uint64_t link_bps);

/* The rest of sharers_add: another period begins; a packet of which nothing more is expected. */
void sharers_turn(struct sharers *s, weft_ns at);
void sharers_last(struct sharers *s, struct sharer *of, enum sharers_pkt what);

/* Something has changed: decides anew what is told. */
void sharers_tell(struct sharers *s);

/* What to tell now. One message of one packet changes nothing: it has come and gone. */
static inline struct link_share sharers_say(struct sharers *s)
{
	if (unlikely(s->with_msgs != s->told_msgs))
		sharers_tell(s);
	return s->told;
}

/* A packet of `bytes` arrived at `at`. */
static inline void sharers_add(struct sharers *s, struct sharer *of, uint32_t bytes, enum sharers_pkt what, weft_ns at)
{
	if (unlikely(at >= s->until_ns))
		sharers_turn(s, at);
	s->bytes += bytes;
	if (unlikely(what != SHARERS_MORE))
		sharers_last(s, of, what);
}

/* More is expected of another connection, or of one less. */
static inline void sharers_join(struct sharers *s)
{
	s->with_msgs++;
}

static inline void sharers_leave(struct sharers *s)
{
	assert(s->with_msgs > 0);
	s->with_msgs--;
}

/* A packet was trimmed on its way into our link. `stranger`: of a connection that is not there yet, with a hash of it.
 */
void sharers_overrun(struct sharers *s, bool stranger, uint32_t hash);

#endif
