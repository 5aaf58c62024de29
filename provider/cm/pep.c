/* SPDX-License-Identifier: BSD-3-Clause */
/* Passive endpoints: listening. Their numbers are names only, beside those of the engine's endpoints. */
#include <assert.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "cm.h"
#include "member.h"
#include "prov_cm.h"
#include "prov_domain.h"
#include "prov_eq.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"

enum {
	BACKLOG = 128,      /* requests that may wait, unless FI_BACKLOG says otherwise */
	BACKLOG_MAX = 4096, /* most that FI_BACKLOG may say */
	FIRST_FREE = 0xC000,
};

static struct prov_pep *pep_of(struct fid *fid)
{
	return container_of(fid, struct prov_pep, fid.fid);
}

/* ---- names ---- */

static bool has_name(const struct prov_cm *cm, uint32_t port)
{
	const struct prov_pep *pep;
	TAILQ_FOREACH(pep, &cm->listeners, link)
	if (pep->name.port == port)
		return true;
	return false;
}

/* One without a number takes the first that is free. Lock held. */
static int name_complete(struct prov_pep *pep)
{
	uint32_t port = FIRST_FREE;
	if (pep->name.port)
		return 0;
	while (port <= UINT16_MAX && has_name(pep->cm, port))
		port++;
	if (port > UINT16_MAX)
		return -FI_EADDRINUSE;
	pep->name.port = (uint16_t)port;
	return 0;
}

static int pep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct prov_pep *pep = pep_of(fid);
	if (pep->listens)
		return -FI_EOPBADSTATE;
	return cm_name_of(pep->cm->nic, addr, addrlen, &pep->name);
}

static int pep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct prov_pep *pep = pep_of(fid);
	prov_nic_lock(pep->cm->nic);
	int ret = name_complete(pep);
	prov_nic_unlock(pep->cm->nic);
	return ret ? ret : cm_name_copy_out(&pep->name, addr, addrlen);
}

static int pep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	size_t room = *optlen;
	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	*optlen = sizeof(size_t);
	if (room < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)optval = PROV_CM_DATA_BYTES;
	return 0;
}

/* ---- requests ---- */

static int pep_listen(struct fid_pep *fid)
{
	struct prov_pep *pep = pep_of(&fid->fid);
	if (!pep->eq)
		return -FI_ENOEQ;
	if (pep->listens)
		return -FI_EOPBADSTATE;
	int ret = prov_eq_watch(pep->eq, pep->cm->nic);
	if (ret)
		return ret;
	prov_nic_lock(pep->cm->nic);
	ret = name_complete(pep);
	if (!ret && cm_listener(pep->cm, pep->name.port))
		ret = -FI_EADDRINUSE;
	pep->listens = !ret;
	prov_nic_unlock(pep->cm->nic);
	if (ret)
		prov_eq_unwatch(pep->eq, pep->cm->nic);
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t paramlen)
{
	struct prov_cm *cm = pep_of(&fid->fid)->cm;
	if (paramlen > PROV_CM_DATA_BYTES)
		return -FI_EINVAL;
	prov_nic_lock(cm->nic);
	struct cm_request *r = cm_request_find(cm, handle);
	int ret = r && !r->taken ? cm_request_reject(cm, r, param, paramlen) : -FI_EINVAL;
	if (!ret)
		prov_doorbell(cm->nic, false);
	prov_nic_unlock(cm->nic);
	return ret;
}

/* ---- life cycle ---- */

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_pep *pep = pep_of(fid);
	if (bfid->fclass != FI_CLASS_EQ || pep->eq)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	struct prov_eq *eq = container_of(bfid, struct prov_eq, fid.fid);
	if (eq->fabric != pep->fabric)
		return -FI_EINVAL;
	prov_ref(&eq->refs);
	pep->eq = eq;
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct prov_pep *pep = pep_of(fid);
	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	int backlog = *(const int *)arg;
	if (backlog < 1 || backlog > BACKLOG_MAX)
		return -FI_EINVAL;
	prov_nic_lock(pep->cm->nic);
	pep->backlog = (unsigned)backlog;
	prov_nic_unlock(pep->cm->nic);
	return 0;
}

/* Requests that the application has not read are rejected; the others remain its own. Lock held. */
static void requests_leave(struct prov_pep *pep, const struct fi_info *unread)
{
	struct cm_request *r;
	for (; unread; unread = unread->next) {
		r = cm_request_find(pep->cm, unread->handle);
		if (r && cm_request_reject(pep->cm, r, NULL, 0))
			cm_request_free(pep->cm, r);
	}
	TAILQ_FOREACH(r, &pep->cm->requests, link)
	if (r->pep == pep)
		r->pep = NULL;
}

static void pep_stop(struct prov_pep *pep)
{
	struct prov_nic *nic = pep->cm->nic;
	prov_nic_lock(nic);
	TAILQ_REMOVE(&pep->cm->listeners, pep, link);
	prov_nic_unlock(nic);
	struct fi_info *unread = pep->eq && !nic->is_orphan ? prov_eq_forget(pep->eq, &pep->fid.fid) : NULL;
	prov_nic_lock(nic);
	requests_leave(pep, unread);
	prov_nic_unlock(nic);
	fi_freeinfo(unread);
}

static int pep_close(struct fid *fid)
{
	struct prov_pep *pep = pep_of(fid);
	struct prov_nic *nic = pep->cm->nic;
	pep_stop(pep);
	if (pep->listens)
		prov_eq_unwatch(pep->eq, nic);
	if (pep->eq)
		prov_unref(&pep->eq->refs);
	cm_put(pep->cm);
	prov_nic_put(nic);
	prov_unref(&pep->fabric->refs);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static struct fi_ops pep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_ep pep_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.getopt = pep_getopt,
};

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = pep_setname,
	.getname = pep_getname,
	.listen = pep_listen,
	.reject = pep_reject,
};

/* Name and device; what was opened is the caller's to close. */
static int pep_init(struct prov_pep *pep, const struct fi_info *info, struct prov_nic *nic)
{
	pep->info = fi_dupinfo(info);
	if (!pep->info)
		return -FI_ENOMEM;
	pep->name = (struct weft_addr){nic->ip, 0};
	if (info->src_addr && cm_name_of(nic, info->src_addr, info->src_addrlen, &pep->name))
		return -FI_EADDRNOTAVAIL;
	return cm_get(nic, &cm_events, &pep->cm);
}

static void pep_start(struct prov_pep *pep, struct prov_fabric *fabric, void *context)
{
	pep->fabric = fabric;
	prov_ref(&fabric->refs);
	pep->backlog = BACKLOG;
	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.fid.context = context;
	pep->fid.fid.ops = &pep_fi_ops;
	pep->fid.ops = &pep_ep_ops;
	pep->fid.cm = &pep_cm_ops;
	prov_nic_lock(pep->cm->nic);
	TAILQ_INSERT_TAIL(&pep->cm->listeners, pep, link);
	prov_nic_unlock(pep->cm->nic);
}

int prov_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **out, void *context)
{
	struct prov_nic *nic;
	if (!info->ep_attr || info->ep_attr->type != FI_EP_MSG)
		return -FI_EINVAL;
	int ret = prov_domain_device(info, &nic);
	if (ret)
		return ret;
	struct prov_pep *pep = calloc(1, sizeof *pep);
	ret = pep ? pep_init(pep, info, nic) : -FI_ENOMEM;
	if (!ret) {
		pep_start(pep, prov_fabric_of(fabric), context);
		*out = &pep->fid;
		return 0;
	}
	if (pep)
		fi_freeinfo(pep->info);
	free(pep);
	prov_nic_put(nic);
	return ret;
}
