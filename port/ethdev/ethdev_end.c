/* SPDX-License-Identifier: BSD-3-Clause */
/* Stopping and closing devices. virtio-user's driver handles the end of its connection on EAL's interrupt thread: a
 * handler reads the device, and an alarm set by the handler reads it again a microsecond later. Neither is waited for
 * when another thread closes the device meanwhile, so both ends closing at once made them use freed memory. Done on the
 * interrupt thread, stopping removes the handler while it can't be running; its last alarm comes before the close.
 *
 * The driver also writes to its socket without caring for SIGPIPE, which ends a process whose peer has gone: it is held
 * back around everything that may write, and the write fails instead. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "ethdev_dev.h"

enum {
	ALARM_US = 1000, /* longer than a handler's alarm takes to come */
	PATIENCE_S = 2,  /* a forked process has no interrupt thread */
};

static sem_t done; /* one device at a time: callers hold the lock of all devices */

static uint16_t id_of(void *arg)
{
	return (uint16_t)(uintptr_t)arg;
}

static sigset_t sigpipe(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	return set;
}

void ethdev_sigpipe_hold(sigset_t *before)
{
	const sigset_t pipe = sigpipe();
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

void ethdev_sigpipe_release(const sigset_t *before)
{
	static const struct timespec at_once;
	const sigset_t pipe = sigpipe();
	if (!sigismember(before, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &at_once) > 0)
			;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void stop_now(void *arg)
{
	sigset_t before;
	ethdev_sigpipe_hold(&before);
	rte_eth_dev_stop(id_of(arg));
	ethdev_sigpipe_release(&before);
	sem_post(&done);
}

static void close_now(void *arg)
{
	sigset_t before;
	ethdev_sigpipe_hold(&before);
	rte_eth_dev_close(id_of(arg));
	ethdev_sigpipe_release(&before);
	sem_post(&done);
}

static bool wait_done(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	int rc;
	do {
		rc = sem_timedwait(&done, &until);
	} while (rc != 0 && errno == EINTR);
	return rc == 0;
}

/* Calls `fn` on the interrupt thread and waits for it; here, when there is no such thread. */
static void on_interrupt_thread(rte_eal_alarm_callback fn, uint16_t id)
{
	void *arg = (void *)(uintptr_t)id;
	sem_init(&done, 0, 0);
	bool asked = rte_eal_alarm_set(ALARM_US, fn, arg) == 0;
	if (!asked || (!wait_done() && rte_eal_alarm_cancel(fn, arg) > 0))
		fn(arg);
	sem_destroy(&done);
}

void ethdev_dev_end(uint16_t id, const struct rte_eth_dev_info *info, bool stop, bool close)
{
	bool racy = ethdev_driver_is(info->driver_name, "net_virtio_user");
	if (stop && racy)
		on_interrupt_thread(stop_now, id);
	else if (stop)
		rte_eth_dev_stop(id);
	if (close && racy)
		on_interrupt_thread(close_now, id);
	else if (close)
		rte_eth_dev_close(id);
}
