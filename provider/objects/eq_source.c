/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices that an event queue hears from. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "prov_eq.h"
#include "prov_nic.h"
#include "prov_progress.h"

/* A device whose link or connections are told of in the queue: looking at the queue looks at the device. */
struct prov_eq_source {
	TAILQ_ENTRY(prov_eq_source) link;
	struct prov_nic *nic;
	unsigned uses; /* objects on the device that are bound to the queue */
};

/* sources_lock held. */
static struct prov_eq_source *find(const struct prov_eq *eq, const struct prov_nic *nic)
{
	struct prov_eq_source *source;
	TAILQ_FOREACH(source, &eq->sources, link)
	if (source->nic == nic)
		break;
	return source;
}

/* sources_lock held. */
static int source_add(struct prov_eq *eq, struct prov_nic *nic)
{
	struct prov_eq_source *source = calloc(1, sizeof *source);
	if (!source)
		return -ENOMEM;
	int ret = prov_wait_needs_thread(&eq->wait) ? prov_nic_thread_get(nic) : 0;
	if (ret) {
		free(source);
		return ret;
	}
	source->nic = nic;
	source->uses = 1;
	TAILQ_INSERT_TAIL(&eq->sources, source, link);
	return 0;
}

int prov_eq_watch(struct prov_eq *eq, struct prov_nic *nic)
{
	int ret = 0;
	pthread_mutex_lock(&eq->sources_lock);
	struct prov_eq_source *source = find(eq, nic);
	if (source)
		source->uses++;
	else
		ret = source_add(eq, nic);
	pthread_mutex_unlock(&eq->sources_lock);
	return ret;
}

void prov_eq_leave(struct prov_eq *eq, struct prov_nic *nic)
{
	prov_nic_lock(nic);
	bool owed = prov_nic_cancel_notify(nic, &eq->wait);
	prov_nic_unlock(nic);
	if (owed && !nic->is_orphan)
		prov_wait_notify(&eq->wait);
}

/* A forked child is alone, and a thread of its parent may have held the lock. */
void prov_eq_unwatch(struct prov_eq *eq, struct prov_nic *nic)
{
	if (nic->is_orphan)
		pthread_mutex_init(&eq->sources_lock, NULL);
	pthread_mutex_lock(&eq->sources_lock);
	struct prov_eq_source *source = find(eq, nic);
	assert(source && source->uses > 0);
	bool last = --source->uses == 0;
	if (last)
		TAILQ_REMOVE(&eq->sources, source, link);
	pthread_mutex_unlock(&eq->sources_lock);
	if (!last)
		return;
	free(source);
	prov_eq_leave(eq, nic);
	if (prov_wait_needs_thread(&eq->wait))
		prov_nic_thread_put(nic);
}

bool prov_eq_look(struct prov_eq *eq)
{
	struct prov_eq_source *source;
	if (pthread_mutex_trylock(&eq->sources_lock) != 0)
		return true;
	bool any = !TAILQ_EMPTY(&eq->sources);
	TAILQ_FOREACH(source, &eq->sources, link)
	{
		prov_nic_lock(source->nic);
		prov_progress(source->nic);
		prov_nic_unlock(source->nic);
	}
	pthread_mutex_unlock(&eq->sources_lock);
	return any;
}

struct prov_nic *prov_eq_borrow(struct prov_eq *eq)
{
	pthread_mutex_lock(&eq->sources_lock);
	const struct prov_eq_source *first = TAILQ_FIRST(&eq->sources);
	struct prov_nic *nic = first && !TAILQ_NEXT(first, link) && !first->nic->is_orphan ? first->nic : NULL;
	if (nic)
		prov_nic_share(nic);
	pthread_mutex_unlock(&eq->sources_lock);
	return nic;
}

void prov_eq_wake(struct prov_eq *eq)
{
	struct prov_eq_source *source;
	pthread_mutex_lock(&eq->sources_lock);
	TAILQ_FOREACH(source, &eq->sources, link)
	{
		prov_nic_lock(source->nic);
		prov_nic_wake(source->nic);
		prov_nic_unlock(source->nic);
	}
	pthread_mutex_unlock(&eq->sources_lock);
}
