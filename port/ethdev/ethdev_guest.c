/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_guest.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>

#include "ethdev_dev.h"

/* On vhost's thread, when a guest has come, and before one is unmapped: its driver has said by then that the link is
 * down. */
static int on_link(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	struct ethdev *d = arg;
	atomic_fetch_add_explicit(&d->link.changes, 1, memory_order_relaxed);
	pthread_mutex_lock(&d->guest.lock);
	pthread_mutex_unlock(&d->guest.lock);
	return 0;
}

bool guest_watch(struct ethdev *d, const struct rte_eth_dev_info *info)
{
	assert(!d->guest.is_watched);
	if (!ethdev_driver_is(info->driver_name, "net_vhost"))
		return true;
	pthread_mutex_init(&d->guest.lock, NULL);
	d->guest.is_watched = rte_eth_dev_callback_register(d->id, RTE_ETH_EVENT_INTR_LSC, on_link, d) == 0;
	return d->guest.is_watched;
}

/* -EAGAIN: the callback is running. */
void guest_unwatch(struct ethdev *d)
{
	if (!d->guest.is_watched)
		return;
	while (rte_eth_dev_callback_unregister(d->id, RTE_ETH_EVENT_INTR_LSC, on_link, d) == -EAGAIN)
		sched_yield();
	pthread_mutex_destroy(&d->guest.lock);
	d->guest.is_watched = false;
}

bool guest_enter(struct ethdev *d)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_DOWN};
	if (!d->guest.is_watched)
		return true;
	pthread_mutex_lock(&d->guest.lock);
	if (rte_eth_link_get_nowait(d->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
		return true;
	pthread_mutex_unlock(&d->guest.lock);
	return false;
}

void guest_leave(struct ethdev *d)
{
	if (d->guest.is_watched)
		pthread_mutex_unlock(&d->guest.lock);
}
