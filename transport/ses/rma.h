/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to peers' memory, and messages that their receiver fetches (rendezvous). What plain messages don't need: an
 * answer with data, which comes in the return direction of the connection.
 *   rma_tx      initiators: requests             rma_rx, rma_read, rma_exec   targets: checks and order, execution
 *   answer_rx   answers that arrive              rma_answer                   targets: answers
 *   rndv        messages announced and fetched   rma_amo                      what atomics add to both */
#ifndef WEFT_RMA_H
#define WEFT_RMA_H

#include "mr_range.h"
#include "msg.h"
#include "rma_amo.h"

struct weft_ep;

enum rma_role {
	RMA_REQUEST,  /* WRITE, ATOMIC: acknowledgement ends it */
	RMA_ASK,      /* READ, FETCHING_ATOMIC: the answer ends it */
	RMA_ANNOUNCE, /* a message whose one packet tells the receiver to READ it: our answer to that ends it */
	RMA_ANSWER,   /* responses with data, to a packet of a peer's ASK */
};

enum {
	RMA_TOKEN_INDEX = 0xffff, /* part of a token that says where it is in the table */
	RMA_GEN_MEMORY = 0,       /* ri_generation of requests: the key is a region's ... */
	RMA_GEN_MESSAGE = 1,      /* ... or an announced message's token */
};

/* What such a message has beyond its tx_msg. Lives in the engine's pool. */
struct tx_rma {
	struct pdc_tx *pdc; /* whose msgs it is among */
	uint8_t role;       /* enum rma_role */
	uint8_t opcode;     /* enum wire_op; ANSWER: none */
	uint8_t generation; /* RMA_GEN_* */
	uint8_t rc;         /* ANSWER: enum wire_rc */
	bool delivered;     /* WEFT_OP_DELIVERED */
	bool held;          /* acknowledged, but something before it is not, so it may not have been done yet */
	bool answered;      /* ASK: all of the answer is here; ANNOUNCE: it was acknowledged */
	uint64_t raddr, key;
	uint64_t token;  /* ANNOUNCE: index in the engine's table, salted (low 16 bits), and random bits; else 0 */
	uint32_t length; /* request_length: there may be less payload, or more than goes into packets of ours */
	uint32_t answer_bytes, answered_bytes; /* ASK: expected, and here */
	void *buf;                             /* ASK: where the answer goes unless there is a sink */
	weft_sink_fn sink;
	void *sink_arg;
	struct rx_msg *fetch;   /* ASK: the announced message it fetches, or NULL */
	struct tx_msg *mate;    /* ANSWER: the announced message it carries; ANNOUNCE: the answer under way; or NULL */
	struct weft_mr *mr;     /* ANSWER: the region it is sent from, or NULL: not from one */
	uint32_t at;            /* ANSWER: where in the message its bytes begin */
	uint32_t job_id;        /* ANSWER: of the request */
	struct amo_request amo; /* atomics */
	struct cqe_node *event; /* ANSWER to a READ: reserved for REMOTE_READ, or NULL: nobody wants to know */
	struct weft_cqe cqe;    /* ANSWER: what will stand in it */
};

/* What a message that arrives has beyond its rx_msg when it is for memory or announced. Lives in the engine's pool. */
struct rx_rma {
	uint8_t opcode; /* enum wire_op */
	uint8_t generation;
	bool ordered;       /* executed as a whole in its turn; otherwise placed on arrival */
	bool done;          /* was executed */
	bool broke;         /* its region did, when a request without an answer was executed */
	bool announced;     /* a message to be fetched */
	bool asked_again;   /* announced: our READ of it was repeated on another connection */
	uint16_t announcer; /* endpoint to fetch it from */
	uint16_t pdc_id;    /* announced: PDCID of the connection that brought it ... */
	uint32_t pdc_psn;   /* ... and its Start_PSN */
	uint64_t raddr, key;
	uint64_t serial; /* of the region, when the first packet came */
	uint32_t length; /* request_length */
	uint32_t job_id;
	struct cqe_node *event; /* not of a READ: reserved for REMOTE_*, or NULL */
	struct tx_msg *ask;     /* announced: our READ of it, or NULL */
	struct list answers;    /* of a READ: those that wait for its turn, run.link */
	uint32_t piece_bytes;   /* of a READ: asked for by each packet but the last; 0: not known yet */
	uint32_t last_at;       /* of a READ: where the part of the last packet begins, once that is here ... */
	uint32_t last_psn;      /* ... and its PSN */
	bool has_last;
	bool first_waits;       /* of a READ: the first packet is here, and what it asks for is not known yet */
	uint32_t first_psn;     /* its PSN */
	struct amo_request amo; /* atomics */
};

/* ---- rma_tx.c ---- */

/* Makes `m`, just filled in from `op`, one of these. False: no memory. */
bool rma_tx_attach(struct ses *ses, struct pdc_tx *p, struct tx_msg *m, const struct weft_op *op);
/* See pds_events.on_restart: announced messages of the connection become plain ones, where peers may be others than
 * Wefts. */
bool rma_tx_restarted(void *ses, struct pdc_tx *p);
/* The errno that a completion tells of a return code. */
int rma_errno(uint8_t return_code);

/* ---- answer_rx.c ---- */

/* An answer to us that came in an acknowledgement, which is processed after that. */
void answer_rx_in_ack(void *ses, struct tx_run *run, const struct wire_view *v, const uint8_t *payload);
/* One packet of an answer to us. */
void answer_rx(struct ses *ses, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload);

/* ---- rma_answer.c ---- */

/* An answer to a packet of the request `m`, with `copy_bytes` of memory of its own at ->copy, which will be freed with
 * it. NULL: no memory, later. The caller fills in run.buf and run.bytes, and queues it or drops it. */
struct tx_msg *rma_answer_new(struct ses *ses, const struct rx_msg *m, uint64_t copy_bytes);
void rma_answer_queue(struct ses *ses, const struct rx_msg *m, struct tx_msg *answer);
void rma_answer_drop(struct ses *ses, struct tx_msg *answer);
/* It no longer counts; the caller frees it. */
void rma_answer_done(struct ses *ses, const struct tx_msg *answer);

/* ---- rma_read.c ---- */

/* One packet of a READ. enum pds_taken. */
int rma_read_packet(struct ses *ses, struct rx_msg *m, const struct wire_view *v, bool turn);
/* The turn has come: what was asked for is answered. */
void rma_read_turn(struct ses *ses, struct rx_msg *m);

/* ---- rma_rx.c ---- */

static inline bool rma_is_atomic(uint8_t opcode)
{
	return opcode == WIRE_OP_ATOMIC || opcode == WIRE_OP_FETCHING_ATOMIC;
}

/* What the region must allow, WEFT_MR_*. */
static inline uint8_t rma_access(uint8_t opcode, const struct amo_request *q)
{
	if (rma_is_atomic(opcode))
		return rma_amo_access(q, opcode == WIRE_OP_FETCHING_ATOMIC);
	return opcode == WIRE_OP_READ ? WEFT_MR_READ : WEFT_MR_WRITE;
}

bool rma_is_request(uint8_t opcode);
uint8_t rma_rx_sane(const struct wire_view *v); /* enum wire_rc: whether a request makes sense in itself */
/* enum wire_rc: whether the request may be carried out. */
uint8_t rma_rx_check(struct ses *ses, const struct weft_ep *ep, const struct weft_ip *from, const struct wire_std *h);
bool rma_rx_attach(struct ses *ses, struct rx_msg *m, const struct wire_view *v); /* false: no memory */
/* One packet; `turn`: every earlier message has ended. enum pds_taken. */
int rma_rx_packet(struct ses *ses, struct rx_msg *m, const struct wire_view *v, const uint8_t *payload, bool turn);

/* ---- rma_exec.c ---- */

/* The region of a request, if it is still the one its first packet was for; else NULL and enum wire_rc in `rc`. */
struct weft_mr *rma_region(struct ses *ses, const struct rx_msg *m, struct mr_range range, uint8_t *rc);
/* Whether somebody at the target wants to know of a request on this region. */
bool rma_wants_event(const struct rx_msg *m, const struct weft_mr *mr);
/* The completion that tells. `kind`: enum weft_op_kind. */
struct weft_cqe rma_event(const struct rx_msg *m, uint8_t kind, uint64_t len, const struct weft_mr *mr);
/* Reserves what the end of a write or an atomic needs, before its bytes are taken. False: no memory. */
bool rma_event_reserve(struct ses *ses, struct rx_msg *m, const struct weft_mr *mr);
/* The turn has come and all is here, at `payload` or placed already. False: no memory, later. */
bool rma_rx_execute(struct ses *ses, struct rx_msg *m, const uint8_t *payload);
/* A fetching atomic of few bytes, in its only packet, whose turn has come, is executed, and the acknowledgement has
 * what was there. False: it is not one, there is no place for that; nothing has been done. */
bool rma_fetch_in_ack(struct ses *ses, struct rx_msg *m, const struct wire_view *v, const uint8_t *payload);

/* ---- rma_local.c ---- */

/* Operations of our own engine's endpoints on each other. False: no memory, later. */
bool rma_local(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to);

#endif
