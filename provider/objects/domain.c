/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain: one use of a device. Everything an application opens for transfers hangs from it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "prov_compat.h"
#include "prov_conf.h"
#include "prov_domain.h"
#include "prov_eq.h"
#include "prov_log.h"
#include "prov_ref.h"
#include "prov_waitset.h"

static TAILQ_HEAD(, prov_domain) domains = TAILQ_HEAD_INITIALIZER(domains);
static pthread_mutex_t domains_lock = PTHREAD_MUTEX_INITIALIZER;

static struct prov_domain *domain_of(struct fid *fid)
{
	return container_of(fid, struct prov_domain, fid.fid);
}

struct fid_domain *prov_domain_find(const char *name)
{
	struct prov_domain *domain;
	struct fid_domain *found = NULL;
	pthread_mutex_lock(&domains_lock);
	TAILQ_FOREACH(domain, &domains, link)
	if (!found && strcmp(domain->nic->name, name) == 0)
		found = &domain->fid;
	pthread_mutex_unlock(&domains_lock);
	return found;
}

int prov_domain_close(struct fid *fid)
{
	struct prov_domain *domain = domain_of(fid);
	if (domain->refs)
		return -FI_EBUSY;
	prov_nic_lock(domain->nic);
	TAILQ_REMOVE(&domain->nic->link_listeners, &domain->link_listener, link);
	prov_nic_unlock(domain->nic);
	if (domain->auto_progress)
		prov_nic_thread_put(domain->nic);
	if (domain->eq) {
		prov_eq_unwatch(domain->eq, domain->nic);
		prov_unref(&domain->eq->refs);
	}
	pthread_mutex_lock(&domains_lock);
	assert(!TAILQ_EMPTY(&domains));
	TAILQ_REMOVE(&domains, domain, link);
	pthread_mutex_unlock(&domains_lock);
	prov_nic_put(domain->nic);
	prov_unref(&domain->fabric->refs);
	free(domain);
	return 0;
}

/* The event queue serves objects that have no event queue of their own. */
int prov_domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_domain *domain = domain_of(fid);
	if (bfid->fclass != FI_CLASS_EQ || domain->eq)
		return -FI_EINVAL;
	struct prov_eq *eq = container_of(bfid, struct prov_eq, fid.fid);
	if (flags & ~PROV_REG_MR)
		return -FI_EBADFLAGS;
	if (eq->fabric != domain->fabric)
		return -FI_EINVAL;
	int ret = prov_eq_watch(eq, domain->nic);
	if (ret)
		return ret;
	prov_ref(&eq->refs);
	prov_nic_lock(domain->nic);
	domain->eq = eq;
	prov_nic_unlock(domain->nic);
	domain->mr_events = flags & PROV_REG_MR;
	return 0;
}

int prov_domain_device(const struct fi_info *info, struct prov_nic **nic)
{
	struct prov_conf conf;
	struct weft_err err = {""};
	const char *name = info->domain_attr ? info->domain_attr->name : NULL;
	int ret = prov_conf_load(&conf, &err);
	const struct prov_dev *dev = ret || !name ? NULL : prov_conf_find(&conf, name);
	if (!ret && !dev)
		ret = weft_err_set(&err, -ENODEV, "FI_WEFT_DEVICE names no device '%s'", name ? name : "(null)");
	if (!ret)
		ret = prov_nic_get(&conf, dev, nic, &err);
	if (ret)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s\n", err.msg);
	prov_conf_free(&conf);
	return ret;
}

/* FI_NOTIFY: the link is up again; else an error entry. Nobody hears of it without an event queue. */
static void link_heard(struct prov_link_listener *listener, int err)
{
	struct prov_domain *domain = container_of(listener, struct prov_domain, link_listener);
	const struct fi_eq_err_entry entry = {
		.fid = &domain->fid.fid, .context = domain->fid.fid.context, .err = err, .prov_errno = err};
	if (!domain->eq)
		return;
	struct prov_event *ev = prov_eq_reserve();
	if (ev)
		prov_eq_post_reserved(domain->eq, domain->nic, ev, FI_NOTIFY, &entry);
	else
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s: no memory to tell of the link: %s\n", domain->nic->name,
			err ? fi_strerror(err) : "up");
}

static int domain_start(struct prov_domain *domain, const struct fi_info *info)
{
	int ret = prov_domain_device(info, &domain->nic);
	if (ret)
		return ret;
	domain->mr_basic = info->domain_attr->mr_mode == PROV_MR_BASIC;
	domain->hmem = info->caps & FI_HMEM;
	LIST_INIT(&domain->devices);
	prov_nic_lock(domain->nic);
	domain->scope = ++domain->nic->scopes;
	domain->link_listener.heard = link_heard;
	prov_nic_unlock(domain->nic);
	domain->auto_progress = info->domain_attr->data_progress == FI_PROGRESS_AUTO;
	ret = domain->auto_progress ? prov_nic_thread_get(domain->nic) : 0;
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
	domain->fabric = prov_fabric_of(fabric);
	domain->tables = domain->fabric->tables;
	prov_ref(&domain->fabric->refs);
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = domain->tables->domain_fi;
	domain->fid.ops = domain->tables->domain;
	domain->fid.mr = domain->tables->mr;
	pthread_mutex_lock(&domains_lock);
	TAILQ_INSERT_TAIL(&domains, domain, link);
	pthread_mutex_unlock(&domains_lock);
	prov_nic_lock(domain->nic);
	TAILQ_INSERT_TAIL(&domain->nic->link_listeners, &domain->link_listener, link);
	prov_nic_unlock(domain->nic);
	*out = &domain->fid;
	return 0;
}

/* ---- waiting ---- */

int prov_domain_wait_open(const struct prov_domain *domain, struct prov_wait_obj *w,
			  const struct prov_domain_wait *attr)
{
	const struct prov_wait_attr wait = {
		.kind = attr->kind,
		.group = attr->kind == FI_WAIT_SET ? prov_waitset_group(attr->set, domain->fabric) : NULL,
		.owner = attr->owner,
		.trywait = attr->trywait};
	int ret = prov_wait_open(w, &wait);
	if (ret || !prov_wait_needs_thread(w))
		return ret;
	ret = prov_nic_thread_get(domain->nic);
	if (ret)
		prov_wait_close(w);
	return ret;
}

void prov_domain_wait_close(const struct prov_domain *domain, struct prov_wait_obj *w)
{
	if (prov_wait_needs_thread(w))
		prov_nic_thread_put(domain->nic);
	prov_wait_close(w);
}
