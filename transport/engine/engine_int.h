/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the engine, shared by the files of this room only. One file per step:
 *   engine_rx    received burst -> steps below          pdc_tx   initiators: open, close, fail, timers
 *   ack_rx       ACK, NACK at the sender                pdc_rx   targets: accept, window, close
 *   loss         gaps, RTO, retransmission order        ack_tx   ACK and NACK generation
 *   engine_tx    scheduler, packet building, flush      msg_tx, msg_rx, match   messages and receives
 *   credit_tx, credit_rx   receiver-driven: demand and credit, pacer
 *   credit_sched_tx, credit_sched_rx   receiver-driven: credits that are scheduled, see credit_sched.h
 *   ep           endpoints, rings                       peer     addresses
 *   mr           memory regions                         rma_*, rndv   see rma.h                       */
#ifndef WEFT_ENGINE_INT_H
#define WEFT_ENGINE_INT_H

#include "credit_sched.h"
#include "likely.h"
#include "pdc.h"
#include "rma.h"
#include "rng.h"
#include "spsc.h"
#include "u64map.h"
#include "weft/engine.h"
#include "wire.h"

enum {
	ENGINE_BURST = 32,    /* packets per receive burst */
	ENGINE_OUT = 128,     /* packets built and not yet taken by the port */
	ENGINE_OUT_DATA = 64, /* data stops here, the rest is for ACKs and NACKs */
	ENGINE_SUBMIT = 64,   /* submissions per endpoint and poll */
	ENGINE_PDC_IDS = 65536,
	ACK_HEAD_BYTES = 20 + 8 + 32 + 12, /* headers of an ACK over IPv4 */
};

struct peer {
	uint32_t id;
	struct weft_addr addr;
	struct remote *remote;
};

/* One host we talk to. */
struct remote {
	struct weft_ip ip;
	struct pdc_tx *tx[2]; /* our connections to it, or NULL: the usual one, and that of background messages */
};

struct cqe_node {
	union {
		struct cqe_node *next;
		struct weft_ep *ep; /* whose completion waits in rx_msg.sent; NULL: it was closed */
	};
	struct weft_cqe cqe;
};

/* Receives and the messages they wait for. */
struct rx_side {
	struct list posted[2];     /* rx_req, by tagged */
	struct list unexpected[2]; /* rx_msg, by tagged */
	struct list claimed;       /* rx_msg */
};

struct weft_ep {
	struct list link; /* in the engine's list */
	struct weft_engine *e;
	uint16_t port;
	uint32_t scope; /* of the regions peers reach through us */
	bool events;    /* all access to them is reported */
	struct spsc sq, cq;
	void *sq_slots, *cq_slots;
	struct weft_op pending; /* popped, but there was no memory for it yet */
	bool has_pending;
	struct rx_side own;
	struct rx_side *rx; /* `own`, or that of the endpoint it shares receives with */
	bool is_dgram;      /* for datagrams only: no message is addressed to it */
	bool hidden;        /* its number is only the source of what it sends: nothing is addressed to it */
	struct cqe_node *overflow, **overflow_tail; /* completions waiting for room */
};

/* What every poll and packet touches comes first, what only set-up and the slow paths need last. */
struct weft_engine {
	struct weft_port *port;
	weft_ns due_ns;        /* what the last poll returned */
	_Atomic bool rung;     /* somebody submitted since the endpoints were last looked at */
	bool left_over;        /* an endpoint has a submission or completions that could not be dealt with */
	struct list eps;       /* endpoints */
	struct list ready;     /* pdc_tx that may have something to send, round robin */
	struct list ack_due;   /* pdc_rx that owe an ACK */
	weft_ns credit_due_ns; /* somebody's turn for credit; WEFT_NEVER: nobody wants any */

	struct pdc **pdcs;            /* by the low bits of their PDCIDs; NULL: free */
	struct pdc_rx *recent_syn;    /* got the last SYN, or NULL */
	uint32_t pdc_mask, pdc_count; /* entries, a power of two, less one; entries in use */
	uint32_t out_count;           /* packets in `out` */
	uint32_t out_refused;         /* the first of `out`: the port did not take them at the last flush */
	uint32_t spare_count;         /* packets in `spare` */
	uint32_t link_free_frac;      /* fraction of link_free_ns, 2^-20 ns */
	weft_ns link_free_ns;         /* when the link will have sent what it was given (pacing) */
	uint64_t link_pace;           /* 2^-20 ns per byte on our link; 0: no pacing */
	weft_ns link_ahead_ns;        /* the port may be given packets this long before the link is free */

	const struct weft_cc_ops *cc;
	const struct weft_lb_ops *lb;
	const struct weft_rcc_ops *rcc; /* NULL: packets need no credit */
	weft_ns grace_ns;               /* no RTO before this: we were polled late */
	bool put_off;                   /* grace has put off an expiry, and none was acted upon since */
	bool short_of_pkts;             /* an allocation failed in this poll */
	bool fetch_later;               /* one of `fetches` could not be begun */
	bool destroying;                /* nothing new is begun */
	bool short_of_mem;              /* a submission or a completion waits for memory or for room in its ring */
	bool more_submissions;          /* an endpoint had more than fit in this poll */
	bool shutting_down;             /* weft_engine_shutdown was called */
	uint8_t request_type;           /* PDS type of our data packets */
	uint8_t rx_flags;               /* PDS flags of the data packet being placed */
	bool is_v4;                     /* we are; peers are of the same family */
	bool has_hot;                   /* packets of the data path are those of wire_hot.h: IPv4, no trailers */
	bool has_hot_data;              /* data, too: they don't carry demand for credit */
	bool ack_each;                  /* every data packet is answered at once */
	uint32_t rx_mask;               /* bits of a receive window - 1 */
	struct weft_ip ip;              /* ours */
	weft_ns rto_ns;                 /* derived from the configuration, like the following */
	weft_ns reorder_ns, ack_delay_ns;
	uint32_t full_wire_bytes;         /* of a full data packet */
	uint32_t ask_below_bytes;         /* smaller windows hold too few packets for a coalesced ACK */
	uint8_t ask_shift;                /* one packet in cwnd_bytes / 2^n asks for an ACK; 0: see acks_per_window */
	uint32_t overhead_bytes;          /* wire bytes of a data packet without payload */
	struct wire_seen seen[2];         /* headers of the last data packet and ACK */
	uint8_t ack_head[ACK_HEAD_BYTES]; /* template of ACKs over IPv4, to where the last one went */
	struct weft_trace_ops trace;
	struct weft_engine_tune tune;
	struct weft_stats stats;

	struct weft_pkt *spare[ENGINE_BURST];      /* empty packets, fetched in bulk */
	struct weft_pkt *out[ENGINE_OUT];          /* what is about to leave */
	struct wire_pkt data_scratch, ack_scratch; /* packet being encoded; fields that never change stay set */
	struct wheel wheel;

	/* tables */
	struct weft_mem mem;
	struct rng rng;
	struct weft_cc_params cc_params;
	struct weft_lb_params lb_params, background_lb_params;
	const struct weft_lb_ops *background_lb; /* of WEFT_OP_BACKGROUND; may be lb */
	uint8_t data_dscp[2];                    /* of data, by whether its connection is that */
	struct weft_cc_params rcc_params;
	struct weft_rcc_limits credit_limits;
	struct list credit_wanting; /* pdc_rx whose senders want credit, in the order of their turns */
	weft_ns credit_free_ns;     /* when all credit given so far will have been used at the pace of our link */
	uint32_t credit_free_frac;  /* fraction of it, 2^-20 ns */
	struct sched *sched;        /* owned; NULL: the algorithm does not schedule */
	void *cc_tune, *lb_tune, *background_lb_tune, *rcc_tune; /* owned */
	struct pdc *no_pdc;                                      /* the table `pdcs` until there is a connection */
	uint16_t pdc_cursor;                                     /* the PDCID handed out last */
	struct u64map syns;                                      /* pdc_rx by (initiator, its PDCID) */
	struct u64map remotes;                                   /* struct remote by IP */
	struct u64map peer_ids;                                  /* struct peer by address */
	struct u64map rx_msgs;                                   /* rx_msg by (our PDCID, message id) */
	struct peer **peers;                                     /* by id */
	uint32_t peer_count, peer_room;
	struct list txs, rxs;
	struct pool tx_msgs, rx_msg_pool, rx_reqs, cqe_nodes;
	struct list dgrams; /* datagrams that the port may still have to take */
	struct pool dgram_pool;
	struct pool windows; /* bitmaps of targets that have a hole */
	struct sendq_mem sendq_mem;
	struct u64map mrs; /* struct weft_mr by scope and key */
	uint64_t mr_serial;
	struct rma_table asks; /* messages that wait for an answer, or to be fetched */
	struct pool tx_rmas, rx_rmas;
	uint32_t answers;          /* under way */
	struct list fetches;       /* announced rx_msgs that are being fetched */
	struct list stuck;         /* pdc_rx with a request whose turn has come and that there was no memory for */
	weft_ns now_ns;            /* of the latest poll */
	uint64_t unexpected_bytes; /* bounce memory in use */
};

static inline size_t pdc_tx_bytes(const struct weft_lb_ops *lb, const struct weft_lb_params *params)
{
	return offsetof(struct pdc_tx, lb) + sizeof(struct weft_lb) + weft_lb_state_bytes(lb, params);
}

static inline size_t pdc_rx_bytes(const struct weft_engine *e)
{
	if (!e->rcc)
		return offsetof(struct pdc_rx, credit);
	return sizeof(struct pdc_rx) + (e->sched ? sched_rx_bytes(e) : 0);
}

/* engine_tx.c */
struct weft_pkt *engine_pkt(struct weft_engine *e); /* a packet to fill, or NULL (counted) */
void engine_send(struct weft_engine *e, struct weft_pkt *pkt, const struct wire_pkt *w,
		 weft_ns now); /* encodes w and queues pkt */
/* Sends ack_scratch: a packet without payload. */
void engine_send_control(struct weft_engine *e, struct weft_pkt *pkt, weft_ns now);
void engine_tx(struct weft_engine *e, weft_ns now);
void engine_flush(struct weft_engine *e);
void engine_forget(struct weft_engine *e, const uint8_t *buf,
		   uint32_t bytes); /* drops packets that wait for the port and point into the buffer */
weft_ns engine_tx_next(const struct weft_engine *e, weft_ns now);
void pdc_tx_ready(struct weft_engine *e, struct pdc_tx *p);

/* engine_rx.c */
void engine_rx(struct weft_engine *e, struct weft_pkt **pkts, uint16_t n, weft_ns now);

/* pdc_tx.c */
struct pdc_tx *pdc_tx_get(struct weft_engine *e, struct remote *remote, bool background,
			  weft_ns now);                             /* existing or new; NULL: no memory */
void pdc_tx_fail(struct weft_engine *e, struct pdc_tx *p, int err); /* completes everything with err, frees p */
void pdc_tx_free(struct weft_engine *e, struct pdc_tx *p);
void pdc_tx_arm(struct weft_engine *e, struct pdc_tx *p, weft_ns now); /* timer at the earliest deadline */
void pdc_tx_timer(struct weft_engine *e, struct pdc_tx *p, weft_ns now);
void pdc_tx_wanted(struct weft_engine *e, struct pdc_tx *p); /* before a message is queued: if it is the first */
void pdc_tx_idle(struct weft_engine *e, struct pdc_tx *p,
		 weft_ns now); /* everything acknowledged: drop memory, maybe close */
void pdc_tx_closed(struct weft_engine *e, struct pdc_tx *p, weft_ns now);  /* CLOSE_CMD acknowledged; may free p */
bool pdc_tx_restart(struct weft_engine *e, struct pdc_tx *p, weft_ns now); /* false: tried too often, or no memory */
void pdc_tx_cp(struct weft_engine *e, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now);
void pdc_tx_shutdown(struct weft_engine *e, struct pdc_tx *p, weft_ns now);
void pdc_tx_settle(struct weft_engine *e, struct pdc_tx *p, weft_ns now); /* a message ended without an ACK */

/* pdc_id.c */
void pdc_ids_init(struct weft_engine *e);
void pdc_ids_fini(struct weft_engine *e);
bool pdc_id_take(struct weft_engine *e, struct pdc *pdc); /* false: none free, or no memory */
void pdc_id_put(struct weft_engine *e, struct pdc *pdc);
static inline struct pdc *pdc_by_id(const struct weft_engine *e, uint16_t id)
{
	struct pdc *pdc = e->pdcs[id & e->pdc_mask];
	return pdc && pdc->id == id ? pdc : NULL;
}

/* A connection of ours with this PDCID, or NULL. */
static inline struct pdc_tx *pdc_tx_by_id(const struct weft_engine *e, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(e, id);
	return likely(pdc && !pdc->is_rx) ? list_entry(pdc, struct pdc_tx, pdc) : NULL;
}

/* A connection to us with this PDCID, or NULL. */
static inline struct pdc_rx *pdc_rx_by_id(const struct weft_engine *e, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(e, id);
	return likely(pdc && pdc->is_rx) ? list_entry(pdc, struct pdc_rx, pdc) : NULL;
}

/* The connection of ours that a packet answers, or NULL. */
static inline struct pdc_tx *pdc_tx_of(const struct weft_engine *e, const struct wire_pkt *w)
{
	struct pdc_tx *p = pdc_tx_by_id(e, w->pds.dpdcid);
	return p && weft_ip_eq(&p->ip, &w->net.src) ? p : NULL;
}

/* The first answer names the target's PDCID; later ones must agree: false, it is from another target. From then on the
 * target may have delivered anything that was on its way, whatever it said of it, or another one before it was
 * restarted may have. */
static inline bool pdc_tx_learn_target(struct pdc_tx *p, const struct wire_pkt *w)
{
	if (likely(p->state != PDC_TX_SYN))
		return p->remote_id == w->pds.spdcid;
	if (!w->pds.spdcid)
		return false;
	p->remote_id = w->pds.spdcid;
	p->state = PDC_TX_OPEN;
	p->heard = true;
	return true;
}

/* loss.c */
void loss_mark(struct weft_engine *e, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now);
void loss_resend(struct weft_engine *e, struct pdc_tx *p,
		 uint32_t psn); /* in flight -> lost; with go_back_n all behind it, too */
void loss_by_gap(struct weft_engine *e, struct pdc_tx *p, weft_ns now);
void loss_by_timeout(struct weft_engine *e, struct pdc_tx *p, weft_ns now);
void loss_rtt(struct weft_engine *e, struct pdc_tx *p, weft_ns rtt_ns, weft_ns now);
void loss_undone(struct weft_engine *e, struct pdc_tx *p, const struct sent *s,
		 weft_ns now); /* its first transmission arrived: the RTT is longer than the timeout was */
weft_ns loss_rto(const struct weft_engine *e, const struct pdc_tx *p, const struct sent *s);
weft_ns loss_deadline(const struct weft_engine *e, const struct pdc_tx *p);
void lb_feedback(struct weft_engine *e, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb, weft_ns now);

/* credit_tx.c */
void credit_tx_start(const struct weft_engine *e, struct pdc_tx *p);
void credit_tx_idle(const struct weft_engine *e, struct pdc_tx *p); /* all acknowledged: the first window is new */
void credit_tx_queued(const struct weft_engine *e, struct pdc_tx *p, const struct tx_msg *m);
void credit_tx_dropped(const struct weft_engine *e, struct pdc_tx *p,
		       const struct tx_msg *m); /* what is not cut of it never will be */
/* The record is sent: what the packet says about credit. */
void credit_tx_fill(struct weft_engine *e, struct pdc_tx *p, struct sent *s, struct wire_pkt *w, weft_ns now);
void credit_tx_blocked(struct weft_engine *e, struct pdc_tx *p, weft_ns now); /* only credit is missing */
void credit_tx_timer(struct weft_engine *e, struct pdc_tx *p, weft_ns now);   /* ask_at_ns has come */
void credit_tx_lost(const struct weft_engine *e, struct pdc_tx *p, const struct sent *s, enum weft_cc_loss_kind kind);
void credit_tx_granted(struct weft_engine *e, const struct wire_pkt *w, weft_ns now);
static inline bool credit_tx_allows(struct pdc_tx *p, uint32_t bytes) /* a packet of so many */
{
	if (p->credit.sched)
		return sched_tx_allows(p, bytes);
	return p->credit.balance_bytes + p->credit.first_bytes > 0;
}

/* credit_rx.c; all but credit_rx_due and credit_rx_request only while e->rcc */
void credit_rx_start(struct weft_engine *e, struct pdc_rx *p, weft_ns now);
void credit_rx_stop(struct weft_engine *e, struct pdc_rx *p); /* no more turns; harmless without e->rcc */
void credit_rx_demand(struct weft_engine *e, struct pdc_rx *p, uint32_t total, weft_ns now);
void credit_rx_data(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now);
void credit_rx_request(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now);
void credit_rx_due(struct weft_engine *e, weft_ns now);

/* ack_rx.c */
void ack_rx(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now);
/* A packet that is WIRE_HOT_ACK at a glance. False: not an ACK of the usual kind, and nothing has been done. */
bool ack_rx_hot(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now);
void nack_rx(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now);

/* ack_tx.c */
void ack_data(struct weft_engine *e, struct pdc_rx *p, bool at_once, weft_ns now); /* new data arrived */

/* shim.c, with reorder_shim_ns, after the trigger, new data, was taken over. True: the shim keeps it to itself or has
 * answered as much as the sender may know, and the caller answers nothing; false: it is to be answered as usual. */
bool shim_holds(struct weft_engine *e, struct pdc_rx *p, weft_ns now);

void ack_again(struct weft_engine *e, struct pdc_rx *p, weft_ns now); /* anything else that wants an answer at once */
void ack_hot(struct weft_engine *e, struct pdc_rx *p,
	     weft_ns now); /* the same with has_hot, no responses, not closed */
void ack_flush(struct weft_engine *e, struct pdc_rx *p, weft_ns now);
void ack_due(struct weft_engine *e, weft_ns now); /* those that found no packet earlier */
void ack_probe(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *probe,
	       weft_ns now);
void nack_send(struct weft_engine *e, const struct wire_pkt *refused, uint16_t our_id, uint8_t code, weft_ns now);

/* pdc_rx.c */
/* A packet that is WIRE_HOT_DATA at a glance. False: not of a message under way in the ordinary course of its
 * connection, and nothing has been done. */
bool pdc_rx_hot(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now);
void pdc_rx_request(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now);
void pdc_rx_control(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now);
void pdc_rx_timer(struct weft_engine *e, struct pdc_rx *p, weft_ns now);
void pdc_rx_give_up(struct weft_engine *e, struct pdc_rx *p, weft_ns now); /* what it brings is refused from now on */
void pdc_rx_free(struct weft_engine *e, struct pdc_rx *p);
void pdc_rx_ack_at(struct weft_engine *e, struct pdc_rx *p, weft_ns at);

/* msg_tx.c */
bool msg_tx_start(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op,
		  weft_ns now);                                            /* false: no memory, later */
uint16_t msg_tx_room(const struct weft_engine *e, const struct tx_msg *m); /* payload bytes of the next packet */
void msg_tx_cut(struct pdc_tx *p, struct tx_msg *m, struct sent *s, uint16_t payload_len);
void msg_tx_ses(const struct tx_msg *m, const struct sent *s, struct wire_ses *ses);
void msg_tx_all_acked(struct weft_engine *e, struct tx_msg *m);
static inline void msg_tx_acked(struct weft_engine *e, struct tx_msg *m) /* one packet of it */
{
	if (unlikely(!--m->unacked_pkts && m->cut))
		msg_tx_all_acked(e, m);
}
void msg_tx_abort(struct weft_engine *e, struct pdc_tx *p, struct tx_msg *m,
		  int err); /* completes once nothing is in flight */
/* The endpoint closes: the rest is sent from a copy, for the buffer is the application's again. False: no memory. */
bool msg_tx_detach(struct weft_engine *e, struct tx_msg *m);
void msg_tx_drop(struct weft_engine *e, struct tx_msg *m, int err); /* completes now */
void msg_tx_complete(struct weft_engine *e, struct tx_msg *m);
void msg_tx_queue(struct weft_engine *e, struct pdc_tx *p, struct tx_msg *m); /* the newest of the connection */
void msg_tx_take_turns(struct pdc_tx *p); /* the next packet is one of the other kind, if there is any */

/* msg_rx.c */
enum { MSG_RX_OK = 0, MSG_RX_NO_MEM = -1 };
/* A packet of a plain message that has a place for it; the other fields of `m` say nothing against it then. */
static inline bool msg_rx_expects(const struct rx_msg *m, const struct wire_pkt *w)
{
	uint64_t end = (uint64_t)w->ses.message_offset + w->payload_bytes;
	return m->message_id == w->ses.message_id && m->plain_op == w->ses.opcode &&
	       m->bytes == w->ses.request_length && w->payload_bytes && w->ses.payload_length == w->payload_bytes &&
	       end <= m->bytes && (m->direct || m->bounce);
}
/* What it brings; may free `m`. */
void msg_rx_take(struct weft_engine *e, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len);
int msg_rx_packet(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w,
		  const uint8_t *payload); /* or enum wire_rc; a refused packet may be given again */
bool msg_rx_local(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op,
		  const struct weft_addr *to); /* to ourselves */
/* A message that is all here, as `op` describes it, to `to`. False: no memory. */
bool msg_rx_whole(struct weft_engine *e, struct weft_ep *to, uint32_t peer, const struct weft_op *op);
void msg_rx_fail(struct weft_engine *e, struct pdc_rx *p, int err); /* the sender is gone */
void msg_rx_matched(struct weft_engine *e, struct rx_msg *m);       /* an unexpected message has found its receive */
void msg_rx_discard(struct weft_engine *e, struct rx_msg *m);
void msg_rx_turns(struct weft_engine *e, struct pdc_rx *p); /* what waits for its turn, if that has come */
void msg_rx_place(struct rx_msg *m, uint64_t offset, const uint8_t *payload, uint32_t len); /* of a fetched one */
void msg_rx_fetched(struct weft_engine *e, struct rx_msg *m, int err);                      /* all of it is here */
bool msg_rx_bounce(struct weft_engine *e, struct rx_msg *m);                                /* false: no memory */
void msg_rx_free(struct weft_engine *e, struct rx_msg *m);
void msg_rx_sender_closes(struct list *msgs, const struct weft_ep *ep);
void msg_rx_stuck(struct weft_engine *e, struct pdc_rx *p);
void msg_rx_retry(struct weft_engine *e); /* those stuck */

/* match.c */
bool match_recv(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op);
bool match_peek(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op);
void match_cancel(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op);
/* The first receive that wants `m`, taken off the list unless there is room for more; false: none. */
bool match_posted(struct weft_engine *e, struct rx_msg *m);
/* The message that has a receive ends so; sets kind, context and what else concerns the receive. */
void match_done(struct weft_engine *e, struct rx_msg *m, struct weft_cqe cqe);
/* An endpoint closes. True: the message was for it and is to be thrown away; whoever shares its receive may use that
 * again. */
bool match_detach(struct weft_engine *e, struct rx_msg *m, const struct weft_ep *ep);
void match_drop(struct weft_engine *e, struct list *reqs); /* receives whose endpoint closes */

/* ep.c */
struct weft_ep *ep_find(struct weft_engine *e, uint16_t port);
void ep_submissions(struct weft_engine *e, struct weft_ep *ep, weft_ns now);
struct cqe_node *ep_reserve(struct weft_engine *e); /* room for one completion, whatever happens; NULL: no memory */
void ep_complete(struct weft_engine *e, struct weft_ep *ep, struct cqe_node *node,
		 const struct weft_cqe *cqe); /* uses node up; ep may be NULL */
void ep_complete_recv(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req,
		      struct weft_cqe cqe); /* sets kind and context, frees req */
void ep_flush_cq(struct weft_engine *e, struct weft_ep *ep);
void ep_free(struct weft_ep *ep);

/* peer.c */
struct peer *peer_get(const struct weft_engine *e, uint32_t id);
void peers_fini(struct weft_engine *e);
uint64_t ip_key(const struct weft_ip *ip, uint64_t extra);

#endif
