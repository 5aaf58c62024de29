/* SPDX-License-Identifier: BSD-3-Clause */
/* How threads wait: they poll, then give way to others, then sleep until the device has packets. */
#include <assert.h>
#include <sys/eventfd.h>

#include "prov_progress.h"
#include "weft/ethdev.h"

enum {
	SPIN_US = 2,     /* a waiter polls without pause this long after the last activity */
	YIELD_US = 500,  /* then gives way to others between polls this long, then sleeps */
	NAP_MIN_US = 50, /* first nap; each later one is twice as long */
	NAP_MAX_US = 1000,
	NAP_WOKEN_MAX_MS = 10, /* for devices with receive interrupts, where packets end the sleep */
	BESIDE_MAX_MS = 10,    /* while another thread listens: that one might be cancelled in its sleep */
};

void prov_deadline(weft_ns limit, struct timespec *ts)
{
	weft_ns now = weft_clock_ns(), left = limit > now ? limit - now : 0;
	if (left > WEFT_S(100000))
		left = WEFT_S(100000); /* for ever, without overflow */
	clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_sec += (time_t)(left / WEFT_S(1));
	ts->tv_nsec += (long)(left % WEFT_S(1));
	if (ts->tv_nsec >= (long)WEFT_S(1)) {
		ts->tv_sec++;
		ts->tv_nsec -= (long)WEFT_S(1);
	}
}

/* One wait: `sleeps` grows until it is as long as the device allows. */
struct wait {
	weft_ns since_ns; /* when the wait, or the latest activity, began */
	weft_ns nap_ns;   /* next sleep */
	weft_ns limit_ns; /* when to give up */
	bool awaits_ops;  /* it waits for finished operations, not only for packets */
	bool yields;      /* it never sleeps */
	int cancel_state; /* the caller's */
};

static void wait_restart(struct wait *wait)
{
	wait->since_ns = weft_clock_ns();
	wait->nap_ns = WEFT_US(NAP_MIN_US);
}

/* A mutex of the application was busy, behind which threads may sleep that have to be woken. */
static weft_ns nap_shorten(const struct prov_nic *nic, weft_ns nap)
{
	return TAILQ_EMPTY(&nic->to_notify) || nap < WEFT_US(NAP_MAX_US) ? nap : WEFT_US(NAP_MAX_US);
}

/* When this thread looks again: when the engine has work, the wait ends or the nap is over. */
static weft_ns nap_end(const struct prov_nic *nic, const struct wait *wait, weft_ns now)
{
	weft_ns until = nic->poll.next_ns < wait->limit_ns ? nic->poll.next_ns : wait->limit_ns;
	weft_ns nap = nap_shorten(nic, wait->nap_ns);
	return until > now && until - now > nap ? now + nap : until;
}

static void nap_lengthen(struct wait *wait, weft_ns max)
{
	assert(wait->nap_ns > 0);
	wait->nap_ns = wait->nap_ns * 2 < max ? wait->nap_ns * 2 : max;
}

static void listen_to(struct prov_nic *nic, bool on)
{
	if (nic->local_port && !nic->is_orphan)
		weft_local_arm(nic->local_port, on);
}

/* From now on packets end the next sleep. False: some arrived before that, so do not sleep. */
static bool arm(struct prov_nic *nic)
{
	weft_ethdev_arm(&nic->port, 1);
	listen_to(nic, true);
	if (!prov_progress(nic))
		return true;
	weft_ethdev_sleep(&nic->port, 1, 0);
	listen_to(nic, false);
	return false;
}

/* The application may cancel a thread of its own that sleeps in a call. */
static void listener_cancelled(void *arg)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	nic->sleep.listening = false;
	pthread_cond_signal(&nic->sleep.changed); /* another thread has to listen from now on */
	prov_nic_unlock(nic);
}

/* The wait has taken the lock again. */
static void sleeper_cancelled(void *arg)
{
	struct prov_nic *nic = arg;
	prov_nic_note_owner(nic, true);
	assert(nic->sleep.sleepers > 0);
	nic->sleep.sleepers--;
	prov_nic_unlock(nic);
}

/* Sleeps as the one listener of the device; others are woken by prov_nic_wake when it finds something. Lock held, but
 * released during the sleep. */
static void listen_until(struct prov_nic *nic, const struct wait *wait, weft_ns until, weft_ns now, bool wakes)
{
	struct prov_sleep_state *sleep = &nic->sleep;
	eventfd_t value;
	int fd = nic->local_port && !nic->is_orphan ? weft_local_fd(nic->local_port) : sleep->wake_fd;
	assert(!sleep->listening && until > now);
	sleep->listening = true;
	sleep->listener_awaits_ops = wait->awaits_ops;
	sleep->listen_until_ns = until;
	prov_nic_unlock(nic);
	pthread_cleanup_push(listener_cancelled, nic);
	pthread_setcancelstate(wait->cancel_state, NULL);
	weft_ethdev_sleep_or(&nic->port, wakes, until - now, fd);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(false);
	prov_nic_lock(nic);
	sleep->listening = false;
	listen_to(nic, false);
	eventfd_read(sleep->wake_fd, &value);
}

/* Lets other threads take the lock. */
static void give_way(struct prov_nic *nic)
{
	prov_nic_unlock(nic);
	prov_nic_lock(nic);
}

/* And the CPU; whoever wants to cancel this thread may. */
static void yield_now(struct prov_nic *nic, const struct wait *wait)
{
	weft_ns now = nic->poll.now_ns;
	prov_nic_unlock(nic);
	pthread_setcancelstate(wait->cancel_state, NULL);
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	weft_yield(&nic->yield, now);
	prov_nic_lock(nic);
}

/* Sleeps until the device has packets or another thread wakes this one. Lock held, but released during the sleep. */
static void listen_for_packets(struct prov_nic *nic, struct wait *wait)
{
	bool wakes = !nic->is_orphan && weft_ethdev_rx_fd(nic->port) >= 0;
	prov_nic_notify(nic);
	weft_ns now = weft_clock_ns(), until = nap_end(nic, wait, now);
	if (until <= now) {
		yield_now(nic, wait); /* while the device takes no packets, the engine always has work due */
		return;
	}
	nap_lengthen(wait, wakes ? WEFT_MS(NAP_WOKEN_MAX_MS) : WEFT_US(NAP_MAX_US));
	if (wakes && !arm(nic))
		wait_restart(wait);
	else
		listen_until(nic, wait, until, now, wakes);
}

/* Sleeps until another thread, which listens to the device, wakes us. */
static void sleep_beside(struct prov_nic *nic, const struct wait *wait)
{
	struct timespec end;
	assert(nic->sleep.listening);
	prov_nic_notify(nic);
	weft_ns latest = weft_clock_ns() + nap_shorten(nic, WEFT_MS(BESIDE_MAX_MS));
	prov_deadline(latest < wait->limit_ns ? latest : wait->limit_ns, &end);
	nic->sleep.sleepers++;
	prov_nic_note_owner(nic, false);
	nic->no_cancel = false; /* of whoever has the lock meanwhile; wait_loop keeps this thread's state */
	pthread_cleanup_push(sleeper_cancelled, nic);
	pthread_setcancelstate(wait->cancel_state, NULL);
	pthread_cond_clockwait(&nic->sleep.changed, &nic->lock, CLOCK_MONOTONIC, &end);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(false);
	prov_nic_note_owner(nic, true);
	assert(nic->sleep.sleepers > 0);
	nic->sleep.sleepers--;
}

/* One step of waiting. Lock held, but released in between. */
static void wait_step(struct prov_nic *nic, struct wait *wait)
{
	assert_locked(nic);
	weft_ns now = weft_clock_ns(), idle_ns = now - wait->since_ns;
	if (idle_ns < WEFT_US(SPIN_US))
		give_way(nic);
	else if ((idle_ns < WEFT_US(YIELD_US) && weft_yield_pays(&nic->yield, now)) || wait->yields)
		yield_now(nic, wait);
	else if (nic->sleep.listening)
		sleep_beside(nic, wait);
	else
		listen_for_packets(nic, wait);
}

static bool wait_loop(struct prov_nic *nic, bool (*done)(void *arg), void *arg, struct wait *wait)
{
	bool end;
	wait_restart(wait);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &wait->cancel_state); /* never with the lock held */
	prov_nic_lock(nic);
	for (;;) {
		bool active = prov_progress(nic);
		end = done(arg);
		if (end || weft_clock_ns() >= wait->limit_ns)
			break;
		if (active)
			wait_restart(wait);
		wait_step(nic, wait);
	}
	if (nic->sleep.sleepers && !nic->sleep.listening)
		pthread_cond_signal(&nic->sleep.changed); /* another thread has to listen from now on */
	prov_nic_unlock(nic);
	pthread_setcancelstate(wait->cancel_state, NULL);
	return end;
}

static weft_ns limit_of(int timeout_ms)
{
	return timeout_ms < 0 ? WEFT_NEVER : weft_clock_ns() + WEFT_MS(timeout_ms);
}

bool prov_wait_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms)
{
	struct wait wait = {.limit_ns = limit_of(timeout_ms), .awaits_ops = true};
	return wait_loop(nic, done, arg, &wait);
}

bool prov_yield_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms)
{
	struct wait wait = {.limit_ns = limit_of(timeout_ms), .yields = true};
	return wait_loop(nic, done, arg, &wait);
}

static bool thread_stopped(void *arg)
{
	const struct prov_nic *nic = arg;
	assert_locked(nic);
	return nic->thread.stop;
}

void *prov_progress_thread(void *arg)
{
	struct prov_nic *nic = arg;
	struct wait wait = {.limit_ns = WEFT_NEVER};
	weft_ethdev_bind_thread(nic->port);
	wait_loop(nic, thread_stopped, nic, &wait);
	return NULL;
}
