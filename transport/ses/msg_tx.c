/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that send, from submission to the queue of a connection. */
#include "msg_tx.h"

#include <errno.h>

#include "completion.h"
#include "msg_local.h"
#include "rma.h"
#include "rudi.h"

/* Whether an operation that is APART or IDEMPOTENT asks for no order: it is in none with others of its connection. */
static bool flags_fit(const struct weft_op *op)
{
	if (op->flags & WEFT_OP_APART)
		return (op->kind == WEFT_OP_SEND || op->kind == WEFT_OP_TSEND) &&
		       !(op->flags & (WEFT_OP_FENCE | WEFT_OP_MATCHED | WEFT_OP_IDEMPOTENT));
	return (op->kind == WEFT_OP_WRITE || op->kind == WEFT_OP_READ) &&
	       !(op->flags & (WEFT_OP_HAS_DATA | WEFT_OP_FENCE | WEFT_OP_DELIVERED));
}

static int check(const struct ses *ses, const struct peer *to, const struct weft_op *op)
{
	if (ses->shutting_down)
		return ESHUTDOWN;
	if (pds_refuses(ses->pds))
		return ENOTSUP;
	if (!to || weft_ip_is_v4(&to->addr.ip) != ses->pds->conf.is_v4)
		return EINVAL;
	if ((op->kind == WEFT_OP_ATOMIC || op->kind == WEFT_OP_FETCH_ATOMIC) && !rma_amo_valid(ses, op))
		return EINVAL;
	/* It is announced and fetched by the receive: endpoints of UET's profiles know no such announcement. */
	if (op->flags & WEFT_OP_MATCHED && ses->pds->conf.tune.profile != WEFT_PROFILE_WEFT)
		return EOPNOTSUPP;
	if (op->flags & (WEFT_OP_IDEMPOTENT | WEFT_OP_APART) && !flags_fit(op))
		return EINVAL;
	return op->len > WEFT_MSG_BYTES_MAX ? EMSGSIZE : 0;
}

static void refuse(struct ses *ses, struct weft_ep *ep, struct cqe_node *node, const struct weft_op *op, int err)
{
	ses->stats->msg_failed++;
	ep_complete(ses, ep, node,
		    &(struct weft_cqe){.context = op->context, .kind = op->kind, .err = err, .peer = op->peer});
}

static void fill(const struct ses *ses, struct tx_msg *m, struct weft_ep *ep, const struct weft_op *op,
		 struct cqe_node *node, uint16_t dst_port)
{
	bool fenced = op->flags & WEFT_OP_FENCE;
	*m = (struct tx_msg){.run = {.buf = op->buf, .bytes = (uint32_t)op->len, .fenced = fenced, .special = fenced},
			     .ep = ep,
			     .context = op->context,
			     .node = node,
			     .tag = op->tag,
			     .data = op->data,
			     .since_ns = ses->polled_ns,
			     .src_port = ep->port,
			     .dst_port = dst_port,
			     .job_id = ses->pds->conf.tune.job_id,
			     .kind = op->kind,
			     .has_data = op->flags & WEFT_OP_HAS_DATA,
			     .peer = op->peer};
}

/* More than a plain message: for memory, announced, or completed by a receive. */
static bool needs_rma(const struct ses *ses, const struct pdc_tx *p, const struct weft_op *op)
{
	if (op->kind != WEFT_OP_SEND && op->kind != WEFT_OP_TSEND)
		return true;
	bool large = ses->pds->conf.tune.rndv_bytes && op->len > ses->pds->conf.tune.rndv_bytes;
	bool announced = op->flags & WEFT_OP_MATCHED || (large && pdc_tx_may_announce(ses->pds, p));
	return announced && !(op->flags & (WEFT_OP_BACKGROUND | WEFT_OP_APART));
}

static struct pdc_tx *connection(struct ses *ses, struct remote *remote, const struct weft_op *op, weft_ns now)
{
	bool background = op->flags & WEFT_OP_BACKGROUND;
	return unlikely(op->flags & WEFT_OP_APART) ? pdc_tx_apart(ses->pds, remote, background, now)
						   : pdc_tx_get(ses->pds, remote, background, now);
}

/* The message first: without it nobody would use a connection apart. */
static bool queue(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct peer *to,
		  struct cqe_node *node, weft_ns now)
{
	struct tx_msg *m = pool_get(&ses->tx_msgs);
	if (!m)
		return false;
	assert(node && to->remote);
	fill(ses, m, ep, op, node, to->addr.port);
	struct pdc_tx *p = connection(ses, to->remote, op, now);
	if (!p || (needs_rma(ses, p, op) && !rma_tx_attach(ses, p, m, op))) {
		pool_put(&ses->tx_msgs, m);
		return false;
	}
	pdc_tx_queue(ses->pds, p, &m->run, now);
	return true;
}

static bool local(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to)
{
	bool message = op->kind == WEFT_OP_SEND || op->kind == WEFT_OP_TSEND;
	return message ? msg_local_send(ses, ep, op, to) : rma_local(ses, ep, op, to);
}

bool msg_tx_start(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	const struct peer *to = peer_get(&ses->peers, op->peer);
	int err = check(ses, to, op);
	if (!err && weft_ip_eq(&to->addr.ip, &ses->pds->conf.ip))
		return local(ses, ep, op, &to->addr);
	struct cqe_node *node = cqe_reserve(ses);
	if (!node)
		return false;
	if (err) {
		refuse(ses, ep, node, op, err);
		return true;
	}
	if (op->flags & WEFT_OP_IDEMPOTENT ? rudi_start(ses, ep, op, node) : queue(ses, ep, op, to, node, now))
		return true;
	cqe_release(ses, node);
	return false;
}
