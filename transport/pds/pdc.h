/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet delivery contexts: UET's connections. A PDC carries requests from its initiator (pdc_tx) to its target
 * (pdc_rx); two hosts that send to each other use one PDC per direction (UE 1.0 sec. 3.5; doc/reference/protocol.md).
 */
#ifndef WEFT_PDC_H
#define WEFT_PDC_H

#include <stddef.h>

#include "credit.h"
#include "msg.h"
#include "sendq.h"
#include "wheel.h"

/* What both kinds share; the table of PDCIDs and the timing wheel lead here. */
struct pdc {
	struct wheel_node timer;
	uint16_t id; /* our PDCID, 1..65535; 0: none yet */
	bool is_rx;
};

enum pdc_tx_state {
	PDC_TX_SYN, /* the target's PDCID is not known yet: every packet carries SYN (0-RTT) */
	PDC_TX_OPEN,
	PDC_TX_CLOSING, /* CLOSE_CMD sent */
};

struct remote;

/* Initiator side. Lines: 0 and 1 scheduling and acknowledgement, 2 in-flight record, then congestion control and load
 * balancing. */
struct pdc_tx {
	struct pdc pdc;
	uint8_t state;           /* enum pdc_tx_state */
	bool ready;              /* in the engine's ready list */
	uint16_t remote_id;      /* target's PDCID; 0 in PDC_TX_SYN */
	uint32_t cack_psn;       /* target's cumulative acknowledgement */
	uint64_t inflight_bytes; /* wire bytes in flight, lost ones excluded */
	uint32_t window_pkts;    /* PSNs the target accepts beyond its CACK */
	uint32_t last_ack_psn;   /* trigger of the ACK before; the same again is no new path feedback */

	_Alignas(64) struct list ready_link;
	struct tx_msg *cutting;  /* message the next new packet comes from, or NULL */
	weft_ns pace_at_ns;      /* congestion control allows the next packet from here on */
	weft_ns brtt_ns;         /* base RTT of this connection */
	weft_ns newest_acked_ns; /* latest transmission known to have arrived */
	weft_ns last_heard_ns;   /* any packet from the target, or the first transmission after idling */
	struct tx_msg *waiting;  /* the next of the other kind, message or answer, whose turn comes then; or NULL */

	_Alignas(64) struct sendq q;
	struct weft_ip ip; /* target's address */

	/* slow path */
	_Alignas(64) weft_ns max_rtt_ns[2]; /* largest samples of this and the previous period */
	weft_ns max_rtt_until_ns;           /* end of this period */
	weft_ns srtt_ns;                    /* smoothed, for views */
	weft_ns rto_raised_ns;              /* a timeout proved too short then */
	weft_ns hold_until_ns;              /* the target is short of resources until then */
	weft_ns idle_since_ns;
	weft_ns probe_sent_ns; /* WEFT_NEVER: none outstanding */
	uint16_t probe_opaque;
	uint16_t next_message_id;
	uint8_t rto_backoff;   /* doublings */
	uint8_t syn_tries;     /* new PDCIDs tried after refusals */
	bool background : 1;   /* its messages have WEFT_OP_BACKGROUND */
	bool probed : 1;       /* base RTT probe answered, or none wanted */
	bool heard : 1;        /* something was acknowledged since we were last idle */
	bool clear_wanted : 1; /* the target waits for us to clear up to clear_psn */
	weft_ns backoff_at_ns; /* when rto_backoff last grew */
	uint32_t start_psn, clear_psn;
	uint32_t awaiting;       /* messages that need an answer from the target */
	uint32_t held;           /* tx_rma.held */
	struct list msgs;        /* all unfinished messages, oldest first, and behind them all answers of ours */
	struct tx_msg *answers;  /* the oldest of these, or NULL */
	struct list link;        /* in the engine's list of initiators */
	struct remote *remote;   /* target */
	struct credit_tx credit; /* meaningful while a receiver-driven algorithm runs */

	_Alignas(64) struct weft_cc cc;
	struct weft_lb lb; /* its state follows: allocate pdc_tx_bytes() */
};

_Static_assert(offsetof(struct pdc_tx, ready_link) == 64, "line 1: acknowledgement");
_Static_assert(offsetof(struct pdc_tx, q) == 128, "line 2: in-flight record");
_Static_assert(offsetof(struct pdc_tx, cc) % 64 == 0, "congestion control starts a line");
_Static_assert(sizeof(struct pdc_tx) <= 640, "idle connections stay within 1 KiB");

/* An error response that the initiator must confirm before it is forgotten (guaranteed delivery, UE 1.0 sec. 3.5). */
struct gtd_rsp {
	uint32_t psn;
	uint16_t message_id;
	uint8_t return_code;
};

enum { PDC_GTD_MAX = 4 };

/* Target side. */
struct pdc_rx {
	struct pdc pdc;
	uint16_t remote_id;     /* initiator's PDCID */
	bool closed;            /* answered CLOSE_CMD; kept a while so that late copies find it */
	bool given_up;          /* closed by us: what comes later is refused for good */
	bool ack_owed;          /* an ACK could not be sent for lack of a packet: in the engine's ack_due list */
	bool asked;             /* the initiator asked for an answer (AR) while there was a hole; still open */
	uint32_t cack_psn;      /* all up to here received and responses cleared */
	uint32_t next_expected; /* first PSN never received */
	uint32_t ooo_pkts;      /* received above the first hole */
	uint32_t unacked_pkts;  /* received since the last ACK */
	uint64_t rcvd_bytes;    /* new untrimmed bytes, nominal sizes */
	uint64_t *received;     /* window of PSNs above next_expected; NULL until one arrives */
	uint64_t *unreported;   /* received, not yet in any SACK; in the same memory */
	uint32_t unreported_pkts;
	uint32_t gap_psn; /* PSN whose absence was last reported (go_back_n) */

	/* the packet the next ACK answers */
	weft_ns trigger_at_ns;
	uint32_t trigger_psn;
	uint16_t trigger_ev;
	uint16_t trigger_message_id;
	uint8_t trigger_flags; /* WIRE_F_RETX, WIRE_F_ACK_M */

	uint16_t next_match_id; /* message whose turn to be matched it is */
	uint8_t gtd_count;
	struct gtd_rsp gtd[PDC_GTD_MAX];
	struct list ack_link; /* engine's ack_due */
	struct list link;     /* engine's list of targets */
	weft_ns ack_at_ns;    /* a coalesced ACK is due; WEFT_NEVER */
	weft_ns last_heard_ns;
	struct list msgs;       /* rx_msgs not complete */
	struct list stuck_link; /* engine's stuck */
	struct rx_msg *recent;  /* the one of them that got the last packet, or NULL */
	struct weft_ip ip;      /* initiator */
	weft_ns gap_since_ns;   /* the first packet beyond the present gap arrived (reorder_shim_ns) */
	uint32_t start_psn;
	struct credit_rx credit; /* while a receiver-driven algorithm runs; see pdc_rx_bytes() */
};

_Static_assert(offsetof(struct pdc_rx, credit) + sizeof(struct credit_rx) == sizeof(struct pdc_rx),
	       "credit ends the connection: without an algorithm for it there is no memory for it");

#endif
