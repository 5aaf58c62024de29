/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything advances here. Called from reading queues (manual progress), after sends, and from a thread of our own
 * (automatic progress). */
#include <assert.h>
#include <sys/eventfd.h>

#include "prov_hang.h"
#include "prov_link.h"
#include "prov_progress.h"
#include "weft/ethdev.h"

enum {
	IDLE_US = 2,     /* after the last activity: the peer, or a switch, may wait for this processor */
	BATCHED_MAX = 7, /* doorbells that wait for the next one */
	LOOK_US = 2,     /* a doorbell looks at what has arrived when nobody has for this long */
};

static uint64_t packets_received(const struct weft_stats *s)
{
	return s->rx_data + s->rx_dup + s->rx_trimmed + s->rx_ack + s->rx_nack + s->rx_ctrl + s->rx_dgram;
}

void prov_poller_add(struct prov_nic *nic, struct prov_poller *poller)
{
	assert_locked(nic);
	assert(poller->poll);
	TAILQ_INSERT_TAIL(&nic->pollers, poller, link);
}

void prov_poller_remove(struct prov_nic *nic, struct prov_poller *poller)
{
	assert_locked(nic);
	assert(!TAILQ_EMPTY(&nic->pollers));
	TAILQ_REMOVE(&nic->pollers, poller, link);
}

void prov_nic_poll_soon(struct prov_nic *nic)
{
	assert_locked(nic);
	nic->poll.next_ns = 0;
}

static bool pollers_poll(struct prov_nic *nic)
{
	struct prov_poller *poller;
	bool any = false;
	TAILQ_FOREACH(poller, &nic->pollers, link)
	any |= poller->poll(poller);
	return any;
}

void prov_nic_wake(struct prov_nic *nic)
{
	const struct prov_sleep_state *sleep = &nic->sleep;
	assert_locked(nic);
	if (sleep->sleepers)
		pthread_cond_broadcast(&nic->sleep.changed);
	if (sleep->listening && sleep->listener_awaits_ops) {
		prov_nic_no_cancel(nic);
		eventfd_write(sleep->wake_fd, 1);
	}
}

/* The listening thread has to wake up earlier than it planned. */
static void listener_hurry(struct prov_nic *nic)
{
	nic->sleep.listen_until_ns = nic->poll.next_ns; /* it is woken once only */
	prov_nic_no_cancel(nic);
	eventfd_write(nic->sleep.wake_fd, 1);
}

/* Packets are under way, and the application may not come back to look after them. */
static void stand_in_wake(struct prov_nic *nic)
{
	nic->stand_in.rests = false;
	sem_post(&nic->stand_in.wake);
}

/* After the engine has worked; true when anything happened. */
static bool settle(struct prov_nic *nic)
{
	uint64_t rx = packets_received(weft_engine_stats(nic->engine));
	bool finished = pollers_poll(nic), active = finished | (rx != nic->poll.rx_seen);
	assert(rx >= nic->poll.rx_seen);
	nic->poll.rx_seen = rx;
	active |= prov_deferred_start(&nic->deferred);
	if (finished)
		prov_nic_wake(nic);
	if (nic->sleep.listening && nic->poll.next_ns < nic->sleep.listen_until_ns)
		listener_hurry(nic);
	if (active) {
		nic->poll.active_ns = nic->poll.now_ns;
		if (nic->stand_in.rests)
			stand_in_wake(nic);
	}
	return active;
}

static bool progress_at(struct prov_nic *nic, weft_ns now)
{
	struct prov_poll_state *poll = &nic->poll;
	assert_locked(nic);
	poll->now_ns = now;
	if (nic->is_orphan)
		return false;
	poll->polled_ns = now;
	poll->batched = 0;
	poll->next_ns = weft_engine_poll(nic->engine, now);
	if (nic->port_link.is_news)
		prov_link_tell(nic, now);
	if (prov_hang_is_due(nic, now))
		prov_hang_look(nic, now);
	if (nic->hang.look_at_ns < poll->next_ns)
		poll->next_ns = nic->hang.look_at_ns;
	return settle(nic);
}

bool prov_progress(struct prov_nic *nic)
{
	return progress_at(nic, weft_clock_ns());
}

void prov_doorbell(struct prov_nic *nic, bool may_batch)
{
	struct prov_poll_state *poll = &nic->poll;
	assert_locked(nic);
	if (may_batch && poll->batched < BATCHED_MAX && !nic->sleep.listening) {
		poll->batched++;
		return;
	}
	if (nic->stand_in.rests)
		stand_in_wake(nic);
	weft_ns now = weft_clock_ns();
	if (nic->is_orphan || now - poll->polled_ns > WEFT_US(LOOK_US)) {
		progress_at(nic, now);
		return;
	}
	poll->now_ns = now;
	poll->batched = 0;
	poll->next_ns = weft_engine_xmit(nic->engine, now);
	settle(nic);
}

bool prov_is_idle(const struct prov_nic *nic)
{
	assert_locked(nic);
	return nic->poll.now_ns - nic->poll.active_ns > WEFT_US(IDLE_US);
}
