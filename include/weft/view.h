/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at an engine page by page: what a running process shows of its connections and of operations under way.
 * Copies, so that the reader keeps nothing of the engine's; each call does a bounded amount of work, whatever the
 * number of connections. The calls have the thread rules of weft_engine_poll. */
#ifndef WEFT_VIEW_H
#define WEFT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

struct weft_engine;

enum weft_conn_state {
	WEFT_CONN_UNANSWERED, /* ours; its target has not answered yet */
	WEFT_CONN_OPEN,
	WEFT_CONN_CLOSING, /* ours: we have asked to close it; a peer's: it is closed, late packets still find it */
};

/* One connection. What counts, counts from its opening and wraps. */
struct weft_conn_row {
	struct weft_ip ip; /* of the peer */
	uint16_t id;       /* our PDCID */
	uint8_t state;     /* enum weft_conn_state */
	bool by_peer;      /* the peer opened it; else we did */
	bool background;   /* that of WEFT_OP_BACKGROUND */
	bool sends;        /* we send data on it: the fields up to `cached_evs` are meaningful, else 0 */
	bool receives;     /* data came on it: `received_bytes` and `unfinished` are meaningful, else 0 */
	bool has_ops;      /* something waits to be sent, acknowledged or answered */

	uint32_t cwnd_bytes;     /* congestion window, wire bytes */
	uint64_t inflight_bytes; /* sent and neither acknowledged nor declared lost, wire bytes */
	uint32_t inflight_pkts;  /* the same in packets */
	uint32_t lost_pkts;      /* declared lost and not yet sent again */
	uint32_t payload_bytes;  /* of a full packet */
	weft_ns brtt_ns;         /* base RTT */
	weft_ns srtt_ns;         /* smoothed RTT; 0: no sample yet */
	uint32_t timeouts;       /* doublings of the retransmission timeout now; 0: the peer answers */
	uint32_t marked_acks;  /* ACKs that reported a congestion mark; like the next two, of all our connections to the
				  peer */
	uint32_t trimmed_pkts; /* packets that the peer got without their payload */
	uint32_t retx_pkts;    /* packets sent again, for any reason */
	uint32_t cached_evs;   /* good entropies, that is paths, that the load balancer remembers */

	uint64_t received_bytes; /* of data, each packet counted once */
	uint32_t unfinished;     /* messages from the peer of which more is expected */
	weft_ns silent_ns;       /* since the peer was last heard; while nothing was under way, since we last began */
};

/* What keeps an operation from being done. */
enum weft_op_wait {
	WEFT_WAIT_PORT,      /* nothing but the next poll, or a port that takes no packets */
	WEFT_WAIT_TURN,      /* operations before it on the connection */
	WEFT_WAIT_FENCE,     /* it is fenced: operations before it must have completed */
	WEFT_WAIT_CWND,      /* the congestion window */
	WEFT_WAIT_PACE,      /* the time that congestion control lets the next packet leave */
	WEFT_WAIT_WINDOW,    /* the peer's window: it takes no later packets before it has earlier ones */
	WEFT_WAIT_CREDIT,    /* credit from the peer */
	WEFT_WAIT_RESOURCES, /* the peer said that it is short of memory, and is asked again later */
	WEFT_WAIT_CLOSE,     /* the connection is closing; the next takes it on */
	WEFT_WAIT_ACK,       /* the peer's acknowledgement */
	WEFT_WAIT_ADDRESS,   /* the MAC address of the peer's next hop, which was asked for or does not answer */
	WEFT_WAIT_ROUTE,     /* a route to the peer: there is none */
	WEFT_WAIT_ANSWER,    /* the data that it reads or fetches */
	WEFT_WAIT_RECEIVE,   /* the peer's application: it has not posted a receive for the message */
	WEFT_WAIT_FETCH,     /* the peer, which has a receive now, to fetch the message */
	WEFT_WAIT_MESSAGE,   /* a receive of ours: no message has come for it */
	WEFT_WAIT_DATA,      /* the rest of a message that is arriving */
	WEFT_WAIT_MATCH,     /* our application: a message is here that it has not posted a receive for */
	WEFT_WAITS,
};

/* One operation that is not done, or a message that waits for a receive. */
struct weft_op_row {
	uint8_t kind;  /* enum weft_op_kind. RECV and TRECV with WEFT_WAIT_MATCH: there is no such operation yet.
			* REMOTE_WRITE and REMOTE_READ: a peer's access to our memory */
	uint8_t wait;  /* enum weft_op_wait */
	bool any_peer; /* a receive from anybody: `peer` is all zero */
	bool more;     /* further ones of the same list follow, which are not shown */
	uint16_t ep;   /* number of our endpoint; 0: it was closed, or none yet */
	uint16_t conn; /* PDCID of the connection that it uses; 0: none */
	struct weft_addr peer;
	uint64_t bytes;      /* length; of a receive, of its buffer until a message was found */
	uint64_t done_bytes; /* of these, sent at least once, or received */
	uint64_t tag;        /* TSEND, TRECV */
	weft_ns age_ns;      /* since the engine took it up */
	weft_ns silent_ns;   /* see weft_conn_row; 0 without a connection */
};

enum { WEFT_OP_ROWS_MIN = 32 /* weft_engine_ops needs room for so many */ };

/* Copies rows, at most `n` (from 1), and moves `*cursor`, which is 0 at first and again when all have been shown: until
 * then there may be more, even after a call that copies none. What opens or closes between two calls may be missing, or
 * there twice. Returns the rows copied. `now`: the present time. */
unsigned weft_engine_conns(const struct weft_engine *e, weft_ns now, uint32_t *cursor, struct weft_conn_row *rows,
			   unsigned n);
/* The same for operations, of a connection or an endpoint the oldest first and no more than the first few of each
 * (weft_op_row.more). `n`: WEFT_OP_ROWS_MIN at least. */
unsigned weft_engine_ops(const struct weft_engine *e, weft_ns now, uint32_t *cursor, struct weft_op_row *rows,
			 unsigned n);

/* "send", "tsend", "read" ... of enum weft_op_kind; NULL: there is no such kind. */
const char *weft_op_kind_name(uint8_t kind);
/* "port", "turn", "cwnd" ...; NULL: there is none such. */
const char *weft_op_wait_name(uint8_t wait);

WEFT_END_DECLS

#endif
