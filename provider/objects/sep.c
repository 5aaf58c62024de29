/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable endpoints: one address, up to 16 transmit and 16 receive contexts. Receive context i has the endpoint number
 * of the address plus i on the engine, so that it can be named (FI_NAMED_RX_CTX); transmit contexts send from the
 * address itself, so that a received message has the same source whichever context sent it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_ep_parts.h"
#include "prov_fi_ops.h"
#include "prov_log.h"
#include "prov_ref.h"
#include "prov_refuse.h"

struct prov_sep {
	struct prov_ep ep; /* `listen` opens all of `weps` */
	struct fi_tx_attr tx_attr;
	struct fi_rx_attr rx_attr;
	uint32_t tx_count, rx_count;
	bool is_open; /* its port numbers are open on the engine */
	struct prov_ep *tx[PROV_CTX_MAX], *rx[PROV_CTX_MAX];
	struct weft_ep *weps[PROV_CTX_MAX]; /* of receive contexts that are not enabled, at least one: they keep the
					     * numbers, and what arrives */
};

static struct prov_sep *sep_of(struct fid_ep *fid)
{
	return container_of(container_of(fid, struct prov_ep, fid), struct prov_sep, ep);
}

static uint32_t numbers(const struct prov_sep *sep)
{
	assert(sep->rx_count <= PROV_CTX_MAX);
	return sep->rx_count ? sep->rx_count : 1;
}

/* ---- the numbers of one address ---- */

static void block_close(struct prov_sep *sep)
{
	for (uint32_t i = 0; i < PROV_CTX_MAX; i++)
		if (sep->weps[i]) {
			weft_ep_close(sep->weps[i]);
			sep->weps[i] = NULL;
		}
}

static int block_open(struct prov_sep *sep, uint16_t port, struct weft_err *err)
{
	struct prov_ep *ep = &sep->ep;
	assert_locked(ep->domain->nic);
	assert(!sep->is_open);
	for (uint32_t i = 0; i < numbers(sep); i++) {
		int ret = prov_ep_open_number(ep, (uint16_t)(port + i), &sep->weps[i], err);
		if (ret) {
			block_close(sep);
			return ret;
		}
		prov_ep_expose_regions(ep, sep->weps[i]);
	}
	return 0;
}

/* Lock held, like all of this section. */
static int sep_listen(struct prov_ep *ep)
{
	enum { FIRST = 0xC000 }; /* as the engine does for single endpoints */
	struct prov_sep *sep = container_of(ep, struct prov_sep, ep);
	struct weft_err err = {""};
	uint32_t port = ep->addr.port ? ep->addr.port : FIRST;
	int ret = -EADDRINUSE;
	if (sep->is_open)
		return 0;
	for (; ret == -EADDRINUSE && port + numbers(sep) <= UINT16_MAX; port += PROV_CTX_MAX) {
		ret = block_open(sep, (uint16_t)port, &err);
		if (!ret)
			ep->addr.port = (uint16_t)port;
		if (ep->addr.port)
			break;
	}
	if (ret)
		FI_WARN(&prov_weft, FI_LOG_EP_CTRL, "scalable endpoint: %s\n", err.msg);
	sep->is_open = !ret;
	return ret;
}

static int tx_listen(struct prov_ep *ep)
{
	struct weft_err err = {""};
	uint32_t entries = prov_ep_ring(ep);
	assert(ep->sep && ep->no_rx);
	int ret = sep_listen(ep->sep);
	if (ret)
		return ret;
	ep->addr = ep->sep->addr;
	return weft_ep_open_hidden(ep->domain->nic->engine, ep->addr.port, entries, entries, &ep->wep, &err);
}

static int rx_listen(struct prov_ep *ep)
{
	struct prov_sep *sep = container_of(ep->sep, struct prov_sep, ep);
	struct weft_err err = {""};
	int ret = sep_listen(ep->sep);
	if (ret)
		return ret;
	ep->addr = sep->ep.addr;
	assert(ep->index < sep->rx_count);
	ep->wep = sep->weps[ep->index];
	sep->weps[ep->index] = NULL;
	if (ep->wep)
		return 0;
	uint16_t port = (uint16_t)(ep->addr.port + ep->index); /* it was open before */
	return prov_ep_open_number(ep, port, &ep->wep, &err);
}

/* ---- contexts ---- */

static int ctx_close(struct fid *fid)
{
	struct prov_ep *ep = prov_ep_of(container_of(fid, struct fid_ep, fid));
	struct prov_sep *sep = container_of(ep->sep, struct prov_sep, ep);
	struct prov_ep **slot = ep->no_rx ? &sep->tx[ep->index] : &sep->rx[ep->index];
	assert(*slot == ep);
	int ret = prov_ep_close(fid);
	if (ret)
		return ret;
	*slot = NULL;
	prov_unref(&sep->ep.refs);
	return 0;
}

static struct fi_ops ctx_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = ctx_close,
	.bind = prov_ep_bind,
	.control = prov_ep_control,
	.ops_open = prov_ops_open,
};

static struct prov_ep *ctx_new(struct prov_sep *sep, int index, size_t fclass, void *context)
{
	assert(index >= 0 && index < PROV_CTX_MAX);
	struct prov_ep *ep = prov_ep_new(sep->ep.domain, sizeof *ep, fclass, context);
	if (!ep)
		return NULL;
	ep->fid.fid.ops = &ctx_fi_ops;
	ep->sep = &sep->ep;
	ep->index = (uint32_t)index;
	ep->is_dgram = sep->ep.is_dgram;
	ep->caps = sep->ep.caps;
	ep->tx_flags = sep->tx_attr.op_flags;
	ep->rx_flags = sep->rx_attr.op_flags;
	ep->tx_size = sep->ep.tx_size;
	ep->min_multi_recv = sep->ep.min_multi_recv;
	prov_ref(&sep->ep.refs);
	return ep;
}

int prov_sep_tx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **out, void *context)
{
	struct prov_sep *sep = sep_of(fid);
	if (index < 0 || (uint32_t)index >= sep->tx_count || sep->tx[index])
		return -FI_EINVAL;
	struct prov_ep *ep = ctx_new(sep, index, FI_CLASS_TX_CTX, context);
	if (!ep)
		return -FI_ENOMEM;
	ep->no_rx = true;
	ep->listen = tx_listen;
	if (attr) {
		ep->tx_flags = attr->op_flags;
		if (attr->size)
			ep->tx_size = (uint32_t)attr->size;
		*attr = sep->tx_attr;
		attr->op_flags = ep->tx_flags;
		attr->size = ep->tx_size;
	}
	sep->tx[index] = ep;
	*out = &ep->fid;
	return 0;
}

int prov_sep_rx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **out, void *context)
{
	struct prov_sep *sep = sep_of(fid);
	if (index < 0 || (uint32_t)index >= sep->rx_count || sep->rx[index])
		return -FI_EINVAL;
	struct prov_ep *ep = ctx_new(sep, index, FI_CLASS_RX_CTX, context);
	if (!ep)
		return -FI_ENOMEM;
	ep->no_tx = true;
	ep->listen = rx_listen;
	if (attr) {
		ep->rx_flags = attr->op_flags;
		*attr = sep->rx_attr;
		attr->op_flags = ep->rx_flags;
	}
	sep->rx[index] = ep;
	*out = &ep->fid;
	return 0;
}

/* ---- the endpoint itself ---- */

static int sep_close(struct fid *fid)
{
	struct prov_sep *sep = sep_of(container_of(fid, struct fid_ep, fid));
	if (sep->ep.refs)
		return -FI_EBUSY;
	prov_nic_lock(sep->ep.domain->nic);
	block_close(sep);
	prov_nic_unlock(sep->ep.domain->nic);
	return prov_ep_close(fid);
}

static int sep_enable(struct prov_sep *sep)
{
	struct prov_nic *nic = sep->ep.domain->nic;
	prov_nic_lock(nic);
	int ret = sep_listen(&sep->ep);
	prov_nic_unlock(nic);
	return ret;
}

/* Operations go through the contexts only, so the scalable endpoint itself is never enabled. */
static int sep_control(struct fid *fid, int command, void *arg)
{
	struct prov_sep *sep = sep_of(container_of(fid, struct fid_ep, fid));
	if (command == FI_ALIAS)
		return -FI_ENOSYS;
	return command == FI_ENABLE ? sep_enable(sep) : prov_ep_control(fid, command, arg);
}

static int sep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	if (bfid->fclass == FI_CLASS_SRX_CTX || bfid->fclass == FI_CLASS_STX_CTX)
		return -FI_EINVAL;
	return prov_ep_bind(fid, bfid, flags);
}

static struct fi_ops sep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
	.ops_open = prov_no_ops_open,
};

static bool counts_fit(const struct fi_ep_attr *attr)
{
	return !attr || (attr->tx_ctx_cnt <= PROV_CTX_MAX && attr->rx_ctx_cnt <= PROV_CTX_MAX);
}

static int sep_init(struct prov_sep *sep, const struct fi_info *info)
{
	const struct fi_ep_attr *attr = info->ep_attr;
	if (!counts_fit(attr))
		return -FI_EINVAL;
	sep->tx_count = attr && attr->tx_ctx_cnt ? (uint32_t)attr->tx_ctx_cnt : 1;
	sep->rx_count = attr && attr->rx_ctx_cnt ? (uint32_t)attr->rx_ctx_cnt : 1;
	if (info->tx_attr)
		sep->tx_attr = *info->tx_attr;
	if (info->rx_attr)
		sep->rx_attr = *info->rx_attr;
	sep->ep.listen = sep_listen;
	sep->ep.fid.fid.ops = &sep_fi_ops;
	return prov_ep_init(&sep->ep, info);
}

int prov_sep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct prov_domain *domain = prov_domain_of(fid);
	struct prov_ep *ep = prov_ep_new(domain, sizeof(struct prov_sep), FI_CLASS_SEP, context);
	if (!ep)
		return -FI_ENOMEM;
	int ret = sep_init(container_of(ep, struct prov_sep, ep), info);
	if (ret)
		prov_ep_close(&ep->fid.fid);
	else
		*out = &ep->fid;
	return ret;
}
