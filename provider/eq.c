/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queue: a list under a lock of its own, because it belongs to the fabric and not to a device. Events come from
 * calls of this process only, so waiting is a condition variable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prov.h"

/* One event; `size` bytes of `data` are what the application reads. Error events hold a struct fi_eq_err_entry. */
struct prov_event {
	TAILQ_ENTRY(prov_event) link;
	uint32_t event;
	bool is_error;
	size_t size;
	uint8_t data[];
};

static struct prov_eq *eq_of(struct fid *fid)
{
	return container_of(fid, struct prov_eq, fid.fid);
}

static ssize_t event_add(struct prov_eq *eq, uint32_t event, const void *buf, size_t len, bool is_error)
{
	struct prov_event *ev = malloc(sizeof *ev + len);
	if (!ev)
		return -FI_ENOMEM;
	ev->event = event;
	ev->is_error = is_error;
	ev->size = len;
	memcpy(ev->data, buf, len);
	pthread_mutex_lock(&eq->lock);
	TAILQ_INSERT_TAIL(&eq->events, ev, link);
	prov_signal_set(&eq->signal, true);
	pthread_cond_signal(&eq->cond);
	pthread_mutex_unlock(&eq->lock);
	return (ssize_t)len;
}

int prov_eq_post(struct prov_eq *eq, uint32_t event, const struct fi_eq_err_entry *entry)
{
	size_t len = entry->err ? sizeof *entry : sizeof(struct fi_eq_entry);
	return event_add(eq, event, entry, len, entry->err != 0) < 0 ? -FI_ENOMEM : 0;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	return event_add(eq_of(&fid->fid), event, buf, len, false);
}

static void event_drop(struct prov_eq *eq, struct prov_event *ev)
{
	TAILQ_REMOVE(&eq->events, ev, link);
	prov_signal_set(&eq->signal, !TAILQ_EMPTY(&eq->events));
	free(ev);
}

/* Lock held. */
static ssize_t read_locked(struct prov_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct prov_event *ev = TAILQ_FIRST(&eq->events);
	if (!ev)
		return -FI_EAGAIN;
	if (ev->is_error)
		return -FI_EAVAIL;
	if (len < ev->size)
		return -FI_ETOOSMALL;
	size_t size = ev->size;
	*event = ev->event;
	memcpy(buf, ev->data, size);
	if (!(flags & FI_PEEK))
		event_drop(eq, ev);
	return (ssize_t)size;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	pthread_mutex_lock(&eq->lock);
	ssize_t ret = read_locked(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	ssize_t ret = -FI_EAGAIN;
	pthread_mutex_lock(&eq->lock);
	struct prov_event *ev = TAILQ_FIRST(&eq->events);
	if (ev && ev->is_error) {
		memcpy(buf, ev->data, sizeof *buf);
		if (!(flags & FI_PEEK))
			event_drop(eq, ev);
		ret = sizeof *buf;
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static struct timespec deadline_after(int timeout_ms)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += timeout_ms / 1000;
	ts.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	struct timespec end = deadline_after(timeout < 0 ? 0 : timeout);
	int expired = 0;
	pthread_mutex_lock(&eq->lock);
	while (TAILQ_EMPTY(&eq->events) && !expired)
		expired = timeout < 0 ? pthread_cond_wait(&eq->cond, &eq->lock)
				      : pthread_cond_timedwait(&eq->cond, &eq->lock, &end);
	ssize_t ret = read_locked(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static const char *eq_strerror(struct fid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno);
	if (buf && len)
		snprintf(buf, len, "%s", text);
	return buf && len ? buf : text;
}

int prov_eq_trywait(struct fid *fid)
{
	struct prov_eq *eq = eq_of(fid);
	pthread_mutex_lock(&eq->lock);
	int ret = TAILQ_EMPTY(&eq->events) ? 0 : -FI_EAGAIN;
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct prov_eq *eq = eq_of(fid);
	if (command != FI_GETWAIT || eq->signal.fd < 0)
		return -FI_ENOSYS;
	*(int *)arg = eq->signal.fd;
	return 0;
}

static int eq_close(struct fid *fid)
{
	struct prov_eq *eq = eq_of(fid);
	if (eq->refs)
		return -FI_EBUSY;
	while (!TAILQ_EMPTY(&eq->events))
		event_drop(eq, TAILQ_FIRST(&eq->events));
	prov_signal_close(&eq->signal);
	pthread_cond_destroy(&eq->cond);
	pthread_mutex_destroy(&eq->lock);
	eq->fabric->refs--;
	free(eq);
	return 0;
}

static struct fi_ops eq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = prov_no_bind,
	.control = eq_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

static void eq_init(struct prov_eq *eq, struct prov_fabric *fabric, void *context)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&eq->cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&eq->lock, NULL);
	TAILQ_INIT(&eq->events);
	eq->fabric = fabric;
	fabric->refs++;
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fi_ops;
	eq->fid.ops = &eq_ops;
}

int prov_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
	enum fi_wait_obj wait = attr ? attr->wait_obj : FI_WAIT_NONE;
	if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD)
		return -FI_ENOSYS;
	struct prov_eq *eq = calloc(1, sizeof *eq);
	if (!eq)
		return -FI_ENOMEM;
	int ret = prov_signal_open(&eq->signal, wait == FI_WAIT_FD);
	if (ret) {
		free(eq);
		return ret;
	}
	eq_init(eq, container_of(fabric, struct prov_fabric, fid), context);
	*out = &eq->fid;
	return 0;
}
