/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything advances here: the engine is polled and finished operations reach their queues. Called from reading queues
 * (manual progress), after sends, and from a thread of our own (automatic progress). */
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>

#include "coll.h"
#include "prov_rma.h"
#include "trigger.h"
#include "weft/ethdev.h"

enum {
	CQE_BURST = 32,
	SPIN_US = 20,    /* a waiter polls without pause this long after the last activity */
	YIELD_US = 500,  /* then gives way to others between polls this long, then sleeps */
	NAP_MIN_US = 50, /* first nap; each later one is twice as long */
	NAP_MAX_US = 1000,
	NAP_WOKEN_MAX_MS = 10, /* where packets end the sleep */
	HELD_MAX = 7,          /* pushes that wait for the next one */
	PUSH_US = 2,           /* sends look at what has arrived when this long nobody has */
	BESIDE_MAX_MS = 10,    /* while another thread listens; it might be cancelled in its sleep */
};

static uint64_t packets_received(const struct weft_stats *s)
{
	return s->rx_data + s->rx_dup + s->rx_trimmed + s->rx_ack + s->rx_nack + s->rx_ctrl + s->rx_dgram;
}

static void completed(struct prov_ep *ep, const struct weft_cqe *cqe)
{
	if (cqe->kind == WEFT_OP_REMOTE_WRITE || cqe->kind == WEFT_OP_REMOTE_READ)
		prov_mr_event(ep, cqe);
	else
		prov_req_done(ep, cqe->context, cqe);
}

static bool completions_take(struct prov_nic *nic)
{
	struct weft_cqe cqes[CQE_BURST];
	struct prov_ep *ep;
	bool any = false;
	unsigned n;
	TAILQ_FOREACH(ep, &nic->eps, link)
	{
		do {
			if (!prov_req_ensure(nic, CQE_BURST))
				return any; /* the engine keeps what it has */
			n = weft_cq_take(ep->wep, cqes, CQE_BURST);
			for (unsigned i = 0; i < n; i++)
				completed(ep, &cqes[i]);
			any |= n > 0;
		} while (n == CQE_BURST);
		if (ep->coll)
			any |= prov_coll_progress(ep);
	}
	return any;
}

/* The listening thread has to be there earlier than it thought. */
static void listener_hurry(struct prov_nic *nic)
{
	nic->listen_until_ns = nic->next_ns; /* it need not be told again */
	eventfd_write(nic->wake_fd, 1);
}

/* After the engine has worked; true when anything happened. */
static bool settle(struct prov_nic *nic)
{
	uint64_t rx = packets_received(weft_engine_stats(nic->engine));
	bool finished = completions_take(nic), active = finished | (rx != nic->rx_seen);
	nic->rx_seen = rx;
	active |= prov_trigger_fire(nic);
	if (finished)
		prov_nic_news(nic);
	if (nic->listening && nic->next_ns < nic->listen_until_ns)
		listener_hurry(nic);
	if (active)
		nic->active_ns = nic->now_ns;
	return active;
}

static bool progress_at(struct prov_nic *nic, weft_ns now)
{
	nic->now_ns = now;
	if (nic->orphan)
		return false;
	nic->polled_ns = now;
	nic->held = 0;
	nic->next_ns = weft_engine_poll(nic->engine, now);
	return settle(nic);
}

bool prov_progress(struct prov_nic *nic)
{
	return progress_at(nic, weft_clock_ns());
}

void prov_push(struct prov_nic *nic, bool late)
{
	if (late && nic->held < HELD_MAX && !nic->listening) {
		nic->held++;
		return;
	}
	weft_ns now = weft_clock_ns();
	if (nic->orphan || now - nic->polled_ns > WEFT_US(PUSH_US)) {
		progress_at(nic, now);
		return;
	}
	nic->now_ns = now;
	nic->held = 0;
	nic->next_ns = weft_engine_xmit(nic->engine, now);
	settle(nic);
}

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

void prov_nic_news(struct prov_nic *nic)
{
	if (nic->sleepers)
		pthread_cond_broadcast(&nic->news);
	if (nic->listening && nic->listener_cares)
		eventfd_write(nic->wake_fd, 1);
}

/* One wait: `sleeps` grows until it is as long as the device allows. */
struct wait {
	weft_ns since_ns; /* when the wait, or the latest activity, began */
	weft_ns nap_ns;   /* next sleep */
	weft_ns limit_ns; /* when to give up */
	bool cares;       /* for finished operations, not only for packets */
	bool yields;      /* and never sleeps */
};

static void wait_restart(struct wait *wait)
{
	wait->since_ns = weft_clock_ns();
	wait->nap_ns = WEFT_US(NAP_MIN_US);
}

/* Sleeps until the device has packets or somebody wakes us. Others rely on us for packets, and hear of what we find by
 * prov_nic_news. Lock held, but given up meanwhile. */
static void listen_for_packets(struct prov_nic *nic, struct wait *wait)
{
	bool wakes = !nic->orphan && weft_ethdev_rx_fd(nic->port) >= 0;
	weft_ns now = weft_clock_ns(), until = nic->next_ns < wait->limit_ns ? nic->next_ns : wait->limit_ns;
	weft_ns nap_max = wakes ? WEFT_MS(NAP_WOKEN_MAX_MS) : WEFT_US(NAP_MAX_US);
	eventfd_t value;
	if (until <= now)
		return;
	if (until - now > wait->nap_ns)
		until = now + wait->nap_ns;
	wait->nap_ns = wait->nap_ns * 2 < nap_max ? wait->nap_ns * 2 : nap_max;
	if (wakes) {
		weft_ethdev_arm(&nic->port, 1);
		if (prov_progress(nic)) { /* what came before nobody would wake us for */
			weft_ethdev_sleep(&nic->port, 1, 0);
			wait_restart(wait);
			return;
		}
	}
	nic->listening = true;
	nic->listener_cares = wait->cares;
	nic->listen_until_ns = until;
	prov_nic_unlock(nic);
	weft_ethdev_sleep_or(&nic->port, wakes, until - now, nic->wake_fd);
	prov_nic_lock(nic);
	nic->listening = false;
	eventfd_read(nic->wake_fd, &value);
}

/* Sleeps until another thread, which listens to the device, has news. */
static void sleep_beside(struct prov_nic *nic, const struct wait *wait)
{
	struct timespec end;
	weft_ns latest = weft_clock_ns() + WEFT_MS(BESIDE_MAX_MS);
	prov_deadline(latest < wait->limit_ns ? latest : wait->limit_ns, &end);
	if (!TAILQ_EMPTY(&nic->kicks)) {
		prov_nic_unlock(nic);
		prov_nic_lock(nic);
		return; /* what was true before may be no longer */
	}
	nic->sleepers++;
	pthread_cond_clockwait(&nic->news, &nic->lock, CLOCK_MONOTONIC, &end);
	nic->sleepers--;
}

/* One step of waiting. Lock held, but given up meanwhile. */
static void wait_step(struct prov_nic *nic, struct wait *wait)
{
	weft_ns idle_ns = weft_clock_ns() - wait->since_ns;
	if (idle_ns < WEFT_US(YIELD_US) || wait->yields) {
		prov_nic_unlock(nic);
		if (idle_ns >= WEFT_US(SPIN_US))
			sched_yield();
		prov_nic_lock(nic);
	} else if (nic->listening) {
		sleep_beside(nic, wait);
	} else {
		listen_for_packets(nic, wait);
	}
}

static bool wait_loop(struct prov_nic *nic, bool (*done)(void *arg), void *arg, struct wait *wait)
{
	bool end;
	wait_restart(wait);
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
	if (nic->sleepers && !nic->listening)
		pthread_cond_signal(&nic->news); /* somebody else has to listen now */
	prov_nic_unlock(nic);
	return end;
}

static weft_ns limit_of(int timeout_ms)
{
	return timeout_ms < 0 ? WEFT_NEVER : weft_clock_ns() + WEFT_MS(timeout_ms);
}

bool prov_wait_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms)
{
	struct wait wait = {.limit_ns = limit_of(timeout_ms), .cares = true};
	return wait_loop(nic, done, arg, &wait);
}

bool prov_yield_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms)
{
	struct wait wait = {.limit_ns = limit_of(timeout_ms), .yields = true};
	return wait_loop(nic, done, arg, &wait);
}

bool prov_is_idle(const struct prov_nic *nic)
{
	return nic->now_ns - nic->active_ns > WEFT_US(SPIN_US);
}

static bool thread_stopped(void *arg)
{
	struct prov_nic *nic = arg;
	return nic->thread_stop;
}

void *prov_progress_thread(void *arg)
{
	struct prov_nic *nic = arg;
	struct wait wait = {.limit_ns = WEFT_NEVER};
	weft_ethdev_bind_thread(nic->port);
	wait_loop(nic, thread_stopped, nic, &wait);
	return NULL;
}
