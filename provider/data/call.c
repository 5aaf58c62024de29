/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls with and without tags share. */
#include <errno.h>

#include "member.h"
#include "prov_calls.h"
#include "trigger.h"

ssize_t prov_send(struct prov_ep *ep, const struct prov_op *op)
{
	int ret = prov_tx_check(ep);
	if (ret)
		return ret;
	if (ep->is_dgram && op->kind != WEFT_OP_SEND)
		return -FI_EOPNOTSUPP;
	if (op->flags & FI_TRIGGER)
		return prov_trigger_op(ep, op);
	prov_nic_lock(ep->domain->nic);
	ssize_t sent = prov_send_post(ep, op, PROV_NO_WORK);
	prov_nic_unlock(ep->domain->nic);
	return sent;
}

ssize_t prov_recv(struct prov_ep *ep, const struct prov_op *op)
{
	int ret = prov_rx_check(ep);
	if (ret)
		return ret;
	if (op->flags & FI_TRIGGER)
		return prov_trigger_op(ep, op);
	prov_nic_lock(ep->domain->nic);
	ssize_t posted = prov_recv_post(prov_rx_of(ep), op, PROV_NO_WORK);
	prov_nic_unlock(ep->domain->nic);
	return posted;
}

ssize_t prov_cancel(fid_t fid, void *context)
{
	struct prov_ep *ep = prov_ep_of(container_of(fid, struct fid_ep, fid));
	ssize_t ret = 0;
	prov_nic_lock(ep->domain->nic);
	if (!prov_trigger_cancel(ep, context))
		ret = prov_recv_cancel(prov_rx_of(ep), context);
	prov_nic_unlock(ep->domain->nic);
	return ret;
}
