/* SPDX-License-Identifier: BSD-3-Clause */
/* What endpoints are bound to. */
#include <assert.h>
#include <errno.h>

#include "member.h"
#include "prov_av.h"
#include "prov_cntr.h"
#include "prov_cq.h"
#include "prov_ep_parts.h"
#include "prov_eq.h"
#include "prov_ref.h"

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
		prov_ref(&cq->refs);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		prov_ref(&cq->refs);
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
			prov_ref(&cntr->refs);
		}
	return 0;
}

static int bind_av(struct prov_ep *ep, struct prov_av *av)
{
	if (ep->av || av->domain != ep->domain)
		return -FI_EINVAL;
	ep->av = av;
	prov_ref(&av->refs);
	return 0;
}

static int bind_eq(struct prov_ep *ep, struct prov_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	ep->eq = eq;
	prov_ref(&eq->refs);
	return 0;
}

static int bind_stx(struct prov_ep *ep, struct prov_stx *stx)
{
	if (ep->stx || ep->no_tx || stx->domain != ep->domain)
		return -FI_EINVAL;
	ep->stx = stx;
	ep->tx_size = stx->tx_size;
	prov_ref(&stx->refs);
	return 0;
}

static int bind_srx(struct prov_ep *ep, struct prov_ep *srx)
{
	if (ep->srx || ep->no_rx || ep->sep || ep->wep || srx->domain != ep->domain)
		return -FI_EINVAL;
	assert(srx->wep && srx != ep);
	prov_nic_lock(ep->domain->nic);
	ep->srx = srx;
	TAILQ_INSERT_TAIL(&srx->members, ep, member);
	prov_ref(&srx->refs);
	prov_nic_unlock(ep->domain->nic);
	return 0;
}

int prov_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_ep *ep = prov_ep_of(container_of(fid, struct fid_ep, fid));
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
		return bind_stx(ep, container_of(bfid, struct prov_stx, fid.fid));
	case FI_CLASS_SRX_CTX:
		return bind_srx(ep, container_of(bfid, struct prov_ep, fid.fid));
	}
	return -FI_EINVAL;
}

void prov_ep_inherit(struct prov_ep *ep)
{
	struct prov_ep *sep = ep->sep;
	assert(!ep->enabled);
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
			prov_ref(&ep->cntrs[i]->refs);
		}
}

void prov_ep_unbind(struct prov_ep *ep)
{
	if (ep->tx_cq)
		prov_unref(&ep->tx_cq->refs);
	if (ep->rx_cq)
		prov_unref(&ep->rx_cq->refs);
	for (int i = 0; i < PROV_CNTRS; i++)
		if (ep->cntrs[i])
			prov_unref(&ep->cntrs[i]->refs);
	if (ep->av)
		prov_unref(&ep->av->refs);
	if (ep->eq)
		prov_unref(&ep->eq->refs);
}

void prov_ep_unbind_shared(struct prov_ep *ep)
{
	assert_locked(ep->domain->nic);
	if (ep->stx)
		prov_unref(&ep->stx->refs);
	if (ep->srx) {
		assert(!TAILQ_EMPTY(&ep->srx->members));
		TAILQ_REMOVE(&ep->srx->members, ep, member);
		prov_unref(&ep->srx->refs);
	}
}
