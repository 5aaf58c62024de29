/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet delivery contexts: UET's connections. A PDC carries requests from its initiator (pdc_tx) to its target
 * (pdc_rx), and answers with data in its return direction, whose PSNs are its own: there the target has a pdc_tx and
 * the initiator a pdc_rx. Two hosts that send to each other use one PDC each (UE 1.0 sec. 3.5;
 * doc/reference/protocol.md).
 */
#ifndef WEFT_PDC_H
#define WEFT_PDC_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "credit.h"
#include "path_mtu.h"
#include "pdc_id.h"
#include "rxwin.h"
#include "sendq.h"
#include "sharers.h"
#include "tx_run.h"
#include "weft/addr.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "wire.h"
#include "wire_check.h"
#include "wire_echo.h"

enum pdc_tx_state {
	PDC_TX_SYN, /* the target's PDCID is not known yet: every packet carries SYN (0-RTT) */
	PDC_TX_OPEN,
	PDC_TX_CLOSING, /* CLOSE_CMD sent */
};

/* What the next ACK is the time for. */
enum pdc_tx_chore {
	CHORE_BRTT = 1,  /* the base RTT is not known: probe, unless a probe is out */
	CHORE_PATH = 2,  /* the target is known now: what the path carries may be used, or looked for */
	CHORE_OFFER = 4, /* it has not said whether it is a Weft (offer.h) */
};

/* One host we talk to. */
struct remote {
	struct weft_ip ip;
	struct pdc_tx *tx[2];      /* our connections to it, or NULL: the usual one, and that of background messages */
	struct pdc_tx *conns;      /* all pdc_tx to it: these, those apart, and return directions of its connections */
	bool is_weft;              /* it has said so, over any connection, see offer.h */
	uint8_t offers;            /* sent to it since it last answered, see offer.h */
	weft_ns offer_at_ns;       /* the next may be sent from here on */
	uint32_t msgs, answers;    /* records of messages from it, answers to it under way; SES's */
	uint64_t unexpected_bytes; /* bounce memory of these */
	uint8_t encap;             /* of what we begin, enum wire_encap: as configured, or as it began something last */
	struct path_mtu path;
	uint32_t marked_acks, trimmed_pkts, retx_pkts; /* of all our connections to it so far, for views */
};

/* Initiator side. Lines: 0 and 1 scheduling and acknowledgement, 2 in-flight record, then congestion control and load
 * balancing. */
struct pdc_tx {
	struct pdc pdc;
	uint8_t state;           /* enum pdc_tx_state */
	bool ready;              /* in pds.ready */
	uint16_t remote_id;      /* target's PDCID; 0 in PDC_TX_SYN */
	uint32_t cack_psn;       /* target's cumulative acknowledgement */
	uint64_t inflight_bytes; /* wire bytes in flight, lost ones excluded */
	uint32_t window_pkts;    /* PSNs the target accepts beyond its CACK */
	uint32_t last_ack_psn;   /* trigger of the ACK before; the same again is no new path feedback */

	_Alignas(64) struct list ready_link;
	struct tx_run *cutting;  /* run the next new packet comes from, or NULL */
	weft_ns pace_at_ns;      /* congestion control allows the next packet from here on */
	weft_ns brtt_ns;         /* base RTT of this connection */
	weft_ns newest_acked_ns; /* latest transmission known to have arrived */
	weft_ns last_heard_ns;   /* any packet from the target, or the first transmission after idling */
	struct pdc_rx *other;    /* the other direction of the connection; NULL: not in use */

	_Alignas(64) struct sendq q;
	struct weft_ip ip; /* target's address */

	/* slow path */
	_Alignas(64) weft_ns max_rtt_until_ns; /* end of this period */
	uint32_t max_rtt_ns[2];   /* largest samples of this and the previous period; UINT32_MAX: that or more */
	uint32_t min_rtt_ns;      /* smallest sample of a full packet since min_rtt_from_ms; UINT32_MAX: none */
	uint32_t min_rtt_from_ms; /* ... and the base RTT is as old at most: see brtt_window_ns; wraps */
	weft_ns srtt_ns;          /* smoothed, for views */
	weft_ns rto_raised_ns;    /* a timeout proved too short then */
	weft_ns hold_until_ns;    /* the target is short of resources until then */
	union {
		weft_ns idle_since_ns;
		weft_ns window_asked_ns; /* while not idle: see tx_ask_window_deadline */
	};
	weft_ns probe_sent_ns; /* WEFT_NEVER: none outstanding */
	uint16_t probe_opaque;
	uint16_t user; /* SES's own; 0 whenever numbering starts */
	/* these four are written together when something is acknowledged */
	uint8_t rto_backoff;     /* doublings */
	uint8_t syn_tries;       /* new PDCIDs tried after refusals */
	bool outage_ended;       /* a probe ended the back-off, and no data has been acknowledged since */
	bool heard;              /* something was acknowledged since we were last idle */
	uint8_t chores;          /* enum pdc_tx_chore */
	bool background : 1;     /* for what may wait: see remote.tx */
	bool clear_wanted : 1;   /* the target waits for us to clear up to clear_psn */
	bool probes_refused : 1; /* the target knows no PROBE */
	bool speaks_weft : 1;    /* the target has said that it is a Weft since numbering started, see offer.h */
	bool busy : 1;           /* counted in pds.busy_conns: since a run was queued, until all is done */
	bool close_wanted : 1;   /* by the target (CLOSE_REQ), or from the start: done when nothing is under way */
	bool apart : 1;          /* for one message: not in remote.tx, and closed after it */
	uint32_t start_psn, clear_psn;
	uint32_t held;            /* runs that SES lets end only after all before them: it is told of every ACK */
	weft_ns backoff_at_ns;    /* when rto_backoff last grew */
	struct list runs;         /* all unfinished ones, oldest first */
	struct list link;         /* in pds.txs */
	struct remote *remote;    /* target */
	struct pdc_tx *next_conn; /* in remote->conns, or NULL */
	struct credit_tx credit;  /* meaningful while a receiver-driven algorithm runs */

	_Alignas(64) struct weft_cc cc;
	uint32_t awaiting; /* runs that need an answer from the target, beside its acknowledgement */
	/* of the search for live paths, see ev_probe.h, while rto_backoff says that there is one; else of the last */
	uint32_t ev_interval_ns; /* from the last round to the next */
	weft_ns ev_probe_at_ns;  /* the next round */
	struct weft_lb lb;       /* its state follows: allocate pdc_tx_bytes() */
};

_Static_assert(offsetof(struct pdc, encap) == offsetof(struct pdc, is_rx) + 1 &&
		       offsetof(struct pdc, marks) == offsetof(struct pdc, is_rx) + 2 &&
		       offsetof(struct pdc, is_return) == offsetof(struct pdc, is_rx) + 3,
	       "see pdc_rx_plain_by_id");
_Static_assert(offsetof(struct pdc_tx, ready_link) == 64, "line 1: acknowledgement");
_Static_assert(offsetof(struct pdc_tx, q) == 128, "line 2: in-flight record");
_Static_assert(offsetof(struct pdc_tx, cc) % 64 == 0, "congestion control starts a line");
_Static_assert(sizeof(struct pdc_tx) <= 512, "idle connections stay within 1 KiB");

enum { PDC_RX_USER_BYTES = 48 };

/* Target side. */
struct pdc_rx {
	struct pdc pdc;
	uint16_t remote_id;    /* initiator's PDCID */
	bool closed;           /* answered CLOSE_CMD; kept a while so that late copies find it */
	bool given_up : 1;     /* closed by us: what comes later is refused for good */
	bool ack_owed : 1;     /* an ACK could not be sent for lack of a packet: in pds.ack_due */
	bool asked : 1;        /* the initiator asked for an answer (AR) while there was a hole; still open */
	bool speaks_weft : 1;  /* the initiator has said that it is a Weft, see offer.h */
	uint8_t trigger_flags; /* like the following: WIRE_F_RETX, WIRE_F_ACK_M */
	struct sharer sharer;  /* of our link */
	uint32_t unacked_pkts; /* received since the last ACK */
	uint32_t gap_psn;      /* PSN whose absence was last reported (go_back_n) */
	struct rxwin win;
	uint64_t rcvd_bytes; /* new untrimmed bytes, nominal sizes */

	/* the packet the next ACK answers */
	weft_ns trigger_at_ns;
	uint32_t trigger_psn;
	uint16_t trigger_ev;
	struct wire_echo trigger_echo;

	struct list ack_link; /* in pds.ack_due */
	struct list link;     /* in pds.rxs */
	weft_ns ack_at_ns;    /* a coalesced ACK is due; WEFT_NEVER */
	weft_ns last_heard_ns;
	uint32_t unfinished; /* messages of which SES expects more: silence means that the initiator is gone */
	uint32_t start_psn;
	_Alignas(8) uint8_t user[PDC_RX_USER_BYTES]; /* SES's own; see pds_events.on_accept */
	struct weft_ip ip;                           /* initiator */
	struct pdc_tx *other;                        /* the other direction of the connection; NULL: not in use */
	weft_ns gap_since_ns;    /* the first packet beyond the present gap arrived (reorder_shim_ns) */
	struct credit_rx credit; /* while a receiver-driven algorithm runs; see pdc_rx_bytes() */
};

_Static_assert(offsetof(struct pdc_rx, credit) <= 280, "idle connections stay within 1 KiB");
_Static_assert(offsetof(struct pdc_rx, credit) + sizeof(struct credit_rx) == sizeof(struct pdc_rx),
	       "credit ends the connection: without an algorithm for it there is no memory for it");

static inline size_t pdc_tx_bytes(const struct weft_lb_ops *lb, const struct weft_lb_params *params)
{
	return offsetof(struct pdc_tx, lb) + sizeof(struct weft_lb) + weft_lb_state_bytes(lb, params);
}

/* The forward direction of a connection of ours with this PDCID, or NULL. */
static inline struct pdc_tx *pdc_tx_forward(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(ids, id);
	return likely(pdc && !pdc->is_rx) ? list_entry(pdc, struct pdc_tx, pdc) : NULL;
}

/* The forward direction of a connection to us with this PDCID, or NULL. */
static inline struct pdc_rx *pdc_rx_forward(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(ids, id);
	return likely(pdc && pdc->is_rx) ? list_entry(pdc, struct pdc_rx, pdc) : NULL;
}

/* The direction in which we send of the connection with this PDCID, or NULL. */
static inline struct pdc_tx *pdc_tx_by_id(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(ids, id);
	if (likely(pdc && !pdc->is_rx))
		return list_entry(pdc, struct pdc_tx, pdc);
	return pdc ? list_entry(pdc, struct pdc_rx, pdc)->other : NULL;
}

/* The direction in which we receive, or NULL. */
static inline struct pdc_rx *pdc_rx_by_id(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc_tx *tx = pdc_tx_forward(ids, id);
	return tx ? tx->other : pdc_rx_forward(ids, id);
}

/* The same, if its packets are the usual ones: RUD over UDP port 4793, without trailer. One comparison tells all. */
static inline struct pdc_rx *pdc_rx_plain_by_id(const struct pdc_ids *ids, uint16_t id)
{
	struct pdc *pdc = pdc_by_id(ids, id);
	uint32_t is_rx_alone; /* encap, marks and is_return are 0 */

	if (unlikely(!pdc))
		return NULL;
	memcpy(&is_rx_alone, &pdc->is_rx, sizeof is_rx_alone);
	return likely(is_rx_alone == true) ? list_entry(pdc, struct pdc_rx, pdc) : NULL;
}

/* The direction in which we sent what a packet answers, or NULL. */
static inline struct pdc_tx *pdc_tx_of(const struct pdc_ids *ids, const struct wire_view *v)
{
	struct pdc_tx *p = pdc_tx_by_id(ids, wire_hdr_dpdcid(v->hdr));
	return likely(p != NULL) && wire_view_is_from(v, &p->ip) ? p : NULL;
}

/* The first answer names the target's PDCID and tells how requests are wrapped from now on; later ones must agree:
 * false, it is from another target. From then on the target may have delivered anything that was on its way, whatever
 * it said of it, or another one before it was restarted may have. */
static inline bool pdc_tx_learn_target(struct pdc_tx *p, const struct wire_view *v)
{
	if (likely(p->state != PDC_TX_SYN))
		return p->remote_id == wire_hdr_spdcid(v->hdr);
	if (!wire_hdr_spdcid(v->hdr))
		return false;
	p->remote_id = wire_hdr_spdcid(v->hdr);
	p->pdc.encap = v->outer->trimmed ? p->pdc.encap : v->outer->encap;
	p->state = PDC_TX_OPEN;
	p->heard = true;
	return true;
}

/* A run needs an answer from the target, beside its acknowledgement; and later it does not any more. */
static inline void pdc_tx_await_answer(struct pdc_tx *p)
{
	p->awaiting++;
}

static inline void pdc_tx_end_await(struct pdc_tx *p)
{
	assert(p->awaiting > 0);
	p->awaiting--;
}

/* SES lets a run end only after all before it: on_progress comes with every ACK until the last of them is released. */
static inline void pdc_tx_hold_run(struct pdc_tx *p)
{
	p->held++;
}

static inline void pdc_tx_release_run(struct pdc_tx *p)
{
	assert(p->held > 0);
	p->held--;
}

static inline bool pdc_tx_holds_runs(const struct pdc_tx *p)
{
	return p->held > 0;
}

/* SES expects more of a message: see pdc_rx_begin_msg. */
static inline bool pdc_rx_has_msgs(const struct pdc_rx *p)
{
	return p->unfinished > 0;
}

/* Nothing is on its way and nothing waits. */
static inline bool pdc_tx_is_idle(const struct pdc_tx *p)
{
	return !sendq_len(&p->q) && list_empty(&p->runs);
}

#endif
