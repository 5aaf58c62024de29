/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_lost.h"

#include <assert.h>
#include <pthread.h>

#include <rte_ethdev.h>

/* One counter of a device: what it says now, and what it had said each time before it began anew. */
struct tally {
	uint64_t before, now;
};

static struct {
	struct tally nombuf, missed;
} devices[RTE_MAX_ETHPORTS];

/* Engines of a device have a thread each; an older answer behind a newer one would look like a beginning. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tally_set(struct tally *t, uint64_t said)
{
	if (said < t->now)
		t->before += t->now;
	t->now = said;
}

static uint64_t tally_sum(const struct tally *t)
{
	return t->before + t->now;
}

struct lost lost_look(uint16_t id)
{
	struct rte_eth_stats said;
	assert(id < RTE_MAX_ETHPORTS);
	pthread_mutex_lock(&lock);
	if (rte_eth_stats_get(id, &said) == 0) {
		tally_set(&devices[id].nombuf, said.rx_nombuf);
		tally_set(&devices[id].missed, said.imissed);
	}
	struct lost lost = {tally_sum(&devices[id].nombuf), tally_sum(&devices[id].missed)};
	pthread_mutex_unlock(&lock);
	return lost;
}

void lost_forget(uint16_t id)
{
	assert(id < RTE_MAX_ETHPORTS);
	pthread_mutex_lock(&lock);
	devices[id].nombuf = devices[id].missed = (struct tally){0, 0};
	pthread_mutex_unlock(&lock);
}
