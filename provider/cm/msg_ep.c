/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection-oriented endpoints: the calls. Data transfers are those of all endpoints; the engine's endpoint has a
 * number of its own, whatever the name is, so that all that a listener accepts can have its name. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "cm.h"
#include "prov_addr.h"
#include "prov_cm.h"
#include "prov_ep_parts.h"
#include "prov_eq.h"
#include "prov_fi_ops.h"
#include "prov_progress.h"

static struct cm_conn *conn_of(const struct fid_ep *fid)
{
	return cm_conn_of(prov_ep_of(fid));
}

/* ---- names ---- */

static int ep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct cm_conn *c = conn_of(container_of(fid, struct fid_ep, fid));
	if (c->ep.wep)
		return -FI_EOPBADSTATE;
	return cm_name_of(c->cm->nic, addr, addrlen, &c->name);
}

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct cm_conn *c = conn_of(container_of(fid, struct fid_ep, fid));
	prov_nic_lock(c->cm->nic);
	int ret = prov_ep_listen(&c->ep);
	if (!ret && !c->name.port)
		c->name.port = c->ep.addr.port;
	prov_nic_unlock(c->cm->nic);
	return ret ? ret : cm_name_copy_out(&c->name, addr, addrlen);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	const struct cm_conn *c = conn_of(fid);
	return c->peer_name.port ? cm_name_copy_out(&c->peer_name, addr, addrlen) : -FI_ENOTCONN;
}

/* ---- connecting ---- */

/* What the queue will be told. */
static int events_reserve(struct cm_conn *c)
{
	for (int i = 0; i < 2; i++)
		if (!c->events[i] && !(c->events[i] = prov_eq_reserve_cm()))
			return -FI_ENOMEM;
	return 0;
}

/* The endpoint can be connected, and its queue hears of it. */
static int prepare(struct cm_conn *c, size_t paramlen)
{
	if (paramlen > PROV_CM_DATA_BYTES)
		return -FI_EINVAL;
	if (c->state != CM_IDLE)
		return -FI_EOPBADSTATE;
	if (!c->ep.eq)
		return -FI_ENOEQ;
	int ret = prov_ep_control(&c->ep.fid.fid, FI_ENABLE, NULL);
	if (!ret)
		ret = events_reserve(c);
	if (ret || c->watches)
		return ret;
	ret = prov_eq_watch(c->ep.eq, c->cm->nic);
	c->watches = !ret;
	return ret;
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t paramlen)
{
	struct cm_conn *c = conn_of(fid);
	struct weft_addr to;
	int ret = c->request ? -FI_EOPBADSTATE : cm_addr_of(c->cm->nic, addr, &to);
	if (!ret)
		ret = prepare(c, paramlen);
	if (ret)
		return ret;
	prov_nic_lock(c->cm->nic);
	ret = cm_conn_call(c, &to, param, paramlen);
	if (!ret)
		prov_doorbell(c->cm->nic, false);
	prov_nic_unlock(c->cm->nic);
	return ret;
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct cm_conn *c = conn_of(fid);
	int ret = c->request || c->state != CM_IDLE ? prepare(c, paramlen) : -FI_EOPBADSTATE;
	if (ret)
		return ret;
	prov_nic_lock(c->cm->nic);
	ret = cm_conn_answer(c, param, paramlen);
	if (!ret)
		prov_doorbell(c->cm->nic, false);
	prov_nic_unlock(c->cm->nic);
	return ret;
}

/* What was sent before arrives, if that takes no longer than the linger time. */
static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct cm_conn *c = conn_of(fid);
	if (flags)
		return -FI_EINVAL;
	if (c->state == CM_IDLE)
		return -FI_ENOTCONN;
	prov_ep_drain(&c->ep);
	prov_nic_lock(c->cm->nic);
	cm_conn_end(c);
	prov_doorbell(c->cm->nic, false);
	prov_nic_unlock(c->cm->nic);
	return 0;
}

/* ---- life cycle ---- */

static void ep_failed(struct prov_ep *ep, int err)
{
	cm_conn_failed(cm_conn_of(ep), err);
}

/* Events that nobody has read do not outlive it. */
static int ep_close(struct fid *fid)
{
	struct cm_conn *c = conn_of(container_of(fid, struct fid_ep, fid));
	if (c->ep.refs)
		return -FI_EBUSY;
	prov_ep_drain(&c->ep);
	c->ep.is_drained = true;
	prov_nic_lock(c->cm->nic);
	cm_conn_forget(c);
	prov_nic_unlock(c->cm->nic);
	if (c->ep.eq && !c->cm->nic->is_orphan)
		fi_freeinfo(prov_eq_forget(c->ep.eq, fid));
	if (c->watches)
		prov_eq_unwatch(c->ep.eq, c->cm->nic);
	cm_put(c->cm);
	free(c->events[0]);
	free(c->events[1]);
	return prov_ep_close(fid);
}

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = prov_ep_bind,
	.control = prov_ep_control,
	.ops_open = prov_ops_open,
};

static struct fi_ops_cm ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_setname,
	.getname = ep_getname,
	.getpeer = ep_getpeer,
	.connect = ep_connect,
	.accept = ep_accept,
	.shutdown = ep_shutdown,
};

/* Numbers are used in turn, so that what an operation of a connection that has ended still sends finds nobody rather
 * than the next connection. */
static uint16_t number_wish(struct prov_nic *nic)
{
	enum { FIRST = 0xE000, COUNT = 0x1FFF };
	return (uint16_t)(FIRST + nic->connected++ % COUNT);
}

/* The request that it is to answer, or the passive endpoint whose name it takes. Lock held. */
static int handle_take(struct cm_conn *c, const struct fid *handle)
{
	struct cm_request *r = cm_request_find(c->cm, handle);
	const struct prov_pep *pep = cm_pep_find(c->cm, handle);
	if (pep)
		c->name.port = pep->name.port;
	if (pep || !handle)
		return 0;
	if (!r || r->taken)
		return -FI_EINVAL;
	r->taken = true;
	c->request = r;
	c->peer_name = (struct weft_addr){r->from.ip, r->name};
	c->name = r->listener;
	return 0;
}

static int conn_init(struct cm_conn *c, const struct fi_info *info)
{
	struct prov_nic *nic = c->ep.domain->nic;
	c->ep.is_msg = true;
	int ret = prov_ep_init(&c->ep, info);
	if (!ret)
		ret = cm_get(nic, &cm_events, &c->cm);
	if (ret)
		return ret;
	c->name = c->ep.addr;
	c->ep.addr.port = 0;
	prov_nic_lock(nic);
	c->ep.wished = number_wish(nic);
	ret = handle_take(c, info->handle);
	prov_nic_unlock(nic);
	if (ret)
		cm_put(c->cm);
	return ret;
}

int prov_msg_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct prov_ep *ep = prov_ep_new(prov_domain_of(fid), sizeof(struct cm_conn), FI_CLASS_EP, context);
	if (!ep)
		return -FI_ENOMEM;
	int ret = conn_init(container_of(ep, struct cm_conn, ep), info);
	if (ret) {
		prov_ep_close(&ep->fid.fid);
		return ret;
	}
	ep->failed = ep_failed;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.cm = &ep_cm_ops;
	*out = &ep->fid;
	return 0;
}
