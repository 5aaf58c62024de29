/* SPDX-License-Identifier: BSD-3-Clause */
/* What is under way, for who looks at an engine (weft/view.h): nothing here changes anything. */
#include "rma.h"
#include "rudi.h"
#include "rx_msg.h"
#include "tx_msg.h"
#include "weft/view.h"

enum {
	EACH_MAX = 6,    /* shown of one list */
	LOOKED_MAX = 32, /* entries of it that are looked at for those to show */
};

_Static_assert(5 * EACH_MAX <= WEFT_OP_ROWS_MIN, "an endpoint has five lists");

/* Rows of one list, as far as there is room for them. */
struct page {
	struct weft_op_row *rows;
	unsigned count, first; /* rows in all; where those of this list begin */
	weft_ns now;
};

static void list_begin(struct page *page)
{
	page->first = page->count;
}

/* False: no more of this list. */
static bool has_room(struct page *page)
{
	if (page->count - page->first < EACH_MAX)
		return true;
	page->rows[page->count - 1].more = true;
	return false;
}

static void add(struct page *page, struct weft_op_row row, weft_ns since_ns)
{
	row.age_ns = page->now > since_ns ? page->now - since_ns : 0;
	page->rows[page->count++] = row;
}

static uint16_t port_of(const struct weft_ep *ep)
{
	return ep ? ep->port : 0;
}

/* ---- what we send ---- */

/* Everything is acknowledged but what `m` asks for. */
static uint8_t waits_for_answer(const struct tx_rma *r)
{
	switch (r->role) {
	case RMA_ASK:
		return WEFT_WAIT_ANSWER;
	case RMA_ANNOUNCE:
		return r->mate ? WEFT_WAIT_FETCH : WEFT_WAIT_RECEIVE;
	default:
		return WEFT_WAIT_TURN; /* held until all before it has arrived */
	}
}

static uint8_t tx_wait(const struct ses *ses, const struct pdc_tx *p, const struct tx_msg *m, weft_ns now)
{
	if (m->rma && m->run.cut && !m->run.unacked_pkts)
		return waits_for_answer(m->rma);
	return pds_run_waits(ses->pds, p, &m->run, now);
}

/* Atomics with comparands send more than the bytes that they change. */
static uint64_t tx_done_bytes(const struct tx_msg *m)
{
	if (m->rma && m->rma->role == RMA_REQUEST && m->run.cut_bytes > m->rma->length)
		return m->rma->length;
	if (!m->rma || m->rma->role == RMA_REQUEST || m->rma->role == RMA_ANSWER)
		return m->run.cut_bytes;
	if (m->rma->role == RMA_ASK)
		return m->rma->answered_bytes;
	return m->rma->mate ? m->rma->mate->run.cut_bytes : 0;
}

static struct weft_op_row tx_row(const struct ses *ses, const struct pdc_tx *p, const struct tx_msg *m, weft_ns now)
{
	bool answers = m->rma && m->rma->role == RMA_ANSWER;
	return (struct weft_op_row){
		.kind = answers ? WEFT_OP_REMOTE_READ : m->kind,
		.wait = tx_wait(ses, p, m, now),
		.ep = port_of(m->ep),
		.peer = {p->ip, m->dst_port},
		.bytes = m->rma && !answers ? m->rma->length : m->run.bytes,
		.done_bytes = tx_done_bytes(m),
		.tag = m->tag,
	};
}

/* Fetches of messages are shown with these; an answer that carries one, with the message that was announced. */
static bool is_part_of_another(const struct tx_msg *m)
{
	return m->rma && (m->rma->fetch || (m->rma->role == RMA_ANSWER && m->rma->mate));
}

unsigned ses_pending_tx(const struct ses *ses, const struct pdc_tx *p, weft_ns now, struct weft_op_row *rows)
{
	struct page page = {.rows = rows, .now = now};
	unsigned looked = 0;
	list_for_each (l, &p->runs) {
		const struct tx_msg *m = tx_msg_at(l);
		if (looked++ == LOOKED_MAX)
			break;
		if (is_part_of_another(m))
			continue;
		if (!has_room(&page))
			break;
		add(&page, tx_row(ses, p, m, now), m->since_ns);
	}
	return page.count;
}

/* ---- what we receive ---- */

static uint8_t rx_kind(const struct rx_msg *m)
{
	if (m->rma && !m->rma->announced)
		return m->rma->opcode == WIRE_OP_READ ? WEFT_OP_REMOTE_READ : WEFT_OP_REMOTE_WRITE;
	return m->tagged ? WEFT_OP_TRECV : WEFT_OP_RECV;
}

static uint64_t rx_done_bytes(const struct rx_msg *m)
{
	return m->rma && m->rma->ask ? m->rma->ask->rma->answered_bytes : m->received_bytes;
}

static struct weft_op_row rx_row(const struct ses *ses, const struct rx_msg *m, uint8_t wait)
{
	return (struct weft_op_row){
		.kind = rx_kind(m),
		.wait = wait,
		.ep = port_of(m->ep),
		.peer = peer_get(&ses->peers, m->src_peer)->addr,
		.bytes = m->bytes,
		.done_bytes = rx_done_bytes(m),
		.tag = m->tag,
	};
}

/* Messages that are arriving; those without a receive are shown with the endpoint's. */
unsigned ses_pending_rx(const struct ses *ses, const struct pdc_rx *p, weft_ns now, struct weft_op_row *rows)
{
	struct page page = {.rows = rows, .now = now};
	unsigned looked = 0;
	list_for_each (l, &((const struct ses_rx *)p->user)->msgs) {
		const struct rx_msg *m = list_entry(l, struct rx_msg, pdc_link);
		if (looked++ == LOOKED_MAX)
			break;
		if (!list_empty(&m->link) || !m->ep)
			continue;
		if (!has_room(&page))
			break;
		add(&page, rx_row(ses, m, m->req || m->rma ? WEFT_WAIT_DATA : WEFT_WAIT_TURN), m->since_ns);
	}
	return page.count;
}

static void add_messages(struct page *page, const struct ses *ses, const struct list *msgs, uint8_t wait)
{
	list_begin(page);
	list_for_each (l, msgs) {
		const struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (!has_room(page))
			break;
		add(page, rx_row(ses, m, wait), m->since_ns);
	}
}

static void add_receives(struct page *page, const struct ses *ses, const struct list *posted)
{
	list_begin(page);
	list_for_each (l, posted) {
		const struct rx_req *req = list_entry(l, struct rx_req, link);
		const struct peer *peer = peer_get(&ses->peers, req->op.peer);
		struct weft_op_row row = {.kind = req->op.kind,
					  .wait = WEFT_WAIT_MESSAGE,
					  .any_peer = !peer,
					  .ep = port_of(req->home),
					  .bytes = req->op.len,
					  .done_bytes = req->used_bytes,
					  .tag = req->op.tag};
		if (!has_room(page))
			break;
		if (peer)
			row.peer = peer->addr;
		add(page, row, req->since_ns);
	}
}

unsigned ses_pending_ep(const struct ses *ses, const struct weft_ep *ep, weft_ns now, struct weft_op_row *rows)
{
	struct page page = {.rows = rows, .now = now};
	for (int tagged = 0; ep && tagged < 2; tagged++) {
		add_receives(&page, ses, &ep->own.posted[tagged]);
		add_messages(&page, ses, &ep->own.unexpected[tagged], WEFT_WAIT_MATCH);
	}
	if (ep)
		add_messages(&page, ses, &ep->own.claimed, WEFT_WAIT_MATCH);
	return page.count;
}

unsigned ses_pending_loose(const struct ses *ses, weft_ns now, struct weft_op_row *rows)
{
	struct page page = {.rows = rows, .now = now};
	add_messages(&page, ses, &ses->fetches, WEFT_WAIT_DATA);
	page.count += rudi_pending(ses, EACH_MAX, now, rows + page.count);
	return page.count;
}

const struct weft_ep *ses_ep_at(const struct list *link)
{
	return list_entry(link, struct weft_ep, link);
}
