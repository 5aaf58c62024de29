/* SPDX-License-Identifier: BSD-3-Clause */
/* Open devices. A device has one port and one engine however many domains are opened on it in this process. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "device.h"
#include "nic_telemetry.h"
#include "prov_hang.h"
#include "prov_keys.h"
#include "prov_link.h"
#include "prov_log.h"
#include "prov_nic.h"
#include "prov_progress.h"
#include "prov_recorder.h"
#include "weft/ethdev.h"

/* After our own connections are closed, peers may still ask for an acknowledgement they lost: stay this long after the
 * last packet. */
enum {
	HANG_SHARE = 10, /* operations older than this share of the peer timeout are told of */
	QUIET_MS = 5,
	QUIET_DGRAM_MS = 200, /* datagrams are not acknowledged: the device may still hold them, or wait for a
				 neighbour's address */
};

static TAILQ_HEAD(, prov_nic) open_nics = TAILQ_HEAD_INITIALIZER(open_nics);
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static bool eal_used, eal_is_parents; /* eal_used: by this process or the one it was forked from */

static void locks_init(struct prov_nic *nic)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP); /* the lock is held for a burst at most */
	pthread_mutex_init(&nic->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	prov_nic_note_owner(nic, false);
	pthread_mutex_init(&nic->thread.lock, NULL);
	pthread_cond_init(&nic->sleep.changed, NULL);
}

static void nic_init(struct prov_nic *nic, const struct prov_dev *dev, const struct prov_tune *tune)
{
	assert(nic->engine && nic->port);
	nic->ip = dev->ip;
	nic->calls_kernel = weft_ethdev_calls_kernel(nic->port);
	nic->linger_ns = tune->linger_ns;
	nic->copy_bytes = tune->copy_bytes;
	nic->peer_timeout_ns = tune->engine.tune.peer_timeout_ns;
	locks_init(nic);
	TAILQ_INIT(&nic->to_notify);
	TAILQ_INIT(&nic->pollers);
	TAILQ_INIT(&nic->link_listeners);
	prov_req_pool_init(&nic->reqs);
	prov_hang_init(nic, tune->engine.tune.peer_timeout_ns / HANG_SHARE);
	prov_deferred_init(&nic->deferred);
	prov_late_init(&nic->late_errors);
	weft_ethdev_on_link(nic->port, prov_link_heard, nic);
	prov_keys_start(nic);
}

static void nic_free(struct prov_nic *nic)
{
	if (nic->sleep.wake_fd >= 0)
		close(nic->sleep.wake_fd);
	free(nic->keys.path);
	free(nic->name);
	free(nic);
}

static struct prov_nic *nic_new(const char *name)
{
	struct prov_nic *nic = calloc(1, sizeof *nic);
	if (!nic)
		return NULL;
	nic->name = strdup(name);
	nic->sleep.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (nic->name && nic->sleep.wake_fd >= 0)
		return nic;
	nic_free(nic);
	return NULL;
}

static int nic_open(const struct prov_conf *conf, const struct prov_dev *dev, struct prov_nic **out,
		    struct weft_err *err)
{
	struct prov_tune tune;
	struct prov_nic *nic = nic_new(dev->name);
	if (!nic)
		return weft_err_set(err, -ENOMEM, "no memory or no file descriptor left");
	int ret = prov_tune_load(&tune, err);
	if (!ret)
		ret = prov_device_open(nic, conf, dev, &tune, err);
	if (!ret) {
		nic_init(nic, dev, &tune);
		prov_recorder_open(nic, tune.record_events);
		prov_telemetry_add(nic);
		prov_stand_in_start(nic, tune.engine.tune.peer_timeout_ns);
		*out = nic;
	} else {
		nic_free(nic);
	}
	prov_tune_free(&tune);
	return ret;
}

static struct prov_nic *nic_find(const char *name)
{
	struct prov_nic *nic;
	TAILQ_FOREACH(nic, &open_nics, link)
	if (strcmp(nic->name, name) == 0)
		return nic;
	return NULL;
}

int prov_nic_get(const struct prov_conf *conf, const struct prov_dev *dev, struct prov_nic **out, struct weft_err *err)
{
	int ret = 0;
	pthread_mutex_lock(&open_lock);
	struct prov_nic *nic = nic_find(dev->name);
	if (eal_is_parents) {
		ret = weft_err_set(err, -ENOSYS, "%s: the parent of this process uses DPDK; only exec makes it ours",
				   dev->name);
	} else if (!nic) {
		eal_used = true;
		ret = nic_open(conf, dev, &nic, err);
		if (!ret)
			TAILQ_INSERT_TAIL(&open_nics, nic, link);
	}
	if (!ret) {
		assert(!nic->is_orphan);
		nic->users++;
		*out = nic;
	}
	pthread_mutex_unlock(&open_lock);
	return ret;
}

void prov_nic_share(struct prov_nic *nic)
{
	pthread_mutex_lock(&open_lock);
	assert(nic->users > 0);
	nic->users++;
	pthread_mutex_unlock(&open_lock);
}

static bool is_quiet(void *arg)
{
	struct prov_nic *nic = arg;
	assert_locked(nic);
	bool datagrams = weft_engine_stats(nic->engine)->tx_dgram > 0;
	return weft_engine_idle(nic->engine) && !prov_keys_pending(nic) &&
	       nic->poll.now_ns - nic->poll.active_ns >= WEFT_MS(datagrams ? QUIET_DGRAM_MS : QUIET_MS);
}

/* Waits, for a bounded time, until nothing is under way any more. */
static void linger(struct prov_nic *nic)
{
	assert(!nic->users && !nic->is_orphan);
	weft_engine_shutdown(nic->engine, weft_clock_ns());
	nic->poll.active_ns = weft_clock_ns();
	if (nic->linger_ns)
		prov_wait_until(nic, is_quiet, nic, (int)(nic->linger_ns / WEFT_MS(1)));
}

static void nic_close(struct prov_nic *nic)
{
	prov_keys_stop(nic);
	assert(!nic->cm && !nic->thread.users && TAILQ_EMPTY(&nic->pollers) && TAILQ_EMPTY(&nic->deferred.all));
	if (!nic->is_orphan) {
		prov_stand_in_stop(nic);
		prov_telemetry_remove(nic);
		linger(nic);
		prov_device_close(nic);
		prov_recorder_close(nic);
	}
	prov_req_pool_free(&nic->reqs);
	prov_late_free(&nic->late_errors);
	pthread_cond_destroy(&nic->sleep.changed);
	pthread_mutex_destroy(&nic->thread.lock);
	pthread_mutex_destroy(&nic->lock);
	nic_free(nic);
}

void prov_nic_put(struct prov_nic *nic)
{
	pthread_mutex_lock(&open_lock);
	assert(nic->users > 0);
	if (--nic->users == 0) {
		TAILQ_REMOVE(&open_nics, nic, link);
		nic_close(nic);
	}
	pthread_mutex_unlock(&open_lock);
}

/* ---- forked children ---- */

static uint16_t no_burst(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	return 0;
}

static void no_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
}

static void no_close(struct weft_port *port)
{
}

static const struct weft_port_ops no_ops = {
	.rx = no_burst,
	.tx = no_burst,
	.alloc = no_burst,
	.free = no_free,
	.close = no_close,
};

static void pollers_orphan(struct prov_nic *nic)
{
	struct prov_poller *poller;
	TAILQ_FOREACH(poller, &nic->pollers, link)
	if (poller->orphan)
		poller->orphan(poller);
	TAILQ_INIT(&nic->pollers);
}

static void notifications_orphan(struct prov_nic *nic)
{
	struct prov_wait_obj *w;
	TAILQ_FOREACH(w, &nic->to_notify, notify_link)
	w->queued = false;
	TAILQ_INIT(&nic->to_notify);
}

/* Locks may have been held by threads that the child does not have. */
static void nic_orphan(struct prov_nic *nic)
{
	assert(nic->port && nic->engine_port && nic->users > 0);
	locks_init(nic);
	nic->is_orphan = true;
	nic->port->ops = nic->engine_port->ops = &no_ops; /* our copies of the structures */
	nic->linger_ns = 0;
	nic->sleep.listening = false;
	nic->sleep.sleepers = 0;
	nic->stand_in.rests = false;
	notifications_orphan(nic);
	close(nic->sleep.wake_fd);
	nic->sleep.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pollers_orphan(nic);
}

void prov_nics_orphan(void)
{
	struct prov_nic *nic;
	pthread_mutex_init(&open_lock, NULL);
	eal_is_parents = eal_used;
	TAILQ_FOREACH(nic, &open_nics, link)
	nic_orphan(nic);
}
