/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: the finished requests themselves, so that it can neither overflow nor fail to take one. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "prov_cq.h"
#include "prov_ep.h"
#include "prov_explain.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"

/* Every format is a prefix of the error entry. */
_Static_assert(offsetof(struct fi_cq_err_entry, tag) == offsetof(struct fi_cq_tagged_entry, tag), "formats agree");
_Static_assert(offsetof(struct fi_cq_err_entry, data) == offsetof(struct fi_cq_data_entry, data), "formats agree");
_Static_assert(offsetof(struct fi_cq_err_entry, len) == offsetof(struct fi_cq_msg_entry, len), "formats agree");

static struct prov_cq *cq_of(struct fid_cq *fid)
{
	return container_of(fid, struct prov_cq, fid);
}

void prov_cq_add(struct prov_cq *cq, struct prov_req *req)
{
	assert_locked(cq->domain->nic);
	assert(req->state == PROV_REQ_HELD);
	req->state = PROV_REQ_DONE;
	TAILQ_INSERT_TAIL(&cq->done, req, link);
	cq->count++;
	cq->errors += req->entry.err != 0;
	prov_nic_raise(cq->domain->nic, &cq->wait, true);
}

/* The application has read the entry. A claimed message stays reserved until it is fetched, by who has the receives:
 * the endpoint that reported it may close before. */
static void entry_drop(struct prov_cq *cq, struct prov_req *req)
{
	assert(req->state == PROV_REQ_DONE && cq->count > 0);
	TAILQ_REMOVE(&cq->done, req, link);
	cq->count--;
	assert(!req->entry.err || cq->errors > 0);
	cq->errors -= req->entry.err != 0;
	prov_nic_raise(cq->domain->nic, &cq->wait, cq->count > 0);
	free(req->entry.err_data);
	req->entry.err_data = NULL;
	req->state = PROV_REQ_HELD;
	if (!req->claim || !req->ep) {
		prov_req_put(cq->domain->nic, req);
		return;
	}
	req->ep = prov_rx_of(req->ep);
	req->state = PROV_REQ_CLAIMED;
	TAILQ_INSERT_TAIL(&req->ep->claims, req, link);
}

void prov_cq_detach(struct prov_cq *cq, const struct prov_ep *ep)
{
	struct prov_req *req;
	assert_locked(cq->domain->nic);
	TAILQ_FOREACH(req, &cq->done, link)
	if (req->ep == ep)
		req->ep = NULL;
}

/* Lock held. */
static ssize_t entries_take(struct prov_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	size_t n = 0;
	struct prov_req *req = TAILQ_FIRST(&cq->done);
	assert_locked(cq->domain->nic);
	assert((cq->count == 0) == !req && cq->errors <= cq->count);
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
	if (TAILQ_EMPTY(&cq->done) || !count || nic->poll.batched) /* what waits may be what the entries are about */
		prov_progress(nic);
	ssize_t n = entries_take(cq, buf, count, src);
	bool idle = n == -FI_EAGAIN && prov_is_idle(nic);
	weft_ns now = nic->poll.now_ns;
	prov_nic_unlock(nic);
	if (idle)
		weft_yield(&nic->yield, now);
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

/* Copies the details of the error to the application's buffer. Without a buffer they stay valid until the next read. */
static void err_data_copy_out(struct prov_cq *cq, struct fi_cq_err_entry *entry, struct fi_cq_err_entry *buf)
{
	bool sized = prov_api_has_err_size(cq->domain->fabric);
	free(cq->err_data);
	cq->err_data = NULL;
	if (!sized || !buf->err_data_size) {
		buf->err_data = cq->err_data = entry->err_data;
		if (sized)
			buf->err_data_size = entry->err_data_size;
		entry->err_data = NULL;
		return;
	}
	if (buf->err_data_size > entry->err_data_size)
		buf->err_data_size = entry->err_data_size;
	if (!buf->err_data_size)
		return;
	memcpy(buf->err_data, entry->err_data, buf->err_data_size);
	if (prov_explains(entry->prov_errno)) /* text, cut or not */
		((char *)buf->err_data)[buf->err_data_size - 1] = 0;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct prov_cq *cq = cq_of(fid);
	ssize_t ret = -FI_EAGAIN;
	prov_nic_lock(cq->domain->nic);
	if (TAILQ_EMPTY(&cq->done))
		prov_progress(cq->domain->nic);
	struct prov_req *req = TAILQ_FIRST(&cq->done);
	if (req && req->entry.err) {
		memcpy(buf, &req->entry, offsetof(struct fi_cq_err_entry, err_data));
		err_data_copy_out(cq, &req->entry, buf);
		entry_drop(cq, req);
		ret = 1;
	}
	prov_nic_unlock(cq->domain->nic);
	return ret;
}

/* State of one fi_cq_sread. */
struct sread {
	struct prov_cq *cq;
	void *buf;
	fi_addr_t *src;
	size_t count, threshold;
	unsigned signals; /* cq->signals when it began */
	ssize_t got;
};

/* Takes the entries here, because another thread could take them before this one returns. Lock held. */
static bool sread_try(void *arg)
{
	struct sread *sr = arg;
	struct prov_cq *cq = sr->cq;
	assert_locked(cq->domain->nic);
	assert(sr->threshold > 0);
	if (cq->count >= sr->threshold || cq->errors)
		sr->got = entries_take(cq, sr->buf, sr->count, sr->src);
	return sr->got != -FI_EAGAIN || cq->signals != sr->signals;
}

/* A threshold above `count` would delay entries that the call could return. */
static size_t threshold_of(const struct prov_cq *cq, const void *cond, size_t count)
{
	size_t n = cq->has_threshold ? (uintptr_t)cond : 1;
	if (n > count)
		n = count;
	return n ? n : 1;
}

/* Consumes a signal that came while nobody waited. Lock held. */
static bool signal_take(struct prov_cq *cq)
{
	bool pending = cq->signal_pending;
	assert_locked(cq->domain->nic);
	cq->signal_pending = false;
	return pending;
}

/* Also when the application cancels the thread in its sleep. */
static void waiter_leave(void *arg)
{
	struct prov_cq *cq = arg;
	prov_nic_lock(cq->domain->nic);
	assert(cq->waiters > 0);
	cq->waiters--;
	prov_nic_unlock(cq->domain->nic);
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src, const void *cond, int timeout)
{
	struct prov_cq *cq = cq_of(fid);
	struct prov_nic *nic = cq->domain->nic;
	struct sread sr = {.cq = cq, .buf = buf, .src = src, .count = count, .got = -FI_EAGAIN};
	sr.threshold = threshold_of(cq, cond, count);
	prov_nic_lock(nic);
	sr.signals = cq->signals - signal_take(cq);
	cq->waiters++;
	prov_nic_unlock(nic);
	pthread_cleanup_push(waiter_leave, cq);
	if (cq->wait.attr.kind == FI_WAIT_YIELD)
		prov_yield_until(nic, sread_try, &sr, timeout);
	else
		prov_wait_until(nic, sread_try, &sr, timeout);
	pthread_cleanup_pop(true);
	prov_nic_lock(nic);
	if (sr.got == -FI_EAGAIN) /* return fewer entries than wanted rather than none */
		sr.got = entries_take(cq, buf, count, src);
	prov_nic_unlock(nic);
	return sr.got;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

/* Ends all current waits, or the next one if nobody waits now. */
static int cq_signal(struct fid_cq *fid)
{
	struct prov_cq *cq = cq_of(fid);
	prov_nic_lock(cq->domain->nic);
	if (cq->waiters)
		cq->signals++;
	else
		cq->signal_pending = true;
	prov_nic_wake(cq->domain->nic);
	prov_nic_unlock(cq->domain->nic);
	return 0;
}

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = err_data && prov_explains(prov_errno) ? err_data : fi_strerror(prov_errno);
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
	return prov_wait_control(&container_of(fid, struct prov_cq, fid.fid)->wait, command, arg);
}

static int cq_close(struct fid *fid)
{
	struct prov_cq *cq = container_of(fid, struct prov_cq, fid.fid);
	struct prov_nic *nic = cq->domain->nic;
	if (cq->refs)
		return -FI_EBUSY;
	prov_nic_lock(nic);
	while (!TAILQ_EMPTY(&cq->done))
		entry_drop(cq, TAILQ_FIRST(&cq->done));
	assert(!cq->count && !cq->errors && !cq->waiters);
	prov_nic_cancel_notify(nic, &cq->wait);
	prov_nic_unlock(nic);
	prov_domain_wait_close(cq->domain, &cq->wait);
	prov_unref(&cq->domain->refs);
	free(cq->err_data);
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

static int attr_check(const struct fi_cq_attr *attr)
{
	if (!attr || !format_bytes(attr->format) || attr->wait_cond > FI_CQ_COND_THRESHOLD)
		return -FI_EINVAL;
	return attr->flags & ~FI_AFFINITY ? -FI_EBADFLAGS : 0; /* the provider has no interrupts to steer */
}

int prov_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
	int ret = attr_check(attr);
	struct prov_cq *cq = ret ? NULL : calloc(1, sizeof *cq);
	if (!cq)
		return ret ? ret : -FI_ENOMEM;
	cq->domain = prov_domain_of(domain);
	cq->size = attr->size ? attr->size : PROV_QUEUE_DEFAULT;
	cq->entry_bytes = format_bytes(attr->format);
	cq->has_threshold = attr->wait_cond == FI_CQ_COND_THRESHOLD && attr->wait_obj != FI_WAIT_NONE;
	TAILQ_INIT(&cq->done);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	const struct prov_domain_wait wait = {
		.kind = attr->wait_obj, .set = attr->wait_set, .owner = &cq->fid.fid, .trywait = prov_cq_trywait};
	ret = prov_domain_wait_open(cq->domain, &cq->wait, &wait);
	if (ret) {
		free(cq);
		return ret;
	}
	prov_ref(&cq->domain->refs);
	*out = &cq->fid;
	return 0;
}
