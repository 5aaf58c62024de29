/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts that several endpoints share. Of a transmit context nothing is shared but the size: operations are the
 * endpoint's, and endpoints share one device anyway. Receives of a receive context belong to all endpoints bound to it:
 * the engine matches their messages with them in one order. */
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_ep_parts.h"
#include "prov_fi_ops.h"
#include "prov_log.h"
#include "prov_ref.h"
#include "prov_refuse.h"

/* ---- transmit ---- */

static int stx_close(struct fid *fid)
{
	struct prov_stx *stx = container_of(fid, struct prov_stx, fid.fid);
	if (stx->refs)
		return -FI_EBUSY;
	prov_unref(&stx->domain->refs);
	free(stx);
	return 0;
}

static struct fi_ops stx_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = stx_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

int prov_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **out, void *context)
{
	struct prov_stx *stx = calloc(1, sizeof *stx);
	if (!stx)
		return -FI_ENOMEM;
	stx->domain = prov_domain_of(domain);
	prov_ref(&stx->domain->refs);
	stx->tx_size = attr && attr->size ? (uint32_t)attr->size : PROV_QUEUE_DEFAULT;
	stx->fid.fid.fclass = FI_CLASS_STX_CTX;
	stx->fid.fid.context = context;
	stx->fid.fid.ops = &stx_fi_ops;
	stx->fid.ops = stx->domain->tables->ep;
	*out = &stx->fid;
	return 0;
}

/* ---- receive ---- */

static int srx_close(struct fid *fid)
{
	return prov_ep_close(fid);
}

static int srx_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : prov_ep_control(fid, command, arg);
}

static struct fi_ops srx_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = srx_close,
	.bind = prov_no_bind,
	.control = srx_control,
	.ops_open = prov_ops_open,
};

/* A shared context has no address; its endpoint on the engine only holds receives. */
static int srx_listen(struct prov_ep *srx)
{
	struct prov_nic *nic = srx->domain->nic;
	struct weft_err err = {""};
	uint32_t entries = prov_ep_ring(srx);
	int ret = weft_ep_open_hidden(nic->engine, 0, entries, entries, &srx->wep, &err);
	if (ret) {
		FI_WARN(&prov_weft, FI_LOG_EP_CTRL, "%s\n", err.msg);
		return ret;
	}
	prov_ep_start(srx);
	return 0;
}

int prov_srx_open(struct fid_domain *fid, struct fi_rx_attr *attr, struct fid_ep **out, void *context)
{
	struct prov_domain *domain = prov_domain_of(fid);
	struct prov_ep *srx = prov_ep_new(domain, sizeof *srx, FI_CLASS_SRX_CTX, context);
	if (!srx)
		return -FI_ENOMEM;
	srx->fid.fid.ops = &srx_fi_ops;
	srx->no_tx = true;
	srx->listen = srx_listen;
	srx->caps = attr ? attr->caps : 0;
	srx->rx_flags = attr ? attr->op_flags : 0;
	prov_nic_lock(domain->nic);
	int ret = prov_ep_listen(srx);
	prov_nic_unlock(domain->nic);
	if (ret)
		prov_ep_close(&srx->fid.fid);
	else
		*out = &srx->fid;
	return ret;
}
