/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queue: a list under a lock of its own, because it belongs to the fabric and not to a device. Events come from
 * calls of this process, so waiting is a condition variable; only those of links and connections come from devices: who
 * waits makes progress on the device, or looks at several now and then. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "member.h"
#include "prov_eq.h"
#include "prov_nic.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"
#include "prov_waitset.h"
#include "weft/ethdev.h"

enum {
	LOOK_MS = 10,     /* between looks at several devices while somebody waits */
	DEVICE_MS = 1000, /* longest wait at the only device before looking whether it still is */
};

/* One event; `size` bytes of `data` are what the application reads. Error events hold a struct fi_eq_err_entry and the
 * details behind it. */
struct prov_event {
	TAILQ_ENTRY(prov_event) link;
	uint32_t event;
	bool is_error;
	struct fid *about;    /* NULL: the application wrote it */
	struct fi_info *info; /* of a connection request; the queue's until it is read, then the application's */
	size_t size;
	uint8_t data[];
};

static struct prov_eq *eq_of(struct fid *fid)
{
	return container_of(fid, struct prov_eq, fid.fid);
}

static void event_set(struct prov_event *ev, uint32_t event, const void *buf, size_t len, bool is_error)
{
	*ev = (struct prov_event){.event = event, .is_error = is_error, .size = len};
	memcpy(ev->data, buf, len);
}

/* Entry and data of a connection's event. */
static void cm_event_set(struct prov_event *ev, const struct prov_cm_event *cm)
{
	const struct fi_eq_cm_entry entry = {.fid = cm->fid, .info = cm->info};
	const struct fi_eq_err_entry error = {.fid = cm->fid,
					      .context = cm->fid->context,
					      .err = cm->err,
					      .prov_errno = cm->err,
					      .err_data_size = cm->data_len};
	size_t head = cm->err ? sizeof error : sizeof entry;
	assert(cm->data_len <= PROV_CM_DATA_BYTES);
	*ev = (struct prov_event){.event = cm->event,
				  .is_error = cm->err,
				  .about = cm->fid,
				  .info = cm->info,
				  .size = head + cm->data_len};
	memcpy(ev->data, cm->err ? (const void *)&error : &entry, head);
	if (cm->data_len)
		memcpy(ev->data + head, cm->data, cm->data_len);
}

/* A queue that was overrun takes nothing more; `room` is how many events it may hold. `nic`: whose lock is held, or
 * NULL. */
static int event_add(struct prov_eq *eq, struct prov_event *ev, size_t room, struct prov_nic *nic)
{
	pthread_mutex_lock(&eq->lock);
	assert((eq->count == 0) == TAILQ_EMPTY(&eq->events));
	eq->overrun |= eq->count >= room;
	bool overrun = eq->overrun;
	if (!overrun) {
		TAILQ_INSERT_TAIL(&eq->events, ev, link);
		eq->count++;
	}
	bool notify = !nic && prov_wait_raise(&eq->wait, true);
	if (nic)
		prov_nic_raise(nic, &eq->wait, true);
	pthread_cond_broadcast(&eq->cond);
	pthread_mutex_unlock(&eq->lock);
	if (notify)
		prov_wait_notify(&eq->wait);
	if (!nic)
		prov_eq_wake(eq);
	if (overrun)
		free(ev);
	return overrun ? -FI_EOVERRUN : 0;
}

struct prov_event *prov_eq_reserve(void)
{
	return malloc(sizeof(struct prov_event) + sizeof(struct fi_eq_err_entry));
}

void prov_eq_post_reserved(struct prov_eq *eq, struct prov_nic *nic, struct prov_event *ev, uint32_t event,
			   const struct fi_eq_err_entry *entry)
{
	assert(ev && entry->err >= 0);
	if (nic)
		assert_locked(nic);
	event_set(ev, event, entry, entry->err ? sizeof *entry : sizeof(struct fi_eq_entry), entry->err != 0);
	event_add(eq, ev, SIZE_MAX, nic);
}

struct prov_event *prov_eq_reserve_cm(void)
{
	return malloc(sizeof(struct prov_event) + sizeof(struct fi_eq_err_entry) + PROV_CM_DATA_BYTES);
}

int prov_eq_post_cm(struct prov_eq *eq, struct prov_nic *nic, struct prov_event *ev, const struct prov_cm_event *event)
{
	assert_locked(nic);
	assert(ev);
	cm_event_set(ev, event);
	return event_add(eq, ev, SIZE_MAX, nic);
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	if (!eq->writable || flags || (len && !buf))
		return -FI_EINVAL;
	struct prov_event *ev = malloc(sizeof *ev + len);
	if (!ev)
		return -FI_ENOMEM;
	event_set(ev, event, buf, len, false);
	int ret = event_add(eq, ev, eq->size, NULL);
	return ret ? ret : (ssize_t)len;
}

static void event_drop(struct prov_eq *eq, struct prov_event *ev)
{
	assert(eq->count > 0);
	TAILQ_REMOVE(&eq->events, ev, link);
	eq->count--;
	prov_wait_raise(&eq->wait, eq->count > 0 || eq->overrun);
	fi_freeinfo(ev->info);
	free(ev);
}

struct fi_info *prov_eq_forget(struct prov_eq *eq, const struct fid *fid)
{
	struct prov_event *ev, *next;
	struct fi_info *infos = NULL;
	pthread_mutex_lock(&eq->lock);
	for (ev = TAILQ_FIRST(&eq->events); ev; ev = next) {
		next = TAILQ_NEXT(ev, link);
		if (ev->about != fid)
			continue;
		if (ev->info) {
			ev->info->next = infos;
			infos = ev->info;
			ev->info = NULL;
		}
		event_drop(eq, ev);
	}
	pthread_mutex_unlock(&eq->lock);
	return infos;
}

/* Lock held. */
static ssize_t read_locked(struct prov_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct prov_event *ev = TAILQ_FIRST(&eq->events);
	assert(!ev == (eq->count == 0));
	if (!ev)
		return eq->overrun ? -FI_EAVAIL : -FI_EAGAIN;
	if (ev->is_error)
		return -FI_EAVAIL;
	if (buf && len < ev->size)
		return -FI_ETOOSMALL;
	size_t size = buf ? ev->size : 0; /* without a buffer only the event's type is returned */
	*event = ev->event;
	if (size)
		memcpy(buf, ev->data, size);
	if (flags & FI_PEEK)
		return (ssize_t)size;
	if (size)
		ev->info = NULL; /* the reader has it */
	event_drop(eq, ev);
	return (ssize_t)size;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	prov_eq_look(eq);
	pthread_mutex_lock(&eq->lock);
	ssize_t ret = read_locked(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* The error entry to be read next; of an overrun queue the last one, again and again. Lock held. */
static const struct fi_eq_err_entry *error_next(struct prov_eq *eq, struct fi_eq_err_entry *overrun)
{
	struct prov_event *ev = TAILQ_FIRST(&eq->events);
	if (ev)
		return ev->is_error ? (const struct fi_eq_err_entry *)ev->data : NULL;
	*overrun = (struct fi_eq_err_entry){.fid = &eq->fid.fid, .err = FI_EOVERRUN, .prov_errno = FI_EOVERRUN};
	return eq->overrun ? overrun : NULL;
}

/* Copies the details of an error to the application's buffer. Without one they stay valid until the next read. */
static void details_copy_out(struct prov_eq *eq, const struct fi_eq_err_entry *entry, struct fi_eq_err_entry *buf)
{
	const void *details = entry + 1;
	bool sized = prov_api_has_err_size(eq->fabric);
	size_t len = entry->err_data_size, room = sized ? buf->err_data_size : 0;
	if (room && len) {
		buf->err_data_size = len < room ? len : room;
		memcpy(buf->err_data, details, buf->err_data_size);
		return;
	}
	assert(len <= sizeof eq->err_data);
	if (len)
		memcpy(eq->err_data, details, len);
	if (!room)
		buf->err_data = len ? eq->err_data : NULL;
	if (sized)
		buf->err_data_size = len;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	struct fi_eq_err_entry overrun;
	ssize_t ret = -FI_EAGAIN;
	pthread_mutex_lock(&eq->lock);
	const struct fi_eq_err_entry *entry = error_next(eq, &overrun);
	if (entry) {
		memcpy(buf, entry, offsetof(struct fi_eq_err_entry, err_data));
		details_copy_out(eq, entry, buf);
		ret = prov_api_has_err_size(eq->fabric) ? sizeof *buf : offsetof(struct fi_eq_err_entry, err_data_size);
		if (!(flags & FI_PEEK) && entry != &overrun)
			event_drop(eq, TAILQ_FIRST(&eq->events));
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* Until `until`, or until there is something to read, as the caller sees. */
static ssize_t sread_until(struct prov_eq *eq, weft_ns until, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct timespec end;
	int expired = 0;
	prov_deadline(until, &end);
	pthread_mutex_lock(&eq->lock);
	while (TAILQ_EMPTY(&eq->events) && !eq->overrun && !expired)
		expired = until == WEFT_NEVER ? pthread_cond_wait(&eq->cond, &eq->lock)
					      : pthread_cond_clockwait(&eq->cond, &eq->lock, CLOCK_MONOTONIC, &end);
	ssize_t ret = read_locked(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static bool is_ready(void *arg)
{
	struct prov_eq *eq = arg;
	pthread_mutex_lock(&eq->lock);
	bool ready = !TAILQ_EMPTY(&eq->events) || eq->overrun;
	pthread_mutex_unlock(&eq->lock);
	return ready;
}

static void device_give_back(void *nic)
{
	prov_nic_put(nic);
}

/* Until there may be something to read, or until `limit`. With one device a thread waits as for completions. */
static void sources_wait(struct prov_eq *eq, weft_ns limit)
{
	weft_ns now = weft_clock_ns(), left = limit > now ? limit - now : 0;
	struct prov_nic *nic = prov_eq_borrow(eq);
	if (!nic)
		return;
	pthread_cleanup_push(device_give_back, nic);
	prov_wait_until(nic, is_ready, eq, left < WEFT_MS(DEVICE_MS) ? (int)(left / WEFT_MS(1)) : DEVICE_MS);
	pthread_cleanup_pop(true);
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	struct prov_eq *eq = eq_of(&fid->fid);
	weft_ns limit = timeout < 0 ? WEFT_NEVER : weft_clock_ns() + WEFT_MS(timeout), until;
	ssize_t ret;
	do {
		sources_wait(eq, limit);
		weft_ns look = prov_eq_look(eq) ? weft_clock_ns() + WEFT_MS(LOOK_MS) : WEFT_NEVER;
		until = look < limit ? look : limit;
		ret = sread_until(eq, until, event, buf, len, flags);
	} while (ret == -FI_EAGAIN && until < limit);
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
	int ret = TAILQ_EMPTY(&eq->events) && !eq->overrun ? 0 : -FI_EAGAIN;
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	return prov_wait_control(&eq_of(fid)->wait, command, arg);
}

static int eq_close(struct fid *fid)
{
	struct prov_eq *eq = eq_of(fid);
	if (eq->refs)
		return -FI_EBUSY;
	while (!TAILQ_EMPTY(&eq->events))
		event_drop(eq, TAILQ_FIRST(&eq->events));
	assert(!eq->count);
	prov_wait_close(&eq->wait);
	assert(TAILQ_EMPTY(&eq->sources));
	pthread_mutex_destroy(&eq->sources_lock);
	pthread_cond_destroy(&eq->cond);
	pthread_mutex_destroy(&eq->lock);
	prov_unref(&eq->fabric->refs);
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
	pthread_cond_init(&eq->cond, NULL);
	pthread_mutex_init(&eq->lock, NULL);
	pthread_mutex_init(&eq->sources_lock, NULL);
	TAILQ_INIT(&eq->sources);
	TAILQ_INIT(&eq->events);
	eq->fabric = fabric;
	prov_ref(&fabric->refs);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fi_ops;
	eq->fid.ops = &eq_ops;
}

int prov_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
	static const struct fi_eq_attr defaults = {.size = 0};
	const struct fi_eq_attr *a = attr ? attr : &defaults;
	struct prov_fabric *fabric = prov_fabric_of(fid);
	if (a->flags & ~(FI_WRITE | FI_AFFINITY))
		return -FI_EBADFLAGS;
	struct prov_eq *eq = calloc(1, sizeof *eq);
	if (!eq)
		return -FI_ENOMEM;
	const struct prov_wait_attr wait = {
		.kind = a->wait_obj,
		.group = a->wait_obj == FI_WAIT_SET ? prov_waitset_group(a->wait_set, fabric) : NULL,
		.owner = &eq->fid.fid,
		.trywait = prov_eq_trywait};
	int ret = prov_wait_open(&eq->wait, &wait);
	if (ret) {
		free(eq);
		return ret;
	}
	eq->size = a->size ? a->size : PROV_QUEUE_DEFAULT;
	eq->writable = a->flags & FI_WRITE;
	eq_init(eq, fabric, context);
	*out = &eq->fid;
	return 0;
}
