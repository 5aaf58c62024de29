/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that arrive: packets in any order are placed by offset; messages are matched in the order they were sent
 * (FI_ORDER_SAS on an unordered wire: a later message waits for the turn of an earlier one, see rx_order.h). */
#include "msg_rx.h"

#include <errno.h>

#include "match.h"
#include "rma.h"
#include "rx_order.h"
#include "rx_turn.h"
#include "wire_echo.h"

/* Of a packet, in its message. */
static uint32_t offset_of(const struct wire_view *v)
{
	return wire_req_som(v->req) ? 0 : wire_std_message_offset(v->std);
}

/* Payload goes to the receive if that was there first, else it needs memory. Without memory the message keeps its place
 * among the unexpected ones and only its packets are refused: nothing waits behind it, and a receive lets them in. */
static bool reserve_room(struct ses *ses, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	if (m->direct || m->discard || !payload || !len)
		return true;
	return bounce_reserve(ses, m, offset, len);
}

static inline bool is_among(uint64_t opcodes, uint8_t opcode)
{
	return opcodes >> (opcode & 63) & 1;
}

static inline bool is_tagged(uint8_t opcode)
{
	return is_among(1 << WIRE_OP_TAGGED_SEND | 1 << WIRE_OP_RENDEZVOUS_TSEND | 1 << WIRE_OP_DEFERRABLE_TSEND,
			opcode);
}

/* A message may wait here for its receive, so a sender that offers to begin again need not (UE 1.0, AI Base). */
static inline bool is_plain(uint8_t opcode)
{
	return is_among(1 << WIRE_OP_SEND | 1 << WIRE_OP_TAGGED_SEND | 1 << WIRE_OP_DEFERRABLE_SEND |
				1 << WIRE_OP_DEFERRABLE_TSEND,
			opcode);
}

static bool is_announcement(uint8_t opcode)
{
	return opcode == WIRE_OP_RENDEZVOUS_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND;
}

static void fill(struct rx_msg *m, struct weft_ep *ep, struct pdc_rx *p, const struct wire_std *h, uint32_t peer)
{
	*m = (struct rx_msg){.ep = ep,
			     .pdc = p,
			     .tag = wire_std_match(h),
			     .bytes = wire_std_request_length(h),
			     .src_peer = peer,
			     .message_id = wire_std_message_id(h),
			     .tagged = is_tagged(wire_req_opcode(&h->req))};
	list_init(&m->link);
	list_init(&m->pdc_link);
}

/* Whether a receive waits for it, so that it has to get in however little memory there is. */
static bool is_wanted(const struct weft_ep *ep, const struct pdc_rx *p, const struct wire_view *v, uint32_t peer)
{
	bool in_turn = wire_std_message_id(v->std) == ses_rx_of(p)->next_match_id;
	return in_turn && ep && match_is_posted(ep, peer, wire_std_match(v->std), is_tagged(wire_req_opcode(v->req)));
}

/* Messages without a receive cost memory even when they are empty. */
static struct rx_msg *msg_get(struct ses *ses, const struct weft_ep *ep, const struct pdc_rx *p,
			      const struct wire_view *v, uint32_t peer)
{
	bool is_unproven = p->pdc.marks & PDC_UNPROVEN;
	struct rx_msg *m = bounce_record(ses, peer, is_unproven, false);
	return !m && is_wanted(ep, p, v, peer) ? bounce_record(ses, peer, is_unproven, true) : m;
}

/* Every packet before this PSN is here, once this packet has been taken. */
static uint32_t all_before(const struct pdc_rx *p, const struct wire_view *v)
{
	return p->win.next_expected + (wire_hdr_psn(v->hdr) == p->win.next_expected);
}

static void __attribute__((noinline))
open_waiting(struct ses *ses, struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v)
{
	rx_order_wait(p, m, v);
	rx_order_find_gap(ses, p, all_before(p, v));
	if (!rx_order_is_by_psn(ses_rx_of(p)) || m->rc || rx_msg_is_request(m) || !rx_turn_has_come(p, m))
		return;
	rx_order_turned(ses_rx_of(p), m);
	rx_turn_match(ses, m);
}

/* The sender's number. */
static bool peer_of(struct ses *ses, const struct pdc_rx *p, const struct weft_addr *from, uint32_t *peer)
{
	int ret = p->pdc.marks & PDC_UNPROVEN ? peer_add_unproven(&ses->peers, from, peer)
					      : peer_add(&ses->peers, from, peer);
	return ret == 0;
}

static struct rx_msg *msg_open(struct ses *ses, struct pdc_rx *p, struct weft_ep *ep, const struct wire_view *v,
			       uint8_t rc)
{
	uint32_t peer;
	struct weft_addr from = {p->ip, (uint16_t)wire_std_initiator(v->std)};
	struct rx_msg *m = peer_of(ses, p, &from, &peer) ? msg_get(ses, ep, p, v, peer) : NULL;
	if (!m)
		return NULL;
	fill(m, ep, p, v->std, peer);
	uint8_t opcode = wire_req_opcode(v->req);
	bool is_plain_msg = !rc && is_plain(opcode);
	m->rc = rc;
	m->since_ns = ses->polled_ns;
	m->head = is_plain_msg ? wire_message_head(v->std) : WIRE_MESSAGE_HEAD_NONE;
	if (!rc && !is_plain_msg && !rma_rx_attach(ses, m, v)) {
		bounce_record_free(ses, m);
		return NULL;
	}
	if (!u64map_put(&ses->rx_msgs, rx_msg_key(p, m->message_id), m)) {
		m->pdc = NULL;
		rx_msg_free(ses, m);
		return NULL;
	}
	pdc_rx_begin_msg(ses->pds, p);
	if (m->message_id == ses_rx_of(p)->next_match_id && !rc && !rx_msg_is_request(m)) {
		ses_rx_of(p)->next_match_id = rx_id_after(ses_rx_of(p)->next_match_id);
		list_add_tail(ses_rx_of(p)->msgs.next, &m->pdc_link); /* the first of all: see rx_order.h */
		rx_turn_match(ses, m);
	} else {
		open_waiting(ses, p, m, v);
	}
	return m;
}

/* No endpoint, or nothing we can do: nothing is kept but the message's turn, when that has not come yet. */
static int undeliverable(struct ses *ses, struct pdc_rx *p, const struct wire_view *v, uint8_t rc)
{
	struct ses_rx *r = ses_rx_of(p);
	if (rx_order_is_by_psn(r))
		return rc;
	if (wire_std_message_id(v->std) == r->next_match_id)
		r->next_match_id = rx_id_after(r->next_match_id);
	else if (!msg_open(ses, p, NULL, v, rc))
		return PDS_NO_MEM;
	rx_turns(ses, p, all_before(p, v));
	return rc;
}

uint8_t msg_refusal_of_header(const struct ses *ses, const struct wire_req *r)
{
	uint32_t job_id = ses->pds->conf.tune.job_id;
	if (wire_req_version(r))
		return WIRE_RC_UNCOR;
	if (wire_req_ie(r))
		return WIRE_RC_INITIATOR_ERROR;
	return job_id && wire_req_job_id(r) != job_id ? WIRE_RC_BAD_JOB_ID : WIRE_RC_NULL;
}

/* Why a message can't be taken; WIRE_RC_NULL: it can. */
static uint8_t refusal(struct ses *ses, const struct pdc_rx *p, const struct weft_ep *ep, const struct wire_view *v)
{
	uint8_t header_rc = msg_refusal_of_header(ses, v->req);
	if (header_rc)
		return header_rc;
	if (rma_is_request(wire_req_opcode(v->req))) {
		uint8_t rc = rma_rx_sane(v);
		rc = rc == WIRE_RC_OK ? rma_rx_check(ses, ep, &p->ip, v->std) : rc;
		return rc == WIRE_RC_OK ? WIRE_RC_NULL : rc;
	}
	if (is_announcement(wire_req_opcode(v->req)) && !pdc_rx_may_be_announced(ses->pds, p))
		return WIRE_RC_UNSUPPORTED_OP; /* it would mean something else */
	if (is_announcement(wire_req_opcode(v->req)) &&
	    (wire_rndv_eager_length(wire_rndv_of(v->std)) || v->payload_bytes))
		return WIRE_RC_UNSUPPORTED_SIZE;
	if (!is_plain(wire_req_opcode(v->req)) && !is_announcement(wire_req_opcode(v->req)))
		return wire_req_opcode(v->req) == WIRE_OP_MSG_ERROR ? WIRE_RC_CANCELLED : WIRE_RC_UNSUPPORTED_OP;
	return ep ? WIRE_RC_NULL : WIRE_RC_UNDELIVERABLE;
}

/* It is refused and has no part in any message, whatever id it has. */
static bool is_withdrawal(const struct wire_view *v)
{
	return wire_req_opcode(v->req) == WIRE_OP_WITHDRAW;
}

/* Why a packet with another id than the next opens no message; WIRE_RC_NULL: it does. `rc`: what `refusal` says. */
static uint8_t __attribute__((noinline)) refusal_of_id(struct pdc_rx *p, const struct wire_view *v, uint8_t rc)
{
	if (is_withdrawal(v))
		return rc;
	if (!wire_std_message_id(v->std))
		return WIRE_RC_INITIATOR_ERROR;
	if (!rx_order_is_stale(p, v))
		return WIRE_RC_NULL;
	return rc ? rc : WIRE_RC_UNDELIVERABLE;
}

static int msg_first(struct ses *ses, struct pdc_rx *p, const struct wire_view *v, struct rx_msg **out)
{
	struct weft_ep *ep = ep_find_for(ses, ep_port_of(v->req), &p->ip, wire_std_initiator(v->std));
	uint8_t rc = refusal(ses, p, ep, v);
	uint16_t id = wire_std_message_id(v->std);
	if (unlikely(id != ses_rx_of(p)->next_match_id || !id)) {
		uint8_t id_rc = refusal_of_id(p, v, rc);
		if (id_rc)
			return id_rc;
	}
	if (rc && is_withdrawal(v))
		return rc;
	if (rc)
		return undeliverable(ses, p, v, rc);
	if (validate_must_wait(p, v))
		return PDS_UNPROVEN_ADDRESS;
	*out = msg_open(ses, p, ep, v, 0);
	return *out ? PDS_TAKEN : PDS_NO_MEM;
}

static bool request_agrees(const struct rx_rma *r, const struct wire_view *v)
{
	return r->opcode == wire_req_opcode(v->req) && r->key == wire_std_match(v->std) &&
	       r->raddr == wire_std_buffer_offset(v->std);
}

/* Its initiator gives it up (MSG_ERROR): no more of it comes. A request may have been the one that others wait for. */
static uint8_t given_up(struct ses *ses, struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v)
{
	m->rc = WIRE_RC_CANCELLED;
	m->head = WIRE_MESSAGE_HEAD_NONE;
	if (m->in_turn)
		rx_msg_fail(ses, m, EIO);
	else
		rx_turns(ses, p, all_before(p, v));
	return WIRE_RC_CANCELLED;
}

/* Packets of one message agree on it; whatever does not was never sent by an initiator that means well. */
static int msg_next(struct ses *ses, struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v)
{
	if (m->rc)
		return is_withdrawal(v) ? WIRE_RC_UNSUPPORTED_OP : m->rc;
	uint8_t header_rc = msg_refusal_of_header(ses, v->req);
	if (header_rc)
		return header_rc;
	if (wire_req_opcode(v->req) == WIRE_OP_MSG_ERROR)
		return given_up(ses, p, m, v);
	bool tagged = is_tagged(wire_req_opcode(v->req));
	bool same = m->rma ? request_agrees(m->rma, v) : tagged == m->tagged && is_plain(wire_req_opcode(v->req));
	if (wire_std_request_length(v->std) != m->bytes || !same)
		return is_withdrawal(v) ? WIRE_RC_UNSUPPORTED_OP : WIRE_RC_INITIATOR_ERROR;
	if (!m->in_turn)
		rx_order_more(p, m, v);
	return PDS_TAKEN;
}

/* What that says of the initiator and of the message. */
static int __attribute__((noinline)) refused(struct pdc_rx *p, const struct wire_view *v, int rc)
{
	if (rc == PDS_NO_MEM || rc == PDS_UNPROVEN_ADDRESS)
		return rc;
	if (is_withdrawal(v))
		rx_order_is_ours(ses_rx_of(p));
	else
		rx_order_refused(ses_rx_of(p), wire_hdr_psn(v->hdr));
	return rc;
}

/* Nothing is asked for but a response. */
static int __attribute__((noinline)) no_op(const struct ses *ses, struct pdc_rx *p, const struct wire_view *v)
{
	uint8_t rc = msg_refusal_of_header(ses, v->req);
	return refused(p, v, rc ? rc : PDS_TAKEN);
}

static inline void take(struct ses *ses, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len,
			bool retx)
{
	rx_msg_place(m, offset, payload, len, retx);
	rx_turn_finish(ses, m);
}

static void take_packet(struct ses *ses, struct rx_msg *m, const struct wire_view *v, const uint8_t *payload)
{
	bool som = wire_req_som(v->req);
	if (som && wire_req_hd(v->req)) {
		m->has_data = true;
		m->data = wire_std_header_data(v->std);
	}
	take(ses, m, offset_of(v), payload, v->payload_bytes, wire_hdr_retx(v->hdr));
}

static struct rx_msg *msg_find(const struct ses *ses, const struct pdc_rx *p, uint16_t message_id)
{
	if (ses_rx_of(p)->recent && ses_rx_of(p)->recent->message_id == message_id)
		return ses_rx_of(p)->recent;
	return u64map_get(&ses->rx_msgs, rx_msg_key(p, message_id));
}

/* A message that can't be placed any more keeps its turn only. */
static int __attribute__((noinline)) request_packet(struct ses *ses, struct pdc_rx *p, struct rx_msg *m, bool opened,
						    const struct wire_view *v, const uint8_t *payload)
{
	bool turn = rx_turn_has_come(p, m);
	int rc = rma_rx_packet(ses, m, v, payload, turn);
	if (rc == PDS_NO_MEM && opened)
		rx_msg_free(ses, m);
	else if (rc != PDS_NO_MEM)
		m->rc = (uint8_t)rc;
	if (turn)
		rx_turns(ses, p, all_before(p, v));
	return rc;
}

/* Of a form that is not served, or its lengths contradict each other. */
static uint8_t refusal_of_form(const struct wire_view *v)
{
	return v->next_hdr == WIRE_NH_STD || v->next_hdr == WIRE_NH_RSP_DATA ? WIRE_RC_OP_VIOLATION
									     : WIRE_RC_UNSUPPORTED_OP;
}

int msg_rx_data(void *arg, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload)
{
	struct ses *ses = arg;
	if (unlikely(v->kind == WIRE_KIND_REFUSED))
		return refused(p, v, refusal_of_form(v));
	bool is_answer = v->next_hdr != WIRE_NH_STD;
	if (unlikely(is_answer != p->pdc.is_return))
		return WIRE_RC_UNSUPPORTED_OP;
	if (is_answer) {
		answer_rx(ses, p, v, payload);
		return PDS_TAKEN;
	}
	if (wire_req_opcode(v->req) == WIRE_OP_NO_OP)
		return no_op(ses, p, v);
	struct rx_msg *m = msg_find(ses, p, wire_std_message_id(v->std));
	bool opened = !m;
	int rc = m ? msg_next(ses, p, m, v) : msg_first(ses, p, v, &m);
	if (rc)
		return refused(p, v, rc);
	if (rx_msg_is_request(m))
		return request_packet(ses, p, m, opened, v, payload);
	bool turn_passed = opened && m->in_turn;
	ses_rx_of(p)->recent = m;
	if (reserve_room(ses, m, offset_of(v), payload, v->payload_bytes))
		take_packet(ses, m, v, payload);
	else
		rc = PDS_NO_MEM;
	if (turn_passed)
		rx_turns(ses, p, all_before(p, v));
	return rc;
}

/* A packet of a plain message that has a place for it; the other fields of `m` say nothing against it then. */
static inline bool expects(const struct rx_msg *m, const struct wire_std *h)
{
	return m->head == wire_message_head(h) && m->bytes == wire_std_request_length(h);
}

/* The last packet of a message, or one of a message that waits for its receive. */
static bool __attribute__((noinline))
take_expected(struct ses *ses, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len, bool retx)
{
	if (!m->direct && !bounce_has(m, offset, len))
		return false;
	take(ses, m, offset, payload, len, retx);
	return true;
}

bool msg_rx_more_data(void *arg, struct pdc_rx *p, const struct wire_std *h, const uint8_t *payload, uint32_t len,
		      uint8_t flags)
{
	struct rx_msg *m = ses_rx_of(p)->recent;
	if (unlikely(!m || !expects(m, h)))
		return false;
	uint32_t received_bytes = m->received_bytes + len;
	if (unlikely(!m->direct || received_bytes >= m->bytes))
		return take_expected(arg, m, wire_std_message_offset(h), payload, len, flags & WIRE_F_RETX);
	/* It has had its turn, and this packet does not end it: nothing is left to do once it is in its place. */
	assert(m->in_turn && !m->rma);
	m->received_bytes = received_bytes;
	rx_place_in(&m->req->op, m->into + wire_std_message_offset(h), payload, len, flags & WIRE_F_RETX);
	return true;
}
