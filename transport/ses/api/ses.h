/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics: turns operations into runs of packets and what arrives into completions. Calls PDS downwards, and is told
 * by it what happened (struct pds_events). */
#ifndef WEFT_SES_H
#define WEFT_SES_H

#include <stdatomic.h>

#include "mr_range.h"
#include "peers.h"
#include "pool.h"
#include "weft/view.h"

struct tx_msg;

/* Messages by token: those that wait for an answer, or to be fetched. */
struct rma_table {
	struct tx_msg **msgs; /* index 0 is not used */
	uint32_t room, count, cursor;
	uint16_t salt; /* exclusive-ored into the indices of tokens */
};

/* Idempotent operations of ours, see rudi.h. */
struct rudi {
	struct list ops, sent; /* operations; packets that wait for their response */
	struct u64map by_id;   /* these, by packet id */
	struct pool op_pool, pkt_pool;
	weft_ns due_ns; /* when there is something to do */
	uint32_t next_id, sent_pkts;
	uint64_t sent_bytes;
	uint16_t next_message_id;
};

struct ses {
	struct pds *pds;
	struct weft_stats *stats;
	/* The endpoints to look at, see doorbell.h. */
	_Atomic(struct weft_ep *) rung; /* somebody submitted since the last look */
	struct list ready;              /* weft_ep: a submission, or completions, could not be dealt with */

	bool more_submissions;     /* an endpoint had more than fit in this poll */
	bool short_of_mem;         /* a submission or a completion waits for memory or for room in its ring */
	bool fetch_later;          /* one of `fetches` could not be begun */
	bool kicked;               /* something was begun, and the next poll must not think that nothing is due */
	bool destroying;           /* nothing new is begun */
	bool shutting_down;        /* operations are refused */
	int failed;                /* so are all, receives too, with this errno; 0: they are not */
	struct list eps;           /* endpoints */
	struct u64map by_port;     /* these by number, but hidden ones */
	uint32_t free_port_from;   /* no smaller number that engines give out is free */
	struct list stuck;         /* ses_rx with a request whose turn has come and that there was no memory for */
	struct list fetches;       /* announced rx_msgs that are being fetched */
	struct list dgrams;        /* datagrams that the port may still have to take */
	weft_ns polled_ns;         /* begin of the latest poll: API calls without a time, such as closing, use it */
	uint64_t unexpected_bytes; /* bounce memory in use */
	uint64_t unproven_bytes;   /* of this, taken for addresses that had shown nothing */

	const struct weft_mem *mem;
	struct peers peers;
	struct mrs mrs;
	struct u64map rx_msgs; /* rx_msg by (our PDCID, message id) */
	struct rma_table asks;
	struct rudi rudi;
	uint32_t answers; /* under way */
	struct pool tx_msgs, rx_msg_pool, rx_reqs, cqe_nodes, tx_rmas, rx_rmas, dgram_pool;
};

/* ---- what the engine calls ---- */

extern const struct pds_events ses_events;

/* `pds` is initialised, its configuration need not be. */
void ses_init(struct ses *ses, struct pds *pds);
/* Nothing new is begun from now on; after that the connections may end. */
void ses_stop(struct ses *ses);
/* All endpoints and regions go; no connection of ours is left. */
void ses_close_all(struct ses *ses);
void ses_fini(struct ses *ses);

/* What there was no memory for: fetch_later or `stuck`. */
void ses_poll_retry(struct ses *ses);
void ses_poll_submissions(struct ses *ses, weft_ns now); /* of the endpoints that have any */
void ses_poll_idempotent(struct ses *ses, weft_ns now);  /* rudi.due_ns has come */
void ses_poll_sent(struct ses *ses);                     /* the port was given packets */

/* Whether there is something to do although nothing arrived and nothing is due. */
static inline bool ses_wants_poll(const struct ses *ses)
{
	return ses->short_of_mem || atomic_load_explicit(&ses->rung, memory_order_relaxed);
}

/* Ends every operation and refuses those to come (fail.c). */
void ses_fail(struct ses *ses, int err);

void ses_rx_dgram(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v);
/* A NACK with WIRE_F_NACK_NT. */
void ses_rx_rudi_nack(struct ses *ses, const struct wire_view *v);
/* A request or response of WIRE_KIND_RUDI, trimmed or not. */
void ses_rx_rudi(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now);

/* Brings the record of the message that got the last packet into the cache. */
void ses_prefetch_rx(const struct pdc_rx *p);

/* What is under way, the oldest first and only the first few of each list: operations that send over a connection,
 * messages that arrive over one, those without a connection, and receives of an endpoint (NULL: none) with messages
 * that wait for one. WEFT_OP_ROWS_MIN rows are room enough for any of these, or the first two together; `conn` and
 * `silent_ns` stay 0. Return the rows. */
unsigned ses_pending_tx(const struct ses *ses, const struct pdc_tx *p, weft_ns now, struct weft_op_row *rows);
unsigned ses_pending_rx(const struct ses *ses, const struct pdc_rx *p, weft_ns now, struct weft_op_row *rows);
unsigned ses_pending_loose(const struct ses *ses, weft_ns now, struct weft_op_row *rows);
unsigned ses_pending_ep(const struct ses *ses, const struct weft_ep *ep, weft_ns now, struct weft_op_row *rows);
/* The endpoint with this place in ses.eps. */
const struct weft_ep *ses_ep_at(const struct list *link);

/* The public functions of the same names. */
int ses_ep_open(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		struct weft_err *err);
int ses_ep_open_hidden(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		       struct weft_err *err);
int ses_ep_open_dgram(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		      struct weft_err *err);
/* Returns whose it was. */
struct ses *ses_ep_close(struct weft_ep *ep);
int ses_mr_add(struct ses *ses, const struct weft_mr_attr *attr, struct weft_mr **out);
uint32_t ses_atomic_bytes(const struct ses *ses, uint8_t op);

#endif
