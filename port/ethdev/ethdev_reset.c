/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_reset.h"

#include <errno.h>
#include <sched.h>

#include "ethdev_slot.h"

/* On EAL's interrupt thread. */
static int on_event(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	struct ethdev *d = arg;
	atomic_store_explicit(&d->link.reset_asked, true, memory_order_release);
	return 0;
}

void reset_watch(struct ethdev *d)
{
	d->link.heeds_resets =
		slot_is_set_up(d) && rte_eth_dev_callback_register(d->id, RTE_ETH_EVENT_INTR_RESET, on_event, d) == 0;
}

/* -EAGAIN: the callback is running. */
void reset_unwatch(struct ethdev *d)
{
	while (d->link.heeds_resets &&
	       rte_eth_dev_callback_unregister(d->id, RTE_ETH_EVENT_INTR_RESET, on_event, d) == -EAGAIN)
		sched_yield();
	d->link.heeds_resets = false;
}

/* Others may be opening a device, and wait for its link: then it is tried again at the next look. The reset comes a
 * look after the parking, so that everybody has heard of the link by then. */
bool reset_look(struct ethdev *d)
{
	bool asked = atomic_load_explicit(&d->link.reset_asked, memory_order_acquire);
	if ((!asked && !d->link.is_parked) || pthread_mutex_trylock(&slot_lock) != 0)
		return d->link.is_parked;
	if (!d->link.is_parked) {
		atomic_store_explicit(&d->link.reset_asked, false, memory_order_relaxed);
		slot_park(d);
	} else {
		slot_unpark(d);
	}
	pthread_mutex_unlock(&slot_lock);
	return d->link.is_parked;
}
