/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations handed to the engine. */
#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_amo.h"
#include "prov_iov.h"
#include "prov_mr.h"
#include "prov_xmit.h"

/* One operation of the engine for each remote segment, the first fenced if any is. */
static void fill_parts(struct prov_req *req, const struct prov_amo_plan *plan, const struct weft_op *whole,
		       struct weft_op *parts)
{
	assert(plan->parts > 0 && plan->parts <= PROV_IOV_MAX);
	for (size_t i = 0; i < plan->parts; i++) {
		parts[i] = *whole;
		parts[i].flags &= (uint16_t) ~(i ? WEFT_OP_FENCE : 0);
		parts[i].len = plan->remote[i].count * weft_amo_bytes(plan->atomic.type);
		parts[i].raddr = plan->remote[i].addr;
		parts[i].rkey = plan->remote[i].key;
		parts[i].atomic = &req->atomics[i];
		req->atomics[i] = plan->atomic;
	}
}

/* Copies `len` bytes of the pieces, from `offset` on; returns the end of the copy. */
static uint8_t *copy_from(uint8_t *to, const struct iovec *iov, uint64_t offset, uint64_t len)
{
	for (; len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		uint64_t n = len < iov->iov_len - offset ? len : iov->iov_len - offset;
		memcpy(to, (const uint8_t *)iov->iov_base + offset, n);
		to += n;
		len -= n;
		offset = 0;
	}
	return to;
}

/* A copy in which each part has its operands and comparands in a row, behind room for `kept` bytes of results. */
static int bounce_fill(struct prov_req *req, const struct prov_amo_plan *plan, uint64_t kept, struct weft_op *parts)
{
	uint64_t at = 0;
	assert(!req->bounce);
	uint8_t *p = req->bounce = malloc(kept + plan->in_bytes);
	if (!p)
		return -FI_EAGAIN;
	p += kept;
	for (size_t i = 0; i < plan->parts && plan->in_bytes; i++) {
		parts[i].buf = p;
		p = copy_from(p, plan->in, at, parts[i].len);
		if (plan->in_count > plan->operand_count)
			p = copy_from(p, plan->in + plan->operand_count, at, parts[i].len);
		at += parts[i].len;
	}
	assert(!plan->in_bytes || p == (uint8_t *)req->bounce + kept + plan->in_bytes);
	return 0;
}

static void results_set(struct prov_req *req, const struct prov_amo_plan *plan, struct weft_op *parts)
{
	uint8_t *to = req->gathered ? req->bounce : plan->out_count == 1 ? plan->out[0].iov_base : NULL;
	for (size_t i = 0; to && i < plan->parts; i++) {
		req->atomics[i].result = to;
		to += parts[i].len;
	}
	if (plan->out_count < 2)
		return;
	memcpy(req->iov, plan->out, plan->out_count * sizeof *plan->out);
	req->iov_count = (uint32_t)plan->out_count;
	if (req->gathered)
		return; /* scattered at the end */
	parts[0].sink = prov_req_scatter;
	parts[0].sink_arg = req;
}

/* Where the engine finds operands and leaves results. */
static int buffers_set(struct prov_req *req, const struct prov_amo_plan *plan, uint64_t flags, struct weft_op *parts)
{
	bool copied = plan->in_bytes && (flags & FI_INJECT || plan->in_count > 1 || plan->parts > 1);
	req->gathered = plan->out_count > 1 && plan->parts > 1;
	parts[0].buf = req->entry.buf;
	if ((copied || req->gathered) && bounce_fill(req, plan, req->gathered ? plan->bytes : 0, parts))
		return -FI_EAGAIN;
	results_set(req, plan, parts);
	return 0;
}

static ssize_t amo_submit(struct prov_ep *ep, const struct prov_amo *c, const struct prov_amo_plan *plan,
			  struct prov_work work, struct weft_op *wop)
{
	bool fetches = c->family != PROV_AMO_BASE;
	const struct prov_req_attr attr = {.entry_flags = FI_ATOMIC | (fetches ? FI_READ : FI_WRITE),
					   .op_flags = c->flags,
					   .buf = plan->in_count ? plan->in[0].iov_base : NULL,
					   .context = c->msg->context,
					   .work = work};
	struct weft_op parts[PROV_IOV_MAX];
	struct prov_req *req = prov_tx_req_new(ep, &attr);
	if (!req)
		return -FI_EAGAIN;
	req->counter = fetches ? PROV_CNTR_READ : PROV_CNTR_WRITE;
	wop->context = req;
	fill_parts(req, plan, wop, parts);
	if (buffers_set(req, plan, c->flags, parts)) {
		prov_req_put(ep->domain->nic, req);
		return -FI_EAGAIN;
	}
	return prov_tx_submit(ep, req, parts, (unsigned)plan->parts);
}

static ssize_t amo_locked(struct prov_ep *ep, const struct prov_amo *c, struct prov_work work)
{
	struct prov_amo_plan plan;
	int ret = prov_amo_plan(ep->domain, c, &plan);
	if (ret)
		return ret;
	if (prov_mr_device_has(ep->domain, plan.in, plan.in_count) ||
	    prov_mr_device_has(ep->domain, plan.out, plan.out_count))
		return -FI_EOPNOTSUPP;
	struct weft_op wop = {.kind = c->family == PROV_AMO_BASE ? WEFT_OP_ATOMIC : WEFT_OP_FETCH_ATOMIC};
	ret = prov_tx_dest(ep, c->msg->addr, &wop.peer);
	if (ret)
		return ret;
	if (c->flags & FI_INJECT && plan.in_bytes > PROV_INJECT_BYTES)
		return -FI_EMSGSIZE;
	ret = prov_tx_set_level(c->flags, &wop);
	if (!ret)
		ret = prov_tx_begin(ep, (unsigned)plan.parts, wop.peer);
	wop.flags &= (uint16_t)~WEFT_OP_MATCHED;
	return ret ? ret : amo_submit(ep, c, &plan, work, &wop);
}

int prov_amo_check_flags(uint64_t flags)
{
	return flags & (FI_TAGGED | FI_REMOTE_CQ_DATA) ? -FI_EBADFLAGS : 0;
}

ssize_t prov_amo_post(struct prov_ep *ep, const struct prov_amo *amo, struct prov_work work)
{
	assert_locked(ep->domain->nic);
	assert(!prov_amo_check_flags(amo->flags) && !(amo->flags & FI_TRIGGER));
	return prov_tx_flush(ep->domain->nic, amo_locked(ep, amo, work), amo->flags, false);
}
