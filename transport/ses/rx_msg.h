/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that arrives: its memory, where its bytes go, its end. */
#ifndef WEFT_RX_MSG_H
#define WEFT_RX_MSG_H

#include "bounce.h"
#include "endpoint.h"
#include "msg.h"

/* SES's part of a connection to us, in pdc_rx.user. */
struct ses_rx {
	struct list msgs;       /* rx_msgs not complete, in the order that rx_order.h says */
	struct list stuck_link; /* in ses.stuck */
	struct rx_msg *recent;  /* the one of them that got the last packet, or NULL */
	uint16_t next_match_id; /* message whose turn to be matched it is; 0: PSNs order, not ids */
	bool is_ours;           /* ids order, whatever is missing: only our own initiators send so */
	bool has_refused;
	uint32_t refused_psn; /* latest packet of a refused message, if has_refused */
};

_Static_assert(sizeof(struct ses_rx) <= PDC_RX_USER_BYTES, "SES's part of a connection has its place there");

static inline struct ses_rx *ses_rx_of(const struct pdc_rx *p)
{
	return (struct ses_rx *)p->user;
}

static inline struct pdc_rx *ses_rx_pdc(struct ses_rx *r)
{
	return list_entry((uint8_t *)r, struct pdc_rx, user);
}

/* Key of a message in ses.rx_msgs. */
static inline uint64_t rx_msg_key(const struct pdc_rx *p, uint16_t message_id)
{
	return (uint64_t)p->pdc.id << 16 | message_id;
}

void rx_msg_free(struct ses *ses, struct rx_msg *m);
/* No packet finds it any more. */
void rx_msg_leave_pdc(struct ses *ses, struct rx_msg *m);

/* Copies payload to where the operation wants it; what does not fit is thrown away. `retx`: see weft_sink_fn. */
static inline void rx_place_in(const struct weft_op *op, uint64_t offset, const uint8_t *payload, uint32_t len,
			       bool retx)
{
	if (unlikely(offset + len >= op->len)) {
		if (offset >= op->len)
			return;
		len = (uint32_t)(op->len - offset);
	}
	if (op->sink)
		op->sink(op->sink_arg, offset, payload, len, retx);
	else if (op->buf && payload && len)
		memcpy((uint8_t *)op->buf + offset, payload, len);
}

/* One packet of the message. */
static inline void rx_msg_place(struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len, bool retx)
{
	assert((uint64_t)offset + len <= m->bytes);
	m->received_bytes += len;
	if (m->direct)
		rx_place_in(&m->req->op, m->into + offset, payload, len, retx);
	else if (m->bounce && payload && len)
		bounce_store(m, offset, payload, len);
}

/* Everything is here: the receive gets it, and `m` is freed. */
void rx_msg_hand_over(struct ses *ses, struct rx_msg *m);
/* No more will come: its receive, if it has one, fails; frees `m`. */
void rx_msg_fail(struct ses *ses, struct rx_msg *m, int err);
/* Of a fetched message: bytes of it, and all of it is here; frees `m`. */
void rx_msg_place_fetched(struct rx_msg *m, uint64_t offset, const uint8_t *payload, uint32_t len, bool retx);
void rx_msg_fetched(struct ses *ses, struct rx_msg *m, int err);

/* Senders on this engine that wait for the end of one of these do not want to know any more. */
void rx_msgs_forget_sender(struct list *msgs, const struct weft_ep *ep);

#endif
