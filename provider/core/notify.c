/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects are notified once the device's lock is free: the application may hold their mutex while it calls us. */
#include <assert.h>
#include <sched.h>

#include "prov_nic.h"

void prov_nic_raise(struct prov_nic *nic, struct prov_wait_obj *w, bool raised)
{
	assert_locked(nic);
	if (!prov_wait_raise(w, raised) || w->queued)
		return;
	w->queued = true;
	TAILQ_INSERT_TAIL(&nic->to_notify, w, notify_link);
}

static void notify_first(struct prov_nic *nic)
{
	struct prov_wait_obj *w = TAILQ_FIRST(&nic->to_notify);
	assert(w->queued);
	TAILQ_REMOVE(&nic->to_notify, w, notify_link);
	w->queued = false;
	w->notifying++;
	prov_nic_release(nic);
	prov_wait_notify(w);
	prov_nic_lock(nic);
	assert(w->notifying > 0);
	w->notifying--;
}

void prov_nic_unlock_notify(struct prov_nic *nic)
{
	while (!TAILQ_EMPTY(&nic->to_notify))
		notify_first(nic);
	prov_nic_release(nic);
}

void prov_nic_cancel_notify(struct prov_nic *nic, struct prov_wait_obj *w)
{
	assert_locked(nic);
	if (w->queued)
		TAILQ_REMOVE(&nic->to_notify, w, notify_link);
	w->queued = false;
	while (w->notifying) {
		prov_nic_release(nic);
		sched_yield();
		prov_nic_lock(nic);
	}
}
