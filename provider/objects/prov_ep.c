/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint: life cycle and binding. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "ctx.h"
#include "prov_atomic.h"
#include "prov_rma.h"
#include "trigger.h"

static struct prov_ep *ep_of(struct fid *fid)
{
	return prov_ep_of(container_of(fid, struct fid_ep, fid));
}

static bool sends_done(void *arg)
{
	return ((struct prov_ep *)arg)->tx_used == 0;
}

static void ep_stop(struct prov_ep *ep)
{
	struct prov_nic *nic = ep->domain->nic;
	if (ep->enabled)
		prov_wait_until(nic, sends_done, ep, (int)(nic->linger_ns / WEFT_MS(1)));
	prov_nic_lock(nic);
	if (ep->enabled)
		TAILQ_REMOVE(&nic->eps, ep, link);
	if (ep->wep)
		weft_ep_close(ep->wep);
	prov_coll_close(ep);
	prov_req_abandon(ep);
	prov_trigger_drop(nic, ep, NULL);
	prov_shared_unbind(ep);
	if (ep->tx_cq)
		prov_cq_detach(ep->tx_cq, ep);
	if (ep->rx_cq)
		prov_cq_detach(ep->rx_cq, ep);
	prov_nic_unlock(nic);
}

static void ep_unbind(struct prov_ep *ep)
{
	if (ep->tx_cq)
		ep->tx_cq->refs--;
	if (ep->rx_cq)
		ep->rx_cq->refs--;
	for (int i = 0; i < PROV_CNTRS; i++)
		if (ep->cntrs[i])
			ep->cntrs[i]->refs--;
	if (ep->av)
		ep->av->refs--;
	if (ep->eq)
		ep->eq->refs--;
}

/* Outstanding sends get the linger time to be acknowledged; receives are dropped. */
int prov_ep_close(struct fid *fid)
{
	struct prov_ep *ep = ep_of(fid);
	if (ep->refs)
		return -FI_EBUSY;
	ep_stop(ep);
	ep_unbind(ep);
	ep->domain->refs--;
	free(ep);
	return 0;
}

static int bind_cq(struct prov_ep *ep, struct prov_cq *cq, uint64_t flags)
{
	bool selective = flags & FI_SELECTIVE_COMPLETION;
	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) || !(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain || (flags & FI_TRANSMIT && ep->tx_cq) || (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
		cq->refs++;
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		cq->refs++;
	}
	return 0;
}

static int bind_cntr(struct prov_ep *ep, struct prov_cntr *cntr, uint64_t flags)
{
	static const uint64_t flag_of[PROV_CNTRS] = {
		[PROV_CNTR_TRANSMIT] = FI_TRANSMIT,
		[PROV_CNTR_RECV] = FI_RECV,
		[PROV_CNTR_READ] = FI_READ,
		[PROV_CNTR_WRITE] = FI_WRITE,
		[PROV_CNTR_REMOTE_READ] = FI_REMOTE_READ,
		[PROV_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
	};
	uint64_t unknown = flags;
	if (cntr->domain != ep->domain)
		return -FI_EINVAL;
	for (int i = 0; i < PROV_CNTRS; i++) {
		unknown &= ~flag_of[i];
		if (flags & flag_of[i] && ep->cntrs[i])
			return -FI_EINVAL;
	}
	if (unknown)
		return -FI_EBADFLAGS;
	for (int i = 0; i < PROV_CNTRS; i++)
		if (flags & flag_of[i]) {
			ep->cntrs[i] = cntr;
			cntr->refs++;
		}
	return 0;
}

static int bind_av(struct prov_ep *ep, struct prov_av *av)
{
	if (ep->av || av->domain != ep->domain)
		return -FI_EINVAL;
	ep->av = av;
	av->refs++;
	return 0;
}

static int bind_eq(struct prov_ep *ep, struct prov_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	ep->eq = eq;
	eq->refs++;
	return 0;
}

int prov_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_ep *ep = ep_of(fid);
	if (ep->enabled)
		return -FI_EOPBADSTATE;
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, container_of(bfid, struct prov_cq, fid.fid), flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, container_of(bfid, struct prov_cntr, fid.fid), flags);
	case FI_CLASS_AV:
		return bind_av(ep, container_of(bfid, struct prov_av, fid.fid));
	case FI_CLASS_EQ:
		return bind_eq(ep, container_of(bfid, struct prov_eq, fid.fid));
	case FI_CLASS_STX_CTX:
		return prov_stx_bind(ep, bfid);
	case FI_CLASS_SRX_CTX:
		return prov_srx_bind(ep, bfid);
	}
	return -FI_EINVAL;
}

uint32_t prov_ep_ring(const struct prov_ep *ep)
{
	enum { RING_MIN = 256, RING_MAX = 4096 }; /* operations between two polls, and their completions */
	uint32_t entries = ep->tx_size < RING_MAX ? ep->tx_size : RING_MAX;
	return entries < RING_MIN ? RING_MIN : entries;
}

static int wep_open(struct prov_ep *ep, uint16_t port, struct weft_err *err)
{
	uint32_t entries = prov_ep_ring(ep);
	int (*open)(struct weft_engine *, uint16_t, uint32_t, uint32_t, struct weft_ep **, struct weft_err *) =
		ep->is_dgram ? weft_ep_open_dgram : weft_ep_open;
	int ret = open(ep->domain->nic->engine, port, entries, entries, &ep->wep, err);
	if (ret || ep->is_dgram || !(ep->caps & FI_COLLECTIVE))
		return ret;
	ret = prov_coll_open(ep);
	if (ret) {
		weft_err_set(err, ret, "endpoint %u: no number behind it for collective operations",
			     weft_ep_port(ep->wep));
		weft_ep_close(ep->wep);
		ep->wep = NULL;
	}
	return ret;
}

/* Without a number of its own an endpoint takes the first that will do. */
static int ep_listen(struct prov_ep *ep)
{
	enum { FIRST_FREE = 0xC000, PAIRS_MAX = 0x2000 };
	struct weft_err err = {""};
	int ret = wep_open(ep, ep->addr.port, &err);
	for (uint32_t i = 0; ret == -FI_EADDRINUSE && !ep->addr.port && i < PAIRS_MAX; i++)
		ret = wep_open(ep, (uint16_t)(FIRST_FREE + 2 * i), &err);
	if (ret) {
		FI_WARN(&prov_weft, FI_LOG_EP_CTRL, "%s\n", err.msg);
		return ret;
	}
	ep->addr.port = weft_ep_port(ep->wep);
	if (ep->srx)
		weft_ep_share(ep->wep, ep->srx->wep);
	return 0;
}

int prov_ep_listen(struct prov_ep *ep)
{
	return ep->wep ? 0 : ep->listen(ep);
}

/* A context has what its scalable endpoint is bound to, unless it was bound to something else. */
static void ep_inherit(struct prov_ep *ep)
{
	struct prov_ep *sep = ep->sep;
	if (!sep)
		return;
	if (!ep->av && sep->av)
		bind_av(ep, sep->av);
	if (!ep->no_tx && !ep->tx_cq && sep->tx_cq)
		bind_cq(ep, sep->tx_cq, FI_TRANSMIT | (sep->tx_selective ? FI_SELECTIVE_COMPLETION : 0));
	if (!ep->no_rx && !ep->rx_cq && sep->rx_cq)
		bind_cq(ep, sep->rx_cq, FI_RECV | (sep->rx_selective ? FI_SELECTIVE_COMPLETION : 0));
	for (int i = 0; i < PROV_CNTRS; i++)
		if (!ep->cntrs[i] && sep->cntrs[i]) {
			ep->cntrs[i] = sep->cntrs[i];
			ep->cntrs[i]->refs++;
		}
}

static bool is_reported(bool needed, const struct prov_cq *cq, const struct prov_cntr *cntr)
{
	return !needed || cq || cntr;
}

static int ep_enable(struct prov_ep *ep)
{
	if (ep->enabled)
		return 0;
	ep_inherit(ep);
	if (!ep->av)
		return -FI_ENOAV;
	if (!is_reported(ep->caps & FI_SEND && !ep->no_tx, ep->tx_cq, ep->cntrs[PROV_CNTR_TRANSMIT]) ||
	    !is_reported(ep->caps & FI_RECV && !ep->no_rx, ep->rx_cq, ep->cntrs[PROV_CNTR_RECV]))
		return -FI_ENOCQ;
	prov_nic_lock(ep->domain->nic);
	int ret = prov_ep_listen(ep);
	if (!ret) {
		prov_mr_reach(ep, ep->wep);
		TAILQ_INSERT_TAIL(&ep->domain->nic->eps, ep, link);
		ep->enabled = true;
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
	if (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC && info->ep_attr->type != FI_EP_RDM &&
	    info->ep_attr->type != FI_EP_DGRAM)
		return -FI_EINVAL;
	if (info->src_addr && prov_addr_from_sock(info->src_addr, info->src_addrlen, &nic->ip, &src))
		return -FI_EINVAL;
	ep->addr.port = src.port;
	ep->is_dgram = info->ep_attr && info->ep_attr->type == FI_EP_DGRAM;
	ep->caps = info->caps;
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->tx_size = info->tx_attr && info->tx_attr->size ? (uint32_t)info->tx_attr->size : PROV_QUEUE_DEFAULT;
	return 0;
}

struct prov_ep *prov_ep_new(struct prov_domain *domain, size_t bytes, size_t fclass, void *context)
{
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
	ep->fid.ops = &prov_ep_ops;
	ep->fid.cm = &prov_cm_ops;
	ep->fid.msg = &prov_msg_ops;
	ep->fid.tagged = &prov_tagged_ops;
	ep->fid.rma = &prov_rma_ops;
	ep->fid.atomic = &prov_atomic_ops;
	ep->fid.collective = &prov_coll_ops;
	domain->refs++;
	return ep;
}

int prov_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct prov_domain *domain = container_of(fid, struct prov_domain, fid);
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
