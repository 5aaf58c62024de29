/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: a number on this engine, a ring of submissions, a ring of completions. */
#ifndef WEFT_ENDPOINT_H
#define WEFT_ENDPOINT_H

#include "ses.h"
#include "spsc.h"

enum { EP_PORT_FIRST_FREE = 0xC000 }; /* of the numbers that engines give out */

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
	struct list link;          /* in ses.eps */
	struct list ready_link;    /* in ses.ready, or in none */
	_Atomic bool is_rung;      /* in ses.rung, or about to be */
	struct weft_ep *next_rung; /* in ses.rung */
	struct ses *ses;
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
	bool exclusive;     /* it takes what comes from `partner` alone; with its port 0: nothing */
	struct weft_addr partner;
	bool ended;                                 /* a receive that finds no message ends at once */
	struct cqe_node *overflow, **overflow_tail; /* completions waiting for room */
};

/* The endpoint that messages with this number go to, or with `dgram` datagrams; NULL: none. */
static inline struct weft_ep *ep_find(const struct ses *ses, uint16_t port, bool dgram)
{
	struct weft_ep *ep = u64map_get(&ses->by_port, port);
	return likely(ep && ep->is_dgram == dgram) ? ep : NULL;
}

/* ep_find for a message or an access to memory that the endpoint `initiator` on the host `from` has sent. */
static inline struct weft_ep *ep_find_for(const struct ses *ses, uint16_t port, const struct weft_ip *from,
					  uint32_t initiator)
{
	struct weft_ep *ep = ep_find(ses, port, false);
	if (likely(!ep || !ep->exclusive))
		return ep;
	return initiator && ep->partner.port == initiator && weft_ip_eq(&ep->partner.ip, from) ? ep : NULL;
}

/* Number of the endpoint that a request is for; 0: our numbers have no such resource index, so it is nobody's. */
static inline uint16_t ep_port_of(const struct wire_req *h)
{
	uint16_t index = wire_req_resource_index(h);
	return likely(index < 16) ? (uint16_t)(wire_req_pid_on_fep(h) << 4 | index) : 0;
}

/* Something of the endpoint's waits for the next poll. */
static inline void ep_mark_ready(struct ses *ses, struct weft_ep *ep)
{
	if (list_empty(&ep->ready_link))
		list_add_tail(&ses->ready, &ep->ready_link);
}

/* Carries out what was submitted. */
void ep_submissions(struct ses *ses, struct weft_ep *ep, weft_ns now);

/* The memory of an endpoint that nothing refers to any more. */
void ep_free(struct weft_ep *ep);

#endif
