/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK 22.11 marks these calls as experimental; since 2018 they have not changed, and there is no other way to hear of
 * the request. */
#define ALLOW_EXPERIMENTAL_API
#include "ethdev_removal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include <rte_dev.h>

/* On EAL's interrupt thread. */
static void on_event(const char *name, enum rte_dev_event_type type, void *arg)
{
	struct ethdev *d = arg;
	if (type == RTE_DEV_EVENT_REMOVE)
		atomic_store_explicit(&d->link.removal_asked, true, memory_order_release);
}

void removal_watch(struct ethdev *d, const char *name)
{
	if (rte_dev_event_callback_register(name, on_event, d) == 0)
		snprintf(d->link.removal_of, sizeof d->link.removal_of, "%s", name);
}

/* -EAGAIN: the callback is running. */
void removal_unwatch(struct ethdev *d)
{
	const char *name = d->link.removal_of;
	while (name[0] != '\0' && rte_dev_event_callback_unregister(name, on_event, d) == -EAGAIN)
		sched_yield();
	d->link.removal_of[0] = '\0';
}
