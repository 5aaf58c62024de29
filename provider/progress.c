/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything advances here: the engine is polled and finished operations reach their queues. Called from reading queues
 * (manual progress), after sends, and from a thread of our own (automatic progress). */
#include <sched.h>

#include "prov.h"
#include "weft/ethdev.h"

enum {
	CQE_BURST = 32,
	SPIN_US = 3,     /* a waiter polls without pause this long after the last activity */
	YIELD_US = 500,  /* then gives way to others between polls this long, then sleeps */
	NAP_MIN_US = 50, /* first nap; each later one is twice as long */
	NAP_MAX_US = 1000,
};

/* Waiting for something without burning a core: spin, yield, then sleep up to a millisecond at a time. */
struct wait {
	weft_ns since_ns; /* when the wait, or the latest activity, began */
	weft_ns sleep_ns; /* next nap */
};

static uint64_t packets_received(const struct weft_stats *s)
{
	return s->rx_data + s->rx_dup + s->rx_trimmed + s->rx_ack + s->rx_nack + s->rx_ctrl;
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
			n = weft_cq_take(ep->wep, cqes, CQE_BURST);
			for (unsigned i = 0; i < n; i++)
				prov_req_done(cqes[i].context, &cqes[i]);
			any |= n > 0;
		} while (n == CQE_BURST);
	}
	return any;
}

bool prov_progress(struct prov_nic *nic)
{
	nic->now_ns = weft_clock_ns();
	nic->next_ns = weft_engine_poll(nic->engine, nic->now_ns);
	uint64_t rx = packets_received(weft_engine_stats(nic->engine));
	bool active = completions_take(nic) | (rx != nic->rx_seen);
	nic->rx_seen = rx;
	if (active)
		nic->active_ns = nic->now_ns;
	return active;
}

/* One thread at a time may listen for the device's interrupts; a second one just sleeps. */
static void nap(struct prov_nic *nic, weft_ns len_ns)
{
	const struct timespec ts = {.tv_nsec = (long)len_ns};
	if (atomic_exchange(&nic->napping, true)) {
		nanosleep(&ts, NULL);
		return;
	}
	weft_ethdev_sleep(&nic->port, 1, len_ns);
	atomic_store(&nic->napping, false);
}

static void wait_start(struct wait *wait)
{
	*wait = (struct wait){.since_ns = weft_clock_ns(), .sleep_ns = WEFT_US(NAP_MIN_US)};
}

/* One step of waiting, lock not held; `until_ns` is when something has to be done. */
static void wait_step(struct wait *wait, struct prov_nic *nic, weft_ns until_ns)
{
	weft_ns now = weft_clock_ns();
	if (now - wait->since_ns < WEFT_US(SPIN_US) || until_ns <= now)
		return;
	if (now - wait->since_ns < WEFT_US(YIELD_US)) {
		sched_yield();
		return;
	}
	nap(nic, until_ns - now < wait->sleep_ns ? until_ns - now : wait->sleep_ns);
	if (wait->sleep_ns < WEFT_US(NAP_MAX_US))
		wait->sleep_ns *= 2;
	if (wait->sleep_ns > WEFT_US(NAP_MAX_US))
		wait->sleep_ns = WEFT_US(NAP_MAX_US);
}

bool prov_wait_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms)
{
	weft_ns limit = timeout_ms < 0 ? WEFT_NEVER : weft_clock_ns() + WEFT_MS(timeout_ms);
	struct wait wait;
	wait_start(&wait);
	for (;;) {
		prov_nic_lock(nic);
		bool active = prov_progress(nic), end = done(arg);
		weft_ns until = nic->next_ns < limit ? nic->next_ns : limit;
		prov_nic_unlock(nic);
		if (end)
			return true;
		if (weft_clock_ns() >= limit)
			return false;
		if (active)
			wait_start(&wait);
		wait_step(&wait, nic, until);
	}
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
	weft_ethdev_bind_thread(nic->port);
	prov_wait_until(nic, thread_stopped, nic, -1);
	return NULL;
}
