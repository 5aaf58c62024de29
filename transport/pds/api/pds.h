/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet delivery: moves numbered packets reliably over connections (pdc.h) and knows nothing of messages. Whoever has
 * messages calls down into it; it reaches upwards only through the table it was given. */
#ifndef WEFT_PDS_H
#define WEFT_PDS_H

#include "credit.h"
#include "csprng.h"
#include "event_ring.h"
#include "out_batch.h"
#include "pdc.h"
#include "rate.h"
#include "rng.h"
#include "sharers.h"
#include "siphash.h"
#include "u64map.h"
#include "weft/engine.h"
#include "weft/view.h"
#include "wheel.h"
#include "wire_check.h"
#include "wire_share.h"

/* What on_data says of a packet. */
enum pds_taken {
	PDS_TAKEN = 0,             /* it is where it belongs */
	PDS_NO_MEM = -1,           /* refused for now; it may come again */
	PDS_UNPROVEN_ADDRESS = -2, /* the same, until its initiator has shown that its address is its own */
				   /* > 0: refused for good, enum wire_rc */
};

/* What PDS asks and tells. `ses` is pds.ses. All of it happens within a call into PDS, and may call into PDS. */
struct pds_events {
	/* Builds the SES header of a packet of this run at `at`, and says in `next_hdr` which form it has. Returns its
	 * end. It is the first transmission of the run's first packet when s->offset and s->tries are 0. */
	uint8_t *(*next_segment)(struct pdc_tx *p, struct tx_run *run, const struct sent *s, uint8_t *at,
				 uint8_t *next_hdr);
	/* Every packet of the run was cut and acknowledged. */
	void (*on_acked)(void *ses, struct pdc_tx *p, struct tx_run *run);
	/* A packet of the run was taken, but its content refused: the response. */
	void (*on_refused)(void *ses, struct pdc_tx *p, struct tx_run *run, const struct wire_rsp *rsp);
	/* The acknowledgement of a packet of the run, which has not been acknowledged before, brings an answer with
	 * data: WIRE_NH_RSP_DATA, with as much payload as it says. */
	void (*on_answer)(void *ses, struct tx_run *run, const struct wire_view *v, const uint8_t *payload);
	/* An ACK was processed, and pdc_tx.held is not 0. */
	void (*on_progress)(void *ses, struct pdc_tx *p);
	/* All messages are about to start over, with a target that knows nothing of this connection. False: they
	 * cannot, something of them was delivered. */
	bool (*on_restart)(void *ses, struct pdc_tx *p);
	/* The connection is about to go, with all that is in pdc_tx.runs; SES takes the runs out (pdc_tx_remove). */
	void (*on_failed)(void *ses, struct pdc_tx *p, int err);

	/* A new connection: SES sets up pdc_rx.user, which is 0. */
	void (*on_accept)(void *ses, struct pdc_rx *p);
	/* A packet that is new and whole. enum pds_taken. */
	int (*on_data)(void *ses, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload);
	/* The same for WIRE_KIND_DATA without SOM, if it belongs to a message under way: SES header, payload, PDS
	 * flags. False: it does not, and nothing has been done. */
	bool (*on_more_data)(void *ses, struct pdc_rx *p, const struct wire_std *h, const uint8_t *payload,
			     uint32_t len, uint8_t flags);
	/* All packets before pdc_rx.win.next_expected are here now, later than some of those behind the last of them
	 * that was missing. */
	void (*on_hole_closed)(void *ses, struct pdc_rx *p);
	/* No more data will come over this connection: `err` for messages that are not complete. It may live on, and
	 * this may come twice. */
	void (*on_shut)(void *ses, struct pdc_rx *p, int err);
};

/* When data packets are answered. */
enum pds_ack_policy {
	PDS_ACK_SHARED, /* several at once, or held back: see ack_data */
	PDS_ACK_EACH,   /* every one, at once, from the template */
};

/* Fixed once the engine is set up. */
struct pds_conf {
	const struct weft_cc_ops *cc;
	const struct weft_lb_ops *lb;
	bool is_v4;               /* we are; peers are of the same family */
	bool has_templates;       /* headers of usual packets may be patched copies: IPv4 */
	uint8_t encap;            /* of what we begin, unless the peer has shown another, enum wire_encap */
	uint8_t ack_policy;       /* enum pds_ack_policy */
	uint8_t request_type;     /* PDS type of our data packets */
	uint8_t data_dscp[2];     /* of data, by whether its connection is of the background */
	uint8_t ask_shift;        /* one packet in cwnd_bytes / 2^n asks for an ACK; 0: see acks_per_window */
	struct weft_ip ip;        /* ours */
	weft_ns rto_ns;           /* derived from the configuration, like the following */
	weft_ns first_rto_ns;     /* before the first RTT sample, if longer */
	uint32_t rto_srtts;       /* the largest recent RTT is that of so many smoothed RTTs at least */
	weft_ns reorder_ns;       /* overtaken for so long is lost */
	weft_ns ack_delay_ns;     /* longest wait of a coalesced ACK */
	uint32_t full_wire_bytes; /* of a full data packet */
	uint32_t overhead_bytes;  /* wire bytes of a data packet without payload */
	uint32_t most_pkts;       /* PSNs beyond a target's CACK, whatever it accepts; see pds_window */
	uint32_t sure_bytes;      /* payload that every path carries: of full packets until it is known better */
	uint32_t ask_below_bytes; /* smaller windows hold too few packets for a coalesced ACK */
	struct weft_engine_tune tune;
	struct weft_cc_params cc_params;
	struct weft_lb_params lb_params, background_lb_params;
	const struct weft_lb_ops *background_lb;      /* of background connections; may be lb */
	void *cc_tune, *lb_tune, *background_lb_tune; /* owned */
};

struct pds_timers {
	weft_ns grace_ns;     /* no RTO before this: we were polled late */
	weft_ns stall_ns;     /* since when the port has taken no packet of those that wait; 0: it has */
	weft_ns full_ns;      /* no RTO before this: packets waited here, not in the network */
	bool put_off;         /* grace has put off an expiry, and none was acted upon since */
	weft_ns ev_probes_ns; /* no probes of entropies before this, but for those of timeouts */
	struct wheel wheel;
};

/* What every poll and packet touches comes first, what only set-up and the slow paths need last. */
struct pds {
	const struct pds_events *events;
	void *ses;           /* argument of the events */
	struct list ready;   /* pdc_tx that may have something to send, round robin */
	struct list ack_due; /* pdc_rx that owe an ACK */
	struct pdc_ids ids;
	struct pdc_rx *recent_syn; /* got the last SYN, or NULL */
	bool recorded;             /* `recorder` is in use */
	struct rxwin_mem win;
	uint8_t ack_head[WIRE_ACK_BYTES];             /* template of ACKs over IPv4, to where the last one went */
	uint8_t short_ack_head[WIRE_SHORT_ACK_BYTES]; /* the same of ACKs without congestion state and response */
	struct recorder recorder;
	struct weft_trace_ops trace;
	struct pds_conf conf;
	struct weft_stats stats; /* of all rooms of the engine */
	struct out_batch out;
	struct pds_timers timers;
	struct credit credit;
	struct sharers sharers; /* of our link, as a target */

	struct weft_mem mem;
	struct rng rng;              /* for what may be guessed */
	struct csprng secret_rng;    /* with has_secret: for what must not be */
	struct siphash_key hash_key; /* of maps whose keys peers choose; a constant without a secret */
	bool has_secret;
	uint32_t busy_conns;     /* connections with runs or packets that are not done: pdc_tx.busy */
	uint32_t half_open;      /* connections to us that are PDC_UNPROVEN */
	weft_ns asking_until_ns; /* new connections are asked for a Start_PSN until then, see validate.h */
	struct list txs, rxs;    /* all connections */
	struct u64map syns;      /* pdc_rx by (initiator, its PDCID) */
	struct u64map remotes;   /* struct remote by IP */
	struct sendq_mem sendq_mem;
	bool shutting_down; /* idle connections close */
	struct rate rate;   /* meaningful unless the rate was told (conf.tune.probe_rate) */
};

/* ---- what the engine calls ---- */

/* `pds` is zeroed, and conf, credit.rcc, out.port, mem, rng and trace are set. */
void pds_init(struct pds *pds, const struct pds_events *events, void *ses, weft_ns now);
/* The rest, when the configuration has been derived. -ENOMEM. */
int pds_start(struct pds *pds, weft_ns now);
/* No connection is left. */
void pds_fini(struct pds *pds);

/* Packets that were received, by kind: usual DATA; DATA, READ_DATA and TRIMMED; CP; ACK; NACK. */
void pds_rx_data(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now);
void pds_rx_request(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now);
void pds_rx_control(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now);
void pds_rx_ack(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now);
void pds_rx_nack(struct pds *pds, const struct wire_view *v, weft_ns now);

void pds_poll_timers(struct pds *pds, weft_ns now); /* what is due */
void pds_poll_acks(struct pds *pds, weft_ns now);   /* ACKs that were put off, and credit */
void pds_poll_tx(struct pds *pds, weft_ns now);     /* data, and everything to the port */
/* When to poll again. `short_of_mem`: somebody above us waits for memory, too. */
weft_ns pds_next(const struct pds *pds, bool short_of_mem, weft_ns now);

/* Polled much later than asked: whatever arrived meanwhile must be looked at before anything counts as lost, and a long
 * pause of ours is no silence of our peers. */
void pds_note_lateness(struct pds *pds, weft_ns due_ns, weft_ns now);
void pds_shutdown(struct pds *pds, weft_ns now);
bool pds_is_quiet(const struct pds *pds);

/* ---- what SES calls ---- */

/* The host with this address, made when it is new. NULL: no memory. */
struct remote *pds_remote(struct pds *pds, const struct weft_ip *ip);
/* It wraps what it begins so (enum wire_encap), and so do we from now on: connections that it has not answered yet,
 * which it may not understand, and new ones. */
void remote_heard(struct remote *r, uint8_t encap);
/* The same of the host with this address. */
void pds_heard(struct pds *pds, const struct weft_ip *ip, uint8_t encap);
/* Our connection to it, existing or new. NULL: no memory. */
struct pdc_tx *pdc_tx_get(struct pds *pds, struct remote *remote, bool background, weft_ns now);
/* A new one for one run, which the caller queues at once; it closes when the run has ended. NULL: no memory. */
struct pdc_tx *pdc_tx_apart(struct pds *pds, struct remote *remote, bool background, weft_ns now);
/* The direction in which a connection of its initiator takes our answers, existing or new. NULL: no memory, or closed.
 */
struct pdc_tx *pdc_tx_return(struct pds *pds, struct pdc_rx *rx, weft_ns now);
/* The acknowledgement of this packet, which on_data is being asked about and takes, will have data, 1 to RXWIN_DATA_MAX
 * bytes: returns where they go. It is kept until the initiator confirms it. NULL: no place. */
uint8_t *pdc_rx_keep_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint32_t bytes);
/* Adds a run: the newest of the connection. */
void pdc_tx_queue(struct pds *pds, struct pdc_tx *p, struct tx_run *run, weft_ns now);
/* Nothing more is cut from the run; it ends once nothing of it is in flight. */
void pdc_tx_abandon(struct pds *pds, struct pdc_tx *p, struct tx_run *run);
/* What an unfinished run waits for, enum weft_op_wait. */
uint8_t pds_run_waits(const struct pds *pds, const struct pdc_tx *p, const struct tx_run *run, weft_ns now);
/* A run that has ended is sent once more, behind all others; the connection waits an RTO first, doubled so often. */
void pdc_tx_queue_again(struct pds *pds, struct pdc_tx *p, struct tx_run *run, uint32_t doublings, weft_ns now);
/* The run has ended. */
void pdc_tx_remove(struct pdc_tx *p, struct tx_run *run);
/* A run ended without an ACK: others may have waited for it. */
void pdc_tx_settle(struct pds *pds, struct pdc_tx *p, weft_ns now);
/* Ends all runs with `err` and frees `p`. */
void pdc_tx_fail(struct pds *pds, struct pdc_tx *p, int err);
/* What the connection brings is refused from now on. */
void pdc_rx_give_up(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* The same with the connection that had this PDCID and this Start_PSN, if it is still there. */
void pdc_rx_give_up_id(struct pds *pds, uint16_t id, uint32_t start_psn, weft_ns now);
/* The same with all connections that a host has opened to us: we cannot reach it. */
void pdc_rx_give_up_host(struct pds *pds, const struct weft_ip *ip, weft_ns now);
void pdc_rx_free(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* All connections end, ours and those of peers, and with them their messages: `err`. */
void pds_fail(struct pds *pds, int err, weft_ns now);
/* The fabric does not limit credits, and the algorithm insists on that: nothing new is begun. */
bool pds_refuses(const struct pds *pds);

/* Where packets of a connection of ours go, and answers on one to us. */
static inline struct out_to pdc_tx_way(const struct pdc_tx *p, uint16_t entropy)
{
	return (struct out_to){&p->ip, entropy, p->pdc.encap};
}

static inline struct out_to pdc_rx_way(const struct pdc_rx *p, uint16_t entropy)
{
	return (struct out_to){&p->ip, entropy, p->pdc.encap};
}

/* Of the PSNs that a target takes, so many that all packets can be numbered again in pieces, where the path carries no
 * larger ones (withdraw.h). */
static inline uint32_t pds_window(const struct pds *pds, uint32_t target_pkts)
{
	return target_pkts < pds->conf.most_pkts ? target_pkts : pds->conf.most_pkts;
}

/* IP bytes of a data packet without payload that is wrapped so. */
static inline uint32_t pds_ip_bytes(const struct pds *pds, uint8_t encap)
{
	uint8_t usual = pds->conf.encap;
	return pds->conf.overhead_bytes - WEFT_L1_OVERHEAD_BYTES + wire_trailer_bytes(encap) +
	       wire_encap_bytes(pds->conf.is_v4, encap) - wire_trailer_bytes(usual) -
	       wire_encap_bytes(pds->conf.is_v4, usual);
}

/* Where the payload of a packet begins. */
static inline const uint8_t *pds_payload(const struct weft_pkt *pkt, const struct wire_view *v)
{
	return pkt->head_len > v->header_bytes ? pkt->head + v->header_bytes : pkt->payload;
}

/* Whether a request that is fine has to wait until its initiator has shown that its address is its own: who lies about
 * it would have us send more than he did. */
bool validate_must_wait(const struct pdc_rx *p, const struct wire_view *v);

/* For PSNs, PDCIDs, tokens and keys. */
static inline uint64_t pds_unguessable(struct pds *pds)
{
	return pds->has_secret ? csprng_next(&pds->secret_rng) : rng_next(&pds->rng);
}

/* Whether a host takes what others refuse packet by packet. */
static inline bool pds_speaks_weft(const struct pds *pds, const struct remote *r)
{
	return pds->conf.tune.profile == WEFT_PROFILE_WEFT || (r && r->is_weft);
}

/* Whether messages may be announced over this connection, and whether announcements over it are those of a Weft. */
static inline bool pdc_tx_may_announce(const struct pds *pds, const struct pdc_tx *p)
{
	return pds->conf.tune.profile == WEFT_PROFILE_WEFT || p->speaks_weft;
}

/* The target may say what share of its link the connection has, and so may we. */
static inline bool pdc_tx_heeds_share(const struct pds *pds, const struct pdc_tx *p)
{
	return pdc_tx_may_announce(pds, p);
}

static inline bool pdc_rx_may_be_announced(const struct pds *pds, const struct pdc_rx *p)
{
	return pds->conf.tune.profile == WEFT_PROFILE_WEFT || p->speaks_weft;
}

/* What an ACK says of the link (wire_share.h). Strangers would take it for something else. */
static inline struct link_share pdc_rx_share(struct pds *pds, const struct pdc_rx *p)
{
	return pdc_rx_may_be_announced(pds, p) ? sharers_say(&pds->sharers)
					       : (struct link_share){WIRE_SHARE_NONE, false};
}

/* SES expects more of a message, so the initiator's silence means that it is gone; and later no more of it. */
static inline void pdc_rx_begin_msg(struct pds *pds, struct pdc_rx *p)
{
	if (!p->unfinished++)
		sharers_join(&pds->sharers);
}

static inline void pdc_rx_end_msg(struct pds *pds, struct pdc_rx *p)
{
	assert(p->unfinished > 0);
	if (!--p->unfinished)
		sharers_leave(&pds->sharers);
}

/* `our_id`: 0 when there is no connection. */
void nack_send(struct pds *pds, const struct wire_view *refused, uint16_t our_id, uint8_t code, weft_ns now);

/* Whether there is room for one more data packet; the rest is for ACKs. */
static inline bool pds_has_room(const struct pds *pds)
{
	return pds->out.count < OUT_DATA;
}

/* Whether this packet still waits for the port. */
static inline bool pds_is_queued(const struct pds *pds, const struct weft_pkt *pkt)
{
	return pds->out.count && out_holds(&pds->out, pkt);
}

/* The buffer is about to change hands: drops packets that the port refused and that point into it. */
static inline void pds_forget(struct pds *pds, const uint8_t *buf, uint64_t bytes)
{
	if (pds->out.refused)
		out_forget(&pds->out, buf, bytes);
}

#endif
