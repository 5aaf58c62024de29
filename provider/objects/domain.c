/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain: one use of a device. Everything an application opens for transfers hangs from it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "ctx.h"
#include "prov_atomic.h"
#include "prov_rma.h"
#include "trigger.h"
#include "weft/provider.h"

static TAILQ_HEAD(, prov_domain) domains = TAILQ_HEAD_INITIALIZER(domains);
static pthread_mutex_t domains_lock = PTHREAD_MUTEX_INITIALIZER;

static struct prov_domain *domain_of(struct fid *fid)
{
	return container_of(fid, struct prov_domain, fid.fid);
}

struct prov_domain *prov_domain_find(const char *name)
{
	struct prov_domain *domain, *found = NULL;
	pthread_mutex_lock(&domains_lock);
	TAILQ_FOREACH(domain, &domains, link)
	if (!found && strcmp(domain->nic->name, name) == 0)
		found = domain;
	pthread_mutex_unlock(&domains_lock);
	return found;
}

static int domain_close(struct fid *fid)
{
	struct prov_domain *domain = domain_of(fid);
	if (domain->refs)
		return -FI_EBUSY;
	if (domain->auto_progress)
		prov_nic_auto_put(domain->nic);
	if (domain->eq)
		domain->eq->refs--;
	pthread_mutex_lock(&domains_lock);
	TAILQ_REMOVE(&domains, domain, link);
	pthread_mutex_unlock(&domains_lock);
	prov_nic_put(domain->nic);
	domain->fabric->refs--;
	free(domain);
	return 0;
}

/* The event queue serves objects that have none of their own. */
static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_domain *domain = domain_of(fid);
	if (bfid->fclass != FI_CLASS_EQ || domain->eq)
		return -FI_EINVAL;
	struct prov_eq *eq = container_of(bfid, struct prov_eq, fid.fid);
	if (flags & ~FI_REG_MR)
		return -FI_EBADFLAGS;
	if (eq->fabric != domain->fabric)
		return -FI_EINVAL;
	eq->refs++;
	domain->eq = eq;
	domain->mr_events = flags & FI_REG_MR;
	return 0;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	return prov_work_control(domain_of(fid), command, arg);
}

static int engine_stats(struct fid *fid, struct weft_stats *stats)
{
	struct prov_nic *nic;
	if (fid->fclass == FI_CLASS_DOMAIN)
		nic = domain_of(fid)->nic;
	else if (fid->fclass == FI_CLASS_EP)
		nic = prov_ep_of(container_of(fid, struct fid_ep, fid))->domain->nic;
	else
		return -FI_EINVAL;
	prov_nic_lock(nic);
	*stats = *weft_engine_stats(nic->engine);
	prov_nic_unlock(nic);
	return 0;
}

int prov_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	static struct weft_fi_ops weft_ops = {.size = sizeof(struct weft_fi_ops), .stats = engine_stats};
	if (strcmp(name, WEFT_FI_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &weft_ops;
	return 0;
}

static struct fi_ops domain_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = domain_control,
	.ops_open = prov_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = prov_av_open,
	.cq_open = prov_cq_open,
	.endpoint = prov_ep_open,
	.scalable_ep = prov_sep_open,
	.cntr_open = prov_cntr_open,
	.poll_open = prov_poll_open,
	.stx_ctx = prov_stx_open,
	.srx_ctx = prov_srx_open,
	.query_atomic = prov_atomic_query,
	.query_collective = prov_coll_query,
};

/* Finds the device that fi_getinfo described and opens it or joins its users. */
static int domain_device(const struct fi_info *info, struct prov_nic **nic)
{
	struct prov_conf conf;
	struct weft_err err = {""};
	const char *name = info->domain_attr ? info->domain_attr->name : NULL;
	int ret = prov_conf_load(&conf, &err);
	const struct prov_dev *dev = ret || !name ? NULL : prov_conf_find(&conf, name);
	if (!ret && !dev)
		ret = weft_err_set(&err, -ENODEV, "FI_WEFT_DEVICE names no device '%s'", name ? name : "(null)");
	if (!ret)
		ret = prov_nic_get(dev, nic, &err);
	if (ret)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s\n", err.msg);
	prov_conf_free(&conf);
	return ret;
}

static int domain_start(struct prov_domain *domain, const struct fi_info *info)
{
	int ret = domain_device(info, &domain->nic);
	if (ret)
		return ret;
	domain->mr_basic = info->domain_attr->mr_mode == FI_MR_BASIC;
	prov_nic_lock(domain->nic);
	domain->scope = ++domain->nic->scopes;
	prov_nic_unlock(domain->nic);
	domain->auto_progress = info->domain_attr->data_progress == FI_PROGRESS_AUTO;
	ret = domain->auto_progress ? prov_nic_auto_get(domain->nic) : 0;
	if (ret)
		prov_nic_put(domain->nic);
	return ret;
}

int prov_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out, void *context)
{
	struct prov_domain *domain = calloc(1, sizeof *domain);
	int ret = domain ? domain_start(domain, info) : -FI_ENOMEM;
	if (ret) {
		free(domain);
		return ret;
	}
	domain->fabric = container_of(fabric, struct prov_fabric, fid);
	domain->fabric->refs++;
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fi_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &prov_mr_ops;
	pthread_mutex_lock(&domains_lock);
	TAILQ_INSERT_TAIL(&domains, domain, link);
	pthread_mutex_unlock(&domains_lock);
	*out = &domain->fid;
	return 0;
}
