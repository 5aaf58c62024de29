/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions. Nothing is pinned or mapped: a region is a key under which peers may ask the engine for memory. Keys
 * are the application's own (mr_mode 0) or, with the old FI_MR_BASIC, ours, and addresses then virtual. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "member.h"
#include "prov_av.h"
#include "prov_cntr.h"
#include "prov_cq.h"
#include "prov_ep.h"
#include "prov_eq.h"
#include "prov_mr.h"
#include "prov_ref.h"
#include "prov_refuse.h"

static struct prov_mr *mr_of(struct fid *fid)
{
	return container_of(fid, struct prov_mr, fid.fid);
}

static int mr_close(struct fid *fid)
{
	struct prov_mr *mr = mr_of(fid);
	prov_nic_lock(mr->domain->nic);
	weft_mr_del(mr->wmr);
	if (mr->count)
		LIST_REMOVE(mr, link);
	prov_nic_unlock(mr->domain->nic);
	prov_hmem_close(&mr->mem);
	if (mr->remote_read)
		prov_unref(&mr->remote_read->refs);
	if (mr->remote_write)
		prov_unref(&mr->remote_write->refs);
	prov_unref(&mr->domain->refs);
	free(mr);
	return 0;
}

static int bind_cntr(struct prov_cntr **place, struct prov_cntr *cntr)
{
	assert_locked(cntr->domain->nic);
	if (*place)
		return -FI_EINVAL;
	*place = cntr;
	prov_ref(&cntr->refs);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_mr *mr = mr_of(fid);
	if (bfid->fclass == FI_CLASS_EP)
		return 0; /* the regions of a domain serve all of its endpoints */
	if (bfid->fclass != FI_CLASS_CNTR)
		return -FI_EINVAL;
	if (flags & ~(FI_REMOTE_READ | FI_REMOTE_WRITE) || !flags)
		return -FI_EBADFLAGS;
	struct prov_cntr *cntr = container_of(bfid, struct prov_cntr, fid.fid);
	int ret = cntr->domain == mr->domain ? 0 : -FI_EINVAL;
	prov_nic_lock(mr->domain->nic);
	if (!ret && flags & FI_REMOTE_READ)
		ret = bind_cntr(&mr->remote_read, cntr);
	if (!ret && flags & FI_REMOTE_WRITE)
		ret = bind_cntr(&mr->remote_write, cntr);
	if (!ret)
		weft_mr_events(mr->wmr);
	prov_nic_unlock(mr->domain->nic);
	return ret;
}

/* Regions are usable as soon as they are registered. */
static int mr_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE || command == FI_REFRESH ? 0 : -FI_ENOSYS;
}

static struct fi_ops mr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = prov_no_ops_open,
};

static uint8_t access_of(uint64_t access, uint64_t flags)
{
	return (uint8_t)((access & FI_REMOTE_READ ? WEFT_MR_READ : 0) | (access & FI_REMOTE_WRITE ? WEFT_MR_WRITE : 0) |
			 (flags & FI_RMA_EVENT ? WEFT_MR_EVENTS : 0));
}

/* A key of ours that nobody guesses: whoever knows it may use the region. */
static int key_draw(uint64_t *key)
{
	if (getrandom(key, sizeof *key, 0) != sizeof *key)
		return -errno;
	*key &= ~WEFT_MR_KEY_IDEMPOTENT;
	return 0;
}

/* Adds the region under its own key, or under one that is free. */
static int mr_add(struct prov_mr *mr, struct weft_mr_attr *attr)
{
	struct prov_domain *domain = mr->domain;
	int ret;
	prov_nic_lock(domain->nic);
	do {
		ret = domain->mr_basic ? key_draw(&attr->key) : 0;
		ret = ret ? ret : weft_mr_add(domain->nic->engine, attr, &mr->wmr);
	} while (ret == -EEXIST && domain->mr_basic);
	if (!ret && mr->count)
		LIST_INSERT_HEAD(&domain->devices, mr, link);
	prov_nic_unlock(domain->nic);
	return ret == -EEXIST ? -FI_ENOKEY : ret;
}

static int attr_check(const struct prov_domain *domain, const struct fi_mr_attr *attr, uint64_t flags)
{
	const uint64_t access =
		FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_COLLECTIVE;
	if (flags & ~(FI_RMA_EVENT | (domain->hmem ? FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY : 0)))
		return -FI_EBADFLAGS;
	if (!attr->mr_iov || !attr->iov_count || attr->iov_count > PROV_MR_IOV_MAX || attr->access & ~access ||
	    attr->offset || attr->auth_key_size)
		return -FI_EINVAL;
	return 0;
}

/* ---- memory of devices ---- */

const struct prov_hmem *prov_mr_device_find(const struct prov_domain *domain, const void *at)
{
	const struct prov_mr *mr;
	LIST_FOREACH(mr, &domain->devices, link)
	{
		for (size_t i = 0; i < mr->count; i++)
			if ((uintptr_t)at - (uintptr_t)mr->iov[i].iov_base < mr->iov[i].iov_len)
				return &mr->mem;
	}
	return NULL;
}

bool prov_mr_device_has(const struct prov_domain *domain, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (iov[i].iov_len && prov_mr_device_at(domain, iov[i].iov_base))
			return true;
	return false;
}

static bool device_move(void *context, void *at, void *other, uint64_t bytes, bool to_region)
{
	const struct prov_mr *mr = context;
	return prov_hmem_copy(&mr->mem, at, other, bytes, to_region);
}

/* Interfaces of memory mean something in domains with FI_HMEM (fi_mr(3)); applications may leave them unset elsewhere.
 */
static int device_open(struct prov_mr *mr, const struct fi_mr_attr *attr, uint64_t flags)
{
	int ret = mr->domain->hmem ? prov_hmem_open(attr, flags, &mr->mem) : 0;
	if (ret || !mr->mem.cuda)
		return ret;
	mr->count = attr->iov_count;
	memcpy(mr->iov, attr->mr_iov, attr->iov_count * sizeof *attr->mr_iov);
	return 0;
}

static int mr_start(struct prov_mr *mr, const struct fi_mr_attr *attr, uint64_t flags)
{
	struct weft_mr_seg segs[PROV_MR_IOV_MAX];
	struct weft_mr_attr wattr = {.key = attr->requested_key,
				     .base = attr->mr_iov[0].iov_base,
				     .bytes = attr->mr_iov[0].iov_len,
				     .scope = mr->domain->scope,
				     .access = access_of(attr->access, flags),
				     .context = mr,
				     .move = mr->count ? device_move : NULL};
	for (size_t i = 0; i < attr->iov_count; i++)
		segs[i] = (struct weft_mr_seg){attr->mr_iov[i].iov_base, attr->mr_iov[i].iov_len};
	if (attr->iov_count > 1) {
		wattr.segs = segs;
		wattr.seg_count = (uint32_t)attr->iov_count;
	}
	if (mr->domain->mr_basic)
		wattr.start = (uintptr_t)attr->mr_iov[0].iov_base;
	int ret = mr_add(mr, &wattr);
	mr->fid.key = wattr.key;
	return ret;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **out)
{
	struct prov_domain *domain = container_of(fid, struct prov_domain, fid.fid);
	if (fid->fclass != FI_CLASS_DOMAIN)
		return -FI_EINVAL;
	int ret = attr_check(domain, attr, flags);
	if (ret)
		return ret;
	struct prov_mr *mr = calloc(1, sizeof *mr + attr->iov_count * sizeof *attr->mr_iov);
	struct prov_event *event = domain->mr_events ? prov_eq_reserve() : NULL;
	if (!mr || (domain->mr_events && !event)) {
		free(mr);
		free(event);
		return -FI_ENOMEM;
	}
	mr->domain = domain;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fi_ops;
	ret = device_open(mr, attr, flags);
	if (!ret)
		ret = mr_start(mr, attr, flags);
	if (ret) {
		prov_hmem_close(&mr->mem);
		free(mr);
		free(event);
		return ret;
	}
	prov_ref(&domain->refs);
	*out = &mr->fid;
	const struct fi_eq_err_entry entry = {.fid = &mr->fid.fid, .context = attr->context};
	if (event)
		prov_eq_post_reserved(domain->eq, NULL, event, FI_MR_COMPLETE, &entry);
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset,
		   uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct fi_mr_attr attr = {.mr_iov = iov,
					.iov_count = count,
					.access = access,
					.offset = offset,
					.requested_key = key,
					.context = context};
	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return mr_regv(fid, &iov, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr prov_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};

/* Reports the remote CQ data of a write, which consumes no receive. */
static void data_entry(struct prov_ep *ep, const struct weft_cqe *cqe)
{
	struct prov_req *req = prov_req_get(ep->domain->nic);
	assert(req); /* prov_ep_poll reserved it */
	req->ep = ep;
	req->entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	req->entry.len = cqe->len;
	req->entry.data = cqe->data;
	if (ep->av)
		req->src = prov_av_resolve_addr(ep->av, cqe->peer);
	prov_cq_add(ep->rx_cq, req);
}

static void count_one(struct prov_cntr *cntr)
{
	if (cntr)
		prov_cntr_count(cntr, 1, 0);
}

/* At an endpoint an atomic that fetches counts as a read (fi_endpoint(3)); at a region everything that changes it
 * counts as a write, this too (fi_mr(3)). */
void prov_mr_event(struct prov_ep *ep, const struct weft_cqe *cqe)
{
	assert_locked(ep->domain->nic);
	assert(cqe->kind == WEFT_OP_REMOTE_READ || cqe->kind == WEFT_OP_REMOTE_WRITE);
	bool read = cqe->kind == WEFT_OP_REMOTE_READ;
	struct prov_cntr *at_ep = ep->cntrs[read ? PROV_CNTR_REMOTE_READ : PROV_CNTR_REMOTE_WRITE];
	/* The region may have been closed in the meantime, so look it up by its key. */
	const struct prov_mr *mr = weft_mr_find(ep->domain->nic->engine, ep->domain->scope, cqe->tag);
	count_one(at_ep);
	if (mr && read)
		count_one(mr->remote_read);
	if (mr && (!read || cqe->flags & WEFT_OP_MODIFIED))
		count_one(mr->remote_write);
	if (cqe->flags & WEFT_OP_HAS_DATA && !read && ep->rx_cq)
		data_entry(ep, cqe);
}
