/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread for automatic progress: one per device, while somebody needs it. */
#include <assert.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "prov_nic.h"
#include "prov_progress.h"

/* The application's signal handlers do not run on our thread. */
static int thread_start(struct prov_nic *nic)
{
	sigset_t all, before;
	nic->thread.stop = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int ret = -pthread_create(&nic->thread.id, NULL, prov_progress_thread, nic);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
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
