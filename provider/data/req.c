/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: a pool per device, and what becomes of them when the engine is done. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_rma.h"

enum { CHUNK_REQS = 64 };

struct chunk {
	struct chunk *next;
	struct prov_req reqs[CHUNK_REQS];
};

static bool pool_grow(struct prov_nic *nic)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);
	if (!chunk)
		return false;
	chunk->next = nic->req_chunks;
	nic->req_chunks = chunk;
	for (int i = 0; i < CHUNK_REQS; i++)
		TAILQ_INSERT_HEAD(&nic->reqs, &chunk->reqs[i], link);
	nic->req_count += CHUNK_REQS;
	return true;
}

struct prov_req *prov_req_get(struct prov_nic *nic)
{
	if (TAILQ_EMPTY(&nic->reqs) && !pool_grow(nic))
		return NULL;
	struct prov_req *req = TAILQ_FIRST(&nic->reqs);
	TAILQ_REMOVE(&nic->reqs, req, link);
	nic->req_count--;
	*req = (struct prov_req){.src = FI_ADDR_NOTAVAIL};
	return req;
}

void prov_req_put(struct prov_nic *nic, struct prov_req *req)
{
	free(req->bounce);
	req->bounce = NULL;
	TAILQ_INSERT_HEAD(&nic->reqs, req, link); /* the warmest first */
	nic->req_count++;
}

bool prov_req_ensure(struct prov_nic *nic, size_t count)
{
	while (nic->req_count < count)
		if (!pool_grow(nic))
			return false;
	return true;
}

void prov_req_free_all(struct prov_nic *nic)
{
	struct chunk *chunk = nic->req_chunks;
	while (chunk) {
		struct chunk *next = chunk->next;
		for (int i = 0; i < CHUNK_REQS; i++)
			free(chunk->reqs[i].bounce);
		free(chunk);
		chunk = next;
	}
}

void prov_req_abandon(struct prov_ep *ep)
{
	struct prov_nic *nic = ep->domain->nic;
	struct prov_req_list *const lists[] = {&ep->posted, &ep->claims};
	for (size_t i = 0; i < count_of(lists); i++) {
		struct prov_req *req;
		while ((req = TAILQ_FIRST(lists[i]))) {
			TAILQ_REMOVE(lists[i], req, link);
			prov_req_put(nic, req);
		}
	}
}

/* errno of the engine to what libfabric calls it; most are the same numbers. */
static int fi_errno_of(int err)
{
	if (err == ERANGE)
		return FI_EINVAL;
	return err == EMSGSIZE ? FI_ETRUNC : err;
}

static void entry_fill(struct prov_req *req, const struct weft_cqe *cqe)
{
	req->entry.err = fi_errno_of(cqe->err);
	req->entry.prov_errno = cqe->err;
	req->entry.len = cqe->len;
	req->entry.olen = cqe->olen;
	if (req->is_send)
		return;
	req->entry.tag = cqe->tag;
	req->entry.data = cqe->data;
	if (cqe->flags & WEFT_OP_HAS_DATA)
		req->entry.flags |= FI_REMOTE_CQ_DATA;
	req->src = prov_av_of_peer(req->ep->av, cqe->peer);
}

/* FI_SOURCE_ERR: the message is here, but its source has no fi_addr_t; the address comes as an error's details. */
static void source_err(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	if (!(ep->caps & FI_SOURCE_ERR) || req->is_send || req->entry.err || req->src != FI_ADDR_NOTAVAIL ||
	    cqe->kind == WEFT_OP_PEEK)
		return;
	const struct weft_addr *from = weft_peer_addr(ep->domain->nic->engine, cqe->peer);
	struct sockaddr_storage ss;
	size_t len = prov_addr_len(&from->ip);
	void *copy = malloc(len);
	prov_addr_to_sock(from, &ss);
	if (copy)
		memcpy(copy, &ss, len);
	req->entry.err = req->entry.prov_errno = FI_EADDRNOTAVAIL;
	req->entry.err_data = copy; /* the queue frees it */
	req->entry.err_data_size = copy ? len : 0;
}

static void count(struct prov_cntr *cntr, int err)
{
	if (cntr)
		prov_cntr_count(cntr, !err, err != 0);
}

/* The request that tells of one message in a buffer for many; the buffer's own one when it is the last. */
static struct prov_req *multi_piece(struct prov_nic *nic, struct prov_req *req, const struct weft_cqe *cqe)
{
	struct prov_req *piece = req;
	if (cqe->flags & WEFT_OP_MULTI) {
		req->entry.flags |= FI_MULTI_RECV;
		req->wants_entry = true; /* whatever the application left out: the buffer is its own again */
	} else {
		piece = prov_req_get(nic);
		piece->entry = req->entry;
		piece->wants_entry = req->wants_entry;
	}
	piece->entry.buf = (uint8_t *)req->entry.buf + cqe->offset;
	return piece;
}

/* No message, just the buffer. */
static void multi_release(struct prov_ep *ep, struct prov_req *req)
{
	TAILQ_REMOVE(&req->ep->posted, req, link);
	req->ep = ep;
	req->entry.flags = FI_MULTI_RECV;
	req->entry.buf = NULL;
	if (ep->rx_cq)
		prov_cq_push(ep->rx_cq, req);
	else
		prov_req_put(ep->domain->nic, req);
}

/* What ends at a shared context itself, because no message came, any endpoint bound to it may report. */
static struct prov_ep *reporter(struct prov_ep *ep)
{
	struct prov_ep *member = TAILQ_FIRST(&ep->members);
	return member ? member : ep;
}

/* One operation of the engine has ended; false: others of the request have not. The first error is that of all. */
static bool part_done(struct prov_req *req, const struct weft_cqe *cqe)
{
	req->part_bytes += cqe->len;
	if (!req->entry.prov_errno)
		req->entry.prov_errno = cqe->err;
	return --req->parts == 0;
}

/* The request of the transmit side as a whole. */
static struct weft_cqe whole(struct prov_req *req, struct weft_cqe cqe)
{
	cqe.err = req->entry.prov_errno;
	cqe.len = cqe.err ? 0 : req->part_bytes;
	if (req->gathered && !cqe.err)
		prov_req_scatter(req, 0, req->bounce, (uint32_t)cqe.len);
	return cqe;
}

void prov_req_done(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *last)
{
	const struct weft_cqe *cqe = last;
	struct weft_cqe sum;
	ep = reporter(ep);
	if (req->is_send) {
		if (!part_done(req, last))
			return;
		sum = whole(req, *last);
		cqe = &sum;
	}
	struct prov_cq *cq = req->is_send ? ep->tx_cq : ep->rx_cq;
	if (cqe->kind == WEFT_OP_RELEASE) {
		multi_release(ep, req);
		return;
	}
	if (!req->is_multi || cqe->flags & WEFT_OP_MULTI)
		TAILQ_REMOVE(&req->ep->posted, req, link);
	if (req->is_multi)
		req = multi_piece(ep->domain->nic, req, cqe);
	req->ep = ep;
	ep->tx_used -= req->is_send;
	entry_fill(req, cqe);
	if (cqe->kind != WEFT_OP_PEEK)
		count(req->deferred ? req->work_cntr : ep->cntrs[req->is_send ? req->counter : PROV_CNTR_RECV],
		      cqe->err);
	req->claim &= !cqe->err;
	bool all = !req->is_send && !ep->rx_selective && !req->deferred;
	bool failed = req->entry.err && !(req->deferred && req->work_cntr);
	if (cq)
		source_err(ep, req, cqe);
	if (cq && (all || req->wants_entry || failed || req->entry.err == FI_EADDRNOTAVAIL))
		prov_cq_push(cq, req);
	else
		prov_req_put(ep->domain->nic, req);
}
