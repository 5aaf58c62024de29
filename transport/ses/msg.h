/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages under way: what SES adds to packets. */
#ifndef WEFT_MSG_H
#define WEFT_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "pds.h"

struct cqe_node;
struct rx_rma;
struct tx_rma;

/* One message we send: from its submission until its last packet is acknowledged. Lives in the engine's pool. */
struct tx_msg {
	struct tx_run run;  /* its bytes, as far as they are in packets of its own */
	struct weft_ep *ep; /* gets the completion; NULL once it was closed */
	uint8_t *copy;      /* engine's memory behind run.buf once the endpoint was closed, or NULL */
	void *context;
	struct cqe_node *node; /* reserved for the completion; NULL: nobody wants one */
	struct tx_rma *rma;    /* NULL: a plain message */
	uint64_t tag, data;
	weft_ns since_ns;            /* when it was taken up */
	int32_t err;                 /* errno to complete with; no more packets are cut once it is set */
	uint16_t message_id;         /* from 1, in order of cutting; 0: not cut yet. A response: that of the request */
	uint16_t src_port, dst_port; /* endpoint numbers */
	uint32_t job_id;             /* of its packets */
	uint8_t kind;                /* enum weft_op_kind */
	uint8_t generation;          /* of the target's resource index, as it told; 0 until then */
	uint8_t repetitions;         /* of the whole message, because the target was not ready for it */
	bool repeat;                 /* it is to be sent once more when no packet of it is under way */
	bool has_data;
	uint32_t peer; /* the id it was submitted for */
};

/* One posted receive, from its submission until its completion. Lives in the engine's pool. */
struct rx_req {
	struct list link;      /* in rx_side.posted[tagged] until a message is found */
	struct cqe_node *node; /* reserved for the completion; multi: for the release */
	struct weft_ep *home;  /* where it was submitted */
	weft_ns since_ns;      /* when it was taken up */
	/* of a receive with WEFT_OP_MULTI */
	uint64_t used_bytes; /* of the buffer */
	uint32_t pieces;     /* messages matched and not completed */
	int32_t err;         /* ECANCELED: that is how it ends */
	bool retired;        /* no more messages; ends with the last piece */
	struct weft_op op;
};

/* Of a message that waits for its turn (rx_order.h). */
struct rx_wait {
	uint32_t psn;   /* of its first packet, or the lowest seen while that is not here */
	bool has_begun; /* the first packet is here */
};

/* One message that arrives, from its first packet until it has been handed over. Lives in the engine's pool. */
struct rx_msg {
	struct list link;      /* in rx_side.unexpected[tagged] or rx_side.claimed, else alone */
	struct list pdc_link;  /* in ses_rx.msgs; alone once every byte is here */
	struct weft_ep *ep;    /* destination; NULL: its bytes are thrown away */
	struct pdc_rx *pdc;    /* NULL once every byte is here */
	struct rx_req *req;    /* the receive it belongs to, or NULL: unexpected, or its turn has not come */
	struct bounce *bounce; /* memory for payload without a receive, or NULL */
	struct rx_rma *rma;    /* NULL: a plain message */
	struct cqe_node *sent; /* completion of a local sender that waits for our end, or NULL */
	union {
		void *claimed_by;    /* context of the PEEK that reserved it, while in rx_side.claimed */
		struct rx_wait wait; /* until in_turn; of requests until they are carried out */
	};
	struct cqe_node *node; /* for the completion, once matched; NULL: use the receive's */
	uint64_t into;         /* where in the receive's buffer it begins; 0 but with WEFT_OP_MULTI */
	uint64_t tag, data;
	weft_ns since_ns; /* when its first packet came */
	uint64_t head;    /* of its packets (wire_message_head); none: not a plain message, or there is an `rc` */
	uint32_t bytes;
	uint32_t received_bytes;
	uint32_t src_peer;
	uint16_t message_id;
	uint8_t rc; /* enum wire_rc that its packets are answered with while there is no endpoint */
	bool tagged, has_data;
	bool direct;  /* the receive was there first: payload goes straight to it */
	bool in_turn; /* all earlier messages of the connection have been matched; false of requests */
	bool discard; /* throw away and free when complete */
};

#endif
