/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread for automatic progress: one per device, while somebody needs it. */
#include <assert.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "prov_nic.h"
#include "prov_progress.h"

int prov_thread_start(pthread_t *id, void *(*body)(void *arg), void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int ret = -pthread_create(id, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int thread_start(struct prov_nic *nic)
{
	nic->thread.stop = false;
	return prov_thread_start(&nic->thread.id, prov_progress_thread, nic);
}

static void thread_stop(struct prov_nic *nic)
{
	prov_nic_lock(nic);
	nic->thread.stop = true;
	prov_nic_wake(nic);
	prov_nic_no_cancel(nic);
	eventfd_write(nic->sleep.wake_fd, 1); /* wakes the listening thread */
	prov_nic_unlock(nic);
	pthread_join(nic->thread.id, NULL);
}

int prov_nic_thread_get(struct prov_nic *nic)
{
	int ret = 0;
	pthread_mutex_lock(&nic->thread.lock);
	if (nic->thread.users == 0 && !nic->is_orphan)
		ret = thread_start(nic);
	if (!ret)
		nic->thread.users++;
	pthread_mutex_unlock(&nic->thread.lock);
	return ret;
}

void prov_nic_thread_put(struct prov_nic *nic)
{
	pthread_mutex_lock(&nic->thread.lock);
	assert(nic->thread.users > 0);
	if (--nic->thread.users == 0 && !nic->is_orphan)
		thread_stop(nic);
	pthread_mutex_unlock(&nic->thread.lock);
}
