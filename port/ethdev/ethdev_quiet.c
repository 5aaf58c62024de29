/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_quiet.h"

#include <pthread.h>
#include <stddef.h>

#include <rte_log.h>

static const char *const names[] = {"pmd.net.virtio.driver", "pmd.net.virtio.init"};

enum { NAMES = sizeof names / sizeof *names };

static struct {
	pthread_mutex_t lock;
	bool is_quiet;
	int levels[NAMES]; /* before; meaningful while is_quiet */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void silence(size_t i)
{
	int type = rte_log_register(names[i]);
	state.levels[i] = type < 0 ? -1 : rte_log_get_level((uint32_t)type);
	if (state.levels[i] >= 0 && state.levels[i] <= (int)RTE_LOG_NOTICE)
		rte_log_set_level((uint32_t)type, RTE_LOG_CRIT);
}

static void restore(size_t i)
{
	int type = rte_log_register(names[i]);
	if (type >= 0 && state.levels[i] >= 0)
		rte_log_set_level((uint32_t)type, (uint32_t)state.levels[i]);
}

bool quiet_set(bool quiet)
{
	pthread_mutex_lock(&state.lock);
	bool was = state.is_quiet;
	for (size_t i = 0; quiet != was && i < NAMES; i++)
		(quiet ? silence : restore)(i);
	state.is_quiet = quiet;
	pthread_mutex_unlock(&state.lock);
	return was;
}
