/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects are notified before the device's lock is released. The application may hold their mutex as long as it
 * likes, also while it waits for a lock or a thread of ours, so nobody waits for the mutex: who finds it busy leaves
 * the object to the next one that has the device's lock. Where applications sleep there is a thread that comes by. */
#include <assert.h>

#include "prov_nic.h"

void prov_nic_raise(struct prov_nic *nic, struct prov_wait_obj *w, bool raised)
{
	assert_locked(nic);
	if (!prov_wait_raise(w, raised) || w->queued)
		return;
	w->queued = true;
	TAILQ_INSERT_TAIL(&nic->to_notify, w, notify_link);
}

/* It leaves the list before its sleepers wake: who raises it from then on puts it there again. */
static void notify_one(struct prov_nic *nic, struct prov_wait_obj *w)
{
	assert(w->queued);
	if (!prov_wait_trylock(w))
		return;
	TAILQ_REMOVE(&nic->to_notify, w, notify_link);
	w->queued = false;
	prov_wait_wake(w);
}

void prov_nic_notify(struct prov_nic *nic)
{
	struct prov_wait_obj *w = TAILQ_FIRST(&nic->to_notify), *next;
	assert_locked(nic);
	for (; w; w = next) {
		next = TAILQ_NEXT(w, notify_link);
		notify_one(nic, w);
	}
}

/* An event queue that hears from several devices may be in the list of another one. */
bool prov_nic_cancel_notify(struct prov_nic *nic, struct prov_wait_obj *w)
{
	const struct prov_wait_obj *other;
	assert_locked(nic);
	TAILQ_FOREACH(other, &nic->to_notify, notify_link)
	if (other == w)
		break;
	if (other) {
		TAILQ_REMOVE(&nic->to_notify, w, notify_link);
		w->queued = false;
	}
	return other;
}
