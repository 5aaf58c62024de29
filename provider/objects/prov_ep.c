/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint: life cycle. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "prov_addr.h"
#include "prov_cq.h"
#include "prov_ep_parts.h"
#include "prov_fi_ops.h"
#include "prov_log.h"
#include "prov_progress.h"
#include "prov_ref.h"

static struct prov_ep *ep_of(struct fid *fid)
{
	return prov_ep_of(container_of(fid, struct fid_ep, fid));
}

static bool sends_done(void *arg)
{
	const struct prov_ep *ep = arg;
	assert_locked(ep->domain->nic);
	assert(ep->tx_used <= ep->tx_size);
	return ep->tx_used == 0;
}

/* In a forked child: closing the engine's endpoint would rewrite packets that are the parent's. */
static void ep_orphan(struct prov_poller *poller)
{
	struct prov_ep *ep = container_of(poller, struct prov_ep, poller);
	ep->enabled = false;
	ep->wep = NULL;
}

void prov_ep_start(struct prov_ep *ep)
{
	assert_locked(ep->domain->nic);
	assert(!ep->enabled && ep->wep);
	ep->poller = (struct prov_poller){.poll = ep->domain->tables->ep_events->poll, .orphan = ep_orphan};
	prov_poller_add(ep->domain->nic, &ep->poller);
	ep->enabled = true;
}

void prov_ep_expose_regions(struct prov_ep *ep, struct weft_ep *wep)
{
	bool counted = ep->cntrs[PROV_CNTR_REMOTE_READ] || ep->cntrs[PROV_CNTR_REMOTE_WRITE];
	assert_locked(ep->domain->nic);
	weft_ep_scope(wep, ep->domain->scope, counted);
}

/* What is under way is abandoned: the engine has copies of what it still sends. Lock held. */
static void ep_disconnect(struct prov_ep *ep)
{
	struct prov_nic *nic = ep->domain->nic;
	if (ep->enabled)
		prov_poller_remove(nic, &ep->poller);
	if (ep->wep)
		weft_ep_close(ep->wep);
	ep->domain->tables->ep_events->closing(ep);
	prov_req_put_all(nic, &ep->posted);
	prov_req_put_all(nic, &ep->claims);
	assert(TAILQ_EMPTY(&ep->posted) && TAILQ_EMPTY(&ep->claims) && !ep->coll);
	prov_deferred_forget(&nic->deferred, ep);
	prov_ep_unbind_shared(ep);
	if (ep->tx_cq)
		prov_cq_detach(ep->tx_cq, ep);
	if (ep->rx_cq)
		prov_cq_detach(ep->rx_cq, ep);
}

void prov_ep_drain(struct prov_ep *ep)
{
	struct prov_nic *nic = ep->domain->nic;
	if (ep->enabled)
		prov_wait_until(nic, sends_done, ep, (int)(nic->linger_ns / WEFT_MS(1)));
}

static void ep_stop(struct prov_ep *ep)
{
	struct prov_nic *nic = ep->domain->nic;
	if (!ep->is_drained)
		prov_ep_drain(ep);
	prov_nic_lock(nic);
	ep_disconnect(ep);
	prov_nic_unlock(nic);
}

/* Waits up to the linger time for outstanding sends to be acknowledged; receives are dropped. */
int prov_ep_close(struct fid *fid)
{
	struct prov_ep *ep = ep_of(fid);
	if (ep->refs)
		return -FI_EBUSY;
	assert(TAILQ_EMPTY(&ep->members) && ep->root == ep);
	ep_stop(ep);
	prov_ep_unbind(ep);
	prov_unref(&ep->domain->refs);
	free(ep);
	return 0;
}

uint32_t prov_ep_ring(const struct prov_ep *ep)
{
	enum { RING_MIN = 256, RING_MAX = 4096 }; /* operations between two polls, and their completions */
	uint32_t entries = ep->tx_size < RING_MAX ? ep->tx_size : RING_MAX;
	return entries < RING_MIN ? RING_MIN : entries;
}

int prov_ep_open_number(const struct prov_ep *ep, uint16_t port, struct weft_ep **wep, struct weft_err *err)
{
	uint32_t entries = prov_ep_ring(ep);
	assert_locked(ep->domain->nic);
	int (*open)(struct weft_engine *, uint16_t, uint32_t, uint32_t, struct weft_ep **, struct weft_err *) =
		ep->is_dgram ? weft_ep_open_dgram : weft_ep_open;
	return open(ep->domain->nic->engine, port, entries, entries, wep, err);
}

static int wep_open(struct prov_ep *ep, uint16_t port, struct weft_err *err)
{
	assert(!ep->wep);
	int ret = prov_ep_open_number(ep, port, &ep->wep, err);
	if (ret)
		return ret;
	ret = ep->domain->tables->ep_events->opened(ep, err);
	if (ret) {
		weft_ep_close(ep->wep);
		ep->wep = NULL;
	}
	return ret;
}

/* An endpoint without a port number of its own takes the first one that is free. */
static int ep_listen(struct prov_ep *ep)
{
	enum { FIRST_FREE = 0xC000, PAIRS_MAX = 0x2000 };
	struct weft_err err = {""};
	assert_locked(ep->domain->nic);
	int ret = wep_open(ep, ep->addr.port ? ep->addr.port : ep->wished, &err);
	if (ret == -FI_EADDRINUSE && !ep->addr.port && ep->wished)
		ret = wep_open(ep, 0, &err);
	for (uint32_t i = 0; ret == -FI_EADDRINUSE && !ep->addr.port && i < PAIRS_MAX; i++)
		ret = wep_open(ep, (uint16_t)(FIRST_FREE + 2 * i), &err);
	if (ret) {
		FI_WARN(&prov_weft, FI_LOG_EP_CTRL, "%s\n", err.msg);
		return ret;
	}
	ep->addr.port = weft_ep_port(ep->wep);
	if (ep->is_msg)
		weft_ep_only_from(ep->wep, NULL);
	if (ep->srx)
		weft_ep_share(ep->wep, ep->srx->wep);
	return 0;
}

int prov_ep_listen(struct prov_ep *ep)
{
	assert_locked(ep->domain->nic);
	return ep->wep ? 0 : ep->listen(ep);
}

static bool is_reported(bool needed, const struct prov_cq *cq, const struct prov_cntr *cntr)
{
	return !needed || cq || cntr;
}

static int ep_enable(struct prov_ep *ep)
{
	if (ep->enabled)
		return 0;
	prov_ep_inherit(ep);
	if (!ep->av && !ep->is_msg)
		return -FI_ENOAV;
	if (!is_reported(ep->caps & FI_SEND && !ep->no_tx, ep->tx_cq, ep->cntrs[PROV_CNTR_TRANSMIT]) ||
	    !is_reported(ep->caps & FI_RECV && !ep->no_rx, ep->rx_cq, ep->cntrs[PROV_CNTR_RECV]))
		return -FI_ENOCQ;
	prov_nic_lock(ep->domain->nic);
	int ret = prov_ep_listen(ep);
	if (!ret) {
		prov_ep_expose_regions(ep, ep->wep);
		prov_ep_start(ep);
	}
	prov_nic_unlock(ep->domain->nic);
	return ret;
}

int prov_ep_control(struct fid *fid, int command, void *arg)
{
	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep_of(fid));
	case FI_ALIAS:
		return prov_ep_alias(ep_of(fid), arg);
	case FI_GETOPSFLAG:
	case FI_SETOPSFLAG:
		return prov_ep_op_flags(ep_of(fid), command == FI_SETOPSFLAG, arg);
	}
	return -FI_ENOSYS;
}

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = prov_ep_close,
	.bind = prov_ep_bind,
	.control = prov_ep_control,
	.ops_open = prov_ops_open,
};

/* The source port an application asked for travels in the fi_info. */
int prov_ep_init(struct prov_ep *ep, const struct fi_info *info)
{
	struct prov_nic *nic = ep->domain->nic;
	struct weft_addr src = {.port = 0};
	enum fi_ep_type type = info->ep_attr ? info->ep_attr->type : FI_EP_UNSPEC;
	if (ep->is_msg ? type != FI_EP_MSG : type != FI_EP_UNSPEC && type != FI_EP_RDM && type != FI_EP_DGRAM)
		return -FI_EINVAL;
	if (info->src_addr && prov_addr_from_sock(info->src_addr, info->src_addrlen, &nic->ip, &src))
		return -FI_EINVAL;
	ep->addr.port = src.port;
	ep->is_dgram = type == FI_EP_DGRAM;
	ep->caps = info->caps;
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->tx_size = info->tx_attr && info->tx_attr->size ? (uint32_t)info->tx_attr->size : PROV_QUEUE_DEFAULT;
	return 0;
}

static void tables_set(struct fid_ep *fid, const struct prov_tables *tables)
{
	fid->ops = tables->ep;
	fid->cm = tables->cm;
	fid->msg = tables->msg;
	fid->tagged = tables->tagged;
	fid->rma = tables->rma;
	fid->atomic = tables->atomic;
	fid->collective = tables->collective;
}

struct prov_ep *prov_ep_new(struct prov_domain *domain, size_t bytes, size_t fclass, void *context)
{
	assert(bytes >= sizeof(struct prov_ep));
	struct prov_ep *ep = calloc(1, bytes);
	if (!ep)
		return NULL;
	ep->root = ep;
	ep->domain = domain;
	ep->addr.ip = domain->nic->ip;
	ep->tx_size = PROV_QUEUE_DEFAULT;
	ep->min_multi_recv = PROV_MIN_MULTI_RECV;
	ep->listen = ep_listen;
	TAILQ_INIT(&ep->posted);
	TAILQ_INIT(&ep->claims);
	TAILQ_INIT(&ep->members);
	ep->fid.fid.fclass = fclass;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	tables_set(&ep->fid, domain->tables);
	prov_ref(&domain->refs);
	return ep;
}

int prov_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct prov_domain *domain = prov_domain_of(fid);
	struct prov_ep *ep = prov_ep_new(domain, sizeof *ep, FI_CLASS_EP, context);
	int ret = ep ? prov_ep_init(ep, info) : -FI_ENOMEM;
	if (ret) {
		if (ep)
			prov_ep_close(&ep->fid.fid);
		return ret;
	}
	*out = &ep->fid;
	return 0;
}
