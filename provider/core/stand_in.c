/* SPDX-License-Identifier: BSD-3-Clause */
/* Manual progress, and an application that does something else than call us: it computes, or waits for a peer on a
 * socket. Its last message may be lost though it has completed, or the acknowledgement that a peer waits for; if that
 * peer is what the application waits for, both wait for ever. So while connections are in use a thread polls for an
 * application that has not done so for a while. It shares the device with threads that do: it looks rarely, never waits
 * for the lock, and looks more rarely still when nothing is under way. Then a peer may begin, for which a host that
 * answers nothing is a dead one. */
#include <assert.h>
#include <time.h>

#include "prov_log.h"
#include "prov_nic.h"
#include "prov_progress.h"
#include "weft/ethdev.h"

enum {
	TURN_MS = 10,       /* between its looks */
	ACTIVE_MS = 1,      /* the same, after it found something to do; it polls when nobody else has for so long */
	REST_MS = 1000,     /* without packets, until it rests; peers that missed an acknowledgement ask again sooner */
	REST_TURN_MS = 500, /* between its looks while it rests ... */
	TIMEOUT_SHARE = 20, /* ... or this share of the peer timeout, which peers are taken to have too: there must be
			       time to find our link address, for packets that are lost, and for busy processors */
};

static bool should_rest(const struct prov_nic *nic, weft_ns now)
{
	return weft_engine_idle(nic->engine) && nic->poll.active_ns + WEFT_MS(REST_MS) < now;
}

static weft_ns rest_turn(weft_ns peer_timeout_ns)
{
	weft_ns share = peer_timeout_ns / TIMEOUT_SHARE;
	if (share < WEFT_MS(TURN_MS))
		return WEFT_MS(TURN_MS);
	return share < WEFT_MS(REST_TURN_MS) ? share : WEFT_MS(REST_TURN_MS);
}

/* Polls unless somebody else does. Returns when to look again, if it is not woken before. */
static weft_ns turn(struct prov_nic *nic, bool *stop)
{
	weft_ns now = weft_clock_ns();
	bool active = false;
	if (!prov_nic_trylock(nic))
		return now + WEFT_MS(TURN_MS);
	if (now - nic->poll.polled_ns >= WEFT_MS(ACTIVE_MS))
		active = prov_progress(nic);
	*stop = nic->stand_in.stop;
	nic->stand_in.rests = should_rest(nic, now);
	weft_ns wait = nic->stand_in.rests ? nic->stand_in.rest_turn_ns : WEFT_MS(active ? ACTIVE_MS : TURN_MS);
	prov_nic_unlock(nic);
	return now + wait;
}

static void sleep_until(struct prov_stand_in *stand_in, weft_ns until)
{
	struct timespec end;
	prov_deadline(until, &end);
	sem_clockwait(&stand_in->wake, CLOCK_MONOTONIC, &end);
}

static void *stand_in_run(void *arg)
{
	struct prov_nic *nic = arg;
	bool stop = false;
	weft_ethdev_bind_thread(nic->port);
	for (;;) {
		weft_ns next = turn(nic, &stop);
		if (stop)
			return NULL;
		sleep_until(&nic->stand_in, next);
	}
}

void prov_stand_in_start(struct prov_nic *nic, weft_ns peer_timeout_ns)
{
	assert(!nic->stand_in.runs);
	nic->stand_in.rest_turn_ns = rest_turn(peer_timeout_ns);
	sem_init(&nic->stand_in.wake, 0, 0);
	nic->stand_in.runs = prov_thread_start(&nic->stand_in.id, stand_in_run, nic) == 0;
	if (!nic->stand_in.runs)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN,
			"%s: no thread can be started that answers peers while the application makes no progress\n",
			nic->name);
}

void prov_stand_in_stop(struct prov_nic *nic)
{
	if (nic->stand_in.runs) {
		prov_nic_lock(nic);
		nic->stand_in.stop = true;
		prov_nic_unlock(nic);
		sem_post(&nic->stand_in.wake);
		pthread_join(nic->stand_in.id, NULL);
	}
	sem_destroy(&nic->stand_in.wake);
}
