/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_fork.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static unsigned forks;
static void (*child_handler)(void);

unsigned prov_forks(void)
{
	return forks;
}

static void in_child(void)
{
	assert(child_handler);
	forks++;
	child_handler();
}

void prov_fork_watch(void (*handler)(void))
{
	assert(handler && !child_handler);
	child_handler = handler;
	pthread_atfork(NULL, NULL, in_child);
}
