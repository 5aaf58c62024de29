/* SPDX-License-Identifier: BSD-3-Clause */
#include "member.h"
#include "prov_fi_ops.h"

#include <rdma/fi_errno.h>
#include <string.h>

#include "prov_domain.h"
#include "prov_ep.h"
#include "weft/ethdev.h"
#include "weft/provider.h"

/* NULL: neither a domain nor an endpoint. */
static struct prov_nic *nic_of(struct fid *fid)
{
	if (fid->fclass == FI_CLASS_DOMAIN)
		return container_of(fid, struct prov_domain, fid.fid)->nic;
	return fid->fclass == FI_CLASS_EP ? prov_ep_of(container_of(fid, struct fid_ep, fid))->domain->nic : NULL;
}

static int engine_stats(struct fid *fid, struct weft_stats *stats)
{
	struct prov_nic *nic = nic_of(fid);
	if (!nic)
		return -FI_EINVAL;
	prov_nic_lock(nic);
	*stats = *weft_engine_stats(nic->engine);
	prov_nic_unlock(nic);
	return 0;
}

static int port_stats(struct fid *fid, struct weft_ethdev_stats *stats)
{
	struct prov_nic *nic = nic_of(fid);
	if (!nic)
		return -FI_EINVAL;
	prov_nic_lock(nic);
	weft_ethdev_stats(nic->port, stats);
	prov_nic_unlock(nic);
	return 0;
}

static int tss_stats(struct fid *fid, struct weft_tss_stats *stats)
{
	struct prov_nic *nic = nic_of(fid);
	if (!nic)
		return -FI_EINVAL;
	if (!nic->keys.port)
		return -FI_ENOSYS;
	prov_nic_lock(nic);
	weft_tss_stats(nic->keys.port, stats);
	prov_nic_unlock(nic);
	return 0;
}

static int cm_stats(struct fid *fid, struct weft_cm_stats *stats)
{
	struct prov_nic *nic = nic_of(fid);
	if (!nic)
		return -FI_EINVAL;
	prov_nic_lock(nic);
	*stats = nic->cm_stats;
	prov_nic_unlock(nic);
	return 0;
}

static int local_stats(struct fid *fid, struct weft_local_stats *stats)
{
	struct prov_nic *nic = nic_of(fid);
	if (!nic)
		return -FI_EINVAL;
	if (!nic->local_port)
		return -FI_ENOSYS;
	prov_nic_lock(nic);
	weft_local_stats(nic->local_port, stats);
	prov_nic_unlock(nic);
	return 0;
}

int prov_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	static struct weft_fi_ops weft_ops = {
		.size = sizeof(struct weft_fi_ops),
		.stats = engine_stats,
		.port_stats = port_stats,
		.tss_stats = tss_stats,
		.cm_stats = cm_stats,
		.local_stats = local_stats,
	};
	if (strcmp(name, WEFT_FI_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &weft_ops;
	return 0;
}
