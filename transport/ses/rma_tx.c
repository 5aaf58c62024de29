/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of requests on peers' memory, and of announced messages: what they add to a tx_msg. */
#include <errno.h>

#include "rma.h"
#include "rma_token.h"
#include "tx_msg.h"

static uint8_t role_of(uint8_t kind)
{
	switch (kind) {
	case WEFT_OP_READ:
	case WEFT_OP_FETCH_ATOMIC:
		return RMA_ASK;
	case WEFT_OP_SEND:
	case WEFT_OP_TSEND:
		return RMA_ANNOUNCE;
	default:
		return RMA_REQUEST;
	}
}

static uint8_t opcode_of(uint8_t kind)
{
	switch (kind) {
	case WEFT_OP_SEND:
		return WIRE_OP_RENDEZVOUS_SEND;
	case WEFT_OP_TSEND:
		return WIRE_OP_RENDEZVOUS_TSEND;
	case WEFT_OP_READ:
		return WIRE_OP_READ;
	case WEFT_OP_ATOMIC:
		return WIRE_OP_ATOMIC;
	case WEFT_OP_FETCH_ATOMIC:
		return WIRE_OP_FETCHING_ATOMIC;
	default:
		return WIRE_OP_WRITE;
	}
}

static void fill_atomic(struct tx_rma *r, struct tx_msg *m, const struct weft_op *op)
{
	m->run.bytes = rma_amo_fill(&r->amo, op);
	if (r->role != RMA_ASK)
		return;
	r->buf = op->atomic->result;
	r->sink = op->sink;
	r->sink_arg = op->sink_arg;
	r->answer_bytes = r->length;
}

/* Of a READ's packet. Targets of ours answer one request for all with as many packets as it takes, which costs a third
 * of the instructions; the standard has a request for each. */
static uint32_t ask_bytes(const struct ses *ses, const struct pdc_tx *p)
{
	return pds_speaks_weft(ses->pds, p->remote) ? UINT32_MAX : p->pdc.payload_bytes;
}

/* The buffer of a READ is where its answer goes. That of an announced message stays at hand for the answer. */
static void fill(const struct ses *ses, struct tx_rma *r, struct pdc_tx *p, struct tx_msg *m, const struct weft_op *op)
{
	*r = (struct tx_rma){.pdc = p,
			     .role = role_of(op->kind),
			     .opcode = opcode_of(op->kind),
			     .delivered = op->flags & WEFT_OP_DELIVERED,
			     .raddr = op->raddr,
			     .key = op->rkey,
			     .length = (uint32_t)op->len};
	if (op->kind == WEFT_OP_READ) {
		r->buf = op->buf;
		r->sink = op->sink;
		r->sink_arg = op->sink_arg;
		r->answer_bytes = r->length;
		m->run.buf = NULL;
		m->run.bytes = r->length;
		m->run.ask_bytes = ask_bytes(ses, p);
		m->run.special = true;
	}
	if (r->role == RMA_ANNOUNCE)
		m->run.bytes = 0;
	if (op->kind == WEFT_OP_ATOMIC || op->kind == WEFT_OP_FETCH_ATOMIC)
		fill_atomic(r, m, op);
}

bool rma_tx_attach(struct ses *ses, struct pdc_tx *p, struct tx_msg *m, const struct weft_op *op)
{
	struct tx_rma *r = m->rma = pool_get(&ses->tx_rmas);
	if (!r) {
		ses->stats->alloc_fail++;
		return false;
	}
	fill(ses, r, p, m, op);
	if (r->role != RMA_ASK && r->role != RMA_ANNOUNCE)
		return true;
	if (r->role == RMA_ANNOUNCE && !rma_token_take(ses, m)) {
		ses->stats->alloc_fail++;
		pool_put(&ses->tx_rmas, r);
		return false;
	}
	pdc_tx_await_answer(p);
	return true;
}

static bool is_announced(const struct tx_msg *m)
{
	return m->rma && m->rma->role == RMA_ANNOUNCE;
}

static void make_plain(struct ses *ses, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	m->run.bytes = r->length;
	rma_token_put(ses, r->token);
	pdc_tx_end_await(r->pdc);
	pool_put(&ses->tx_rmas, r);
	m->rma = NULL;
}

/* The new life of the target has not heard that we are a Weft, and may be none itself. */
bool rma_tx_restarted(void *arg, struct pdc_tx *p)
{
	struct ses *ses = arg;
	if (ses->pds->conf.tune.profile == WEFT_PROFILE_WEFT)
		return true;
	list_for_each (l, &p->runs)
		if (is_announced(tx_msg_at(l)) && (tx_msg_at(l)->rma->mate || tx_msg_at(l)->rma->answered))
			return false;
	list_for_each (l, &p->runs)
		if (is_announced(tx_msg_at(l)))
			make_plain(ses, tx_msg_at(l));
	return true;
}

int rma_errno(uint8_t return_code)
{
	switch (return_code) {
	case WIRE_RC_UNDELIVERABLE:
		return EHOSTUNREACH;
	case WIRE_RC_BAD_MKEY:
	case WIRE_RC_PERM_VIOLATION:
	case WIRE_RC_AT_PERM:
		return EACCES;
	case WIRE_RC_AT_OUT_OF_RANGE:
	case WIRE_RC_BAD_ADDR:
		return ERANGE;
	case WIRE_RC_UNSUPPORTED_OP:
	case WIRE_RC_AMO_UNSUPPORTED_OP:
	case WIRE_RC_AMO_UNSUPPORTED_DT:
	case WIRE_RC_AMO_UNSUPPORTED_SIZE:
		return EOPNOTSUPP;
	default:
		return EIO;
	}
}
