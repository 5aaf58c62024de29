/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: the finished requests themselves, so that it can neither overflow nor fail to take one. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prov.h"

/* Every format is a prefix of the error entry. */
_Static_assert(offsetof(struct fi_cq_err_entry, tag) == offsetof(struct fi_cq_tagged_entry, tag), "formats agree");
_Static_assert(offsetof(struct fi_cq_err_entry, data) == offsetof(struct fi_cq_data_entry, data), "formats agree");
_Static_assert(offsetof(struct fi_cq_err_entry, len) == offsetof(struct fi_cq_msg_entry, len), "formats agree");

static struct prov_cq *cq_of(struct fid_cq *fid)
{
	return container_of(fid, struct prov_cq, fid);
}

void prov_cq_push(struct prov_cq *cq, struct prov_req *req)
{
	TAILQ_INSERT_TAIL(&cq->done, req, link);
	cq->count++;
	prov_signal_set(&cq->signal, true);
}

/* The application has read the entry. A reserved message stays reserved until it is fetched. */
static void entry_drop(struct prov_cq *cq, struct prov_req *req)
{
	TAILQ_REMOVE(&cq->done, req, link);
	cq->count--;
	prov_signal_set(&cq->signal, cq->count > 0);
	if (req->claim && req->ep)
		TAILQ_INSERT_TAIL(&req->ep->claims, req, link);
	else
		prov_req_put(cq->domain->nic, req);
}

void prov_cq_detach(struct prov_cq *cq, const struct prov_ep *ep)
{
	struct prov_req *req;
	TAILQ_FOREACH(req, &cq->done, link)
	if (req->ep == ep)
		req->ep = NULL;
}

/* Lock held. */
static ssize_t entries_take(struct prov_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	size_t n = 0;
	struct prov_req *req = TAILQ_FIRST(&cq->done);
	if (!req)
		return -FI_EAGAIN;
	if (req->entry.err)
		return -FI_EAVAIL;
	for (; n < count && (req = TAILQ_FIRST(&cq->done)) && !req->entry.err; n++) {
		memcpy((char *)buf + n * cq->entry_bytes, &req->entry, cq->entry_bytes);
		if (src)
			src[n] = req->src;
		entry_drop(cq, req);
	}
	return (ssize_t)n;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct prov_cq *cq = cq_of(fid);
	struct prov_nic *nic = cq->domain->nic;
	prov_nic_lock(nic);
	if (TAILQ_EMPTY(&cq->done) || !count)
		prov_progress(nic);
	ssize_t n = entries_take(cq, buf, count, src);
	bool idle = n == -FI_EAGAIN && prov_is_idle(nic);
	prov_nic_unlock(nic);
	if (idle)
		sched_yield();
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct prov_cq *cq = cq_of(fid);
	ssize_t ret = -FI_EAGAIN;
	prov_nic_lock(cq->domain->nic);
	struct prov_req *req = TAILQ_FIRST(&cq->done);
	if (req && req->entry.err) {
		memcpy(buf, &req->entry, offsetof(struct fi_cq_err_entry, err_data));
		buf->err_data_size = 0; /* a buffer for it stays the application's */
		entry_drop(cq, req);
		ret = 1;
	}
	prov_nic_unlock(cq->domain->nic);
	return ret;
}

static bool cq_ready(void *arg)
{
	struct prov_cq *cq = arg;
	return cq->woken || !TAILQ_EMPTY(&cq->done);
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src, const void *cond, int timeout)
{
	struct prov_cq *cq = cq_of(fid);
	prov_wait_until(cq->domain->nic, cq_ready, cq, timeout);
	prov_nic_lock(cq->domain->nic);
	cq->woken = false;
	ssize_t n = entries_take(cq, buf, count, src);
	prov_nic_unlock(cq->domain->nic);
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct prov_cq *cq = cq_of(fid);
	prov_nic_lock(cq->domain->nic);
	cq->woken = true;
	prov_nic_unlock(cq->domain->nic);
	return 0;
}

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno);
	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

int prov_cq_trywait(struct fid *fid)
{
	struct prov_cq *cq = container_of(fid, struct prov_cq, fid.fid);
	prov_nic_lock(cq->domain->nic);
	prov_progress(cq->domain->nic);
	int ret = TAILQ_EMPTY(&cq->done) ? 0 : -FI_EAGAIN;
	prov_nic_unlock(cq->domain->nic);
	return ret;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct prov_cq *cq = container_of(fid, struct prov_cq, fid.fid);
	if (command != FI_GETWAIT || cq->signal.fd < 0)
		return -FI_ENOSYS;
	*(int *)arg = cq->signal.fd;
	return 0;
}

static int cq_close(struct fid *fid)
{
	struct prov_cq *cq = container_of(fid, struct prov_cq, fid.fid);
	if (cq->refs)
		return -FI_EBUSY;
	if (cq->signal.fd >= 0)
		prov_nic_auto_put(cq->domain->nic);
	prov_nic_lock(cq->domain->nic);
	while (!TAILQ_EMPTY(&cq->done))
		entry_drop(cq, TAILQ_FIRST(&cq->done));
	prov_nic_unlock(cq->domain->nic);
	prov_signal_close(&cq->signal);
	cq->domain->refs--;
	free(cq);
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = prov_no_bind,
	.control = cq_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static size_t format_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	}
	return 0;
}

static bool wait_obj_known(enum fi_wait_obj wait)
{
	return wait == FI_WAIT_NONE || wait == FI_WAIT_UNSPEC || wait == FI_WAIT_FD || wait == FI_WAIT_YIELD;
}

/* A file descriptor tells of completions while the application sleeps: then somebody else must make progress. */
static int cq_wait_open(struct prov_cq *cq, enum fi_wait_obj wait)
{
	int ret = prov_signal_open(&cq->signal, wait == FI_WAIT_FD);
	if (!ret && wait == FI_WAIT_FD) {
		ret = prov_nic_auto_get(cq->domain->nic);
		if (ret)
			prov_signal_close(&cq->signal);
	}
	return ret;
}

int prov_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
	if (!attr || !format_bytes(attr->format) || !wait_obj_known(attr->wait_obj))
		return -FI_ENOSYS;
	struct prov_cq *cq = calloc(1, sizeof *cq);
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = container_of(domain, struct prov_domain, fid);
	cq->size = attr->size ? attr->size : PROV_QUEUE_DEFAULT;
	cq->entry_bytes = format_bytes(attr->format);
	TAILQ_INIT(&cq->done);
	int ret = cq_wait_open(cq, attr->wait_obj);
	if (ret) {
		free(cq);
		return ret;
	}
	cq->domain->refs++;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	*out = &cq->fid;
	return 0;
}
