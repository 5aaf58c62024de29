/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects: file descriptors, mutex and condition, sets; and what the application may ask of them. */
#include "wait.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prov.h"

static bool has_fd(enum fi_wait_obj kind)
{
	return kind == FI_WAIT_FD || kind == FI_WAIT_POLLFD;
}

static int set_join(struct prov_wait_obj *w, struct fid_wait *fid, const struct prov_fabric *fabric)
{
	if (!fid || fid->fid.fclass != FI_CLASS_WAIT)
		return -FI_EINVAL;
	struct prov_waitset *set = container_of(fid, struct prov_waitset, fid);
	if (set->fabric != fabric)
		return -FI_EINVAL;
	w->set = set;
	prov_waitset_add(set, w);
	return 0;
}

static void lock_init(struct prov_wait_obj *w)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&w->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&w->cond, NULL); /* the real-time clock: the application expects the default */
}

int prov_wait_open(struct prov_wait_obj *w, enum fi_wait_obj kind, struct fid_wait *set, struct fid *owner,
		   const struct prov_fabric *fabric)
{
	*w = (struct prov_wait_obj){.kind = kind, .fd = -1, .owner = owner, .forks = prov_forks()};
	if (kind > FI_WAIT_POLLFD)
		return -FI_EINVAL;
	if (has_fd(kind)) {
		w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (w->fd < 0)
			return -errno;
	}
	if (kind == FI_WAIT_SET) {
		int ret = set_join(w, set, fabric);
		if (ret)
			return ret;
	}
	lock_init(w);
	return 0;
}

void prov_wait_close(struct prov_wait_obj *w)
{
	if (w->set)
		prov_waitset_del(w->set, w);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
}

bool prov_wait_needs_thread(const struct prov_wait_obj *w)
{
	return has_fd(w->kind) || w->kind == FI_WAIT_MUTEX_COND || w->kind == FI_WAIT_SET;
}

static void fd_raise(int fd, bool raised)
{
	eventfd_t value;
	if (raised)
		eventfd_write(fd, 1);
	else
		eventfd_read(fd, &value);
}

bool prov_wait_raise(struct prov_wait_obj *w, bool raised)
{
	if (w->raised == raised)
		return false;
	w->raised = raised;
	if (w->fd >= 0 && w->forks == prov_forks())
		fd_raise(w->fd, raised);
	if (w->set)
		prov_waitset_count(w->set, raised);
	return raised && (w->kind == FI_WAIT_MUTEX_COND || w->set);
}

void prov_wait_notify(struct prov_wait_obj *w)
{
	struct prov_wait_obj *where = w->set ? &w->set->obj : w;
	pthread_mutex_lock(&where->lock); /* who has seen nothing, but does not sleep yet, holds it */
	pthread_cond_broadcast(&where->cond);
	pthread_mutex_unlock(&where->lock);
}

/* One descriptor that never changes. */
static int pollfd_give(const struct prov_wait_obj *w, struct fi_wait_pollfd *out)
{
	size_t room = out->nfds;
	out->change_index = 1;
	out->nfds = 1;
	if (room < 1)
		return -FI_ETOOSMALL;
	out->fd[0] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	return 0;
}

static int wait_give(struct prov_wait_obj *w, void *arg)
{
	switch (w->kind) {
	case FI_WAIT_FD:
		*(int *)arg = w->fd;
		return 0;
	case FI_WAIT_POLLFD:
		return pollfd_give(w, arg);
	case FI_WAIT_MUTEX_COND:
		*(struct fi_mutex_cond *)arg = (struct fi_mutex_cond){.mutex = &w->lock, .cond = &w->cond};
		return 0;
	default:
		return -FI_ENODATA;
	}
}

int prov_wait_control(struct prov_wait_obj *w, int command, void *arg)
{
	if (command != FI_GETWAIT && command != FI_GETWAITOBJ)
		return -FI_ENOSYS;
	if (!arg)
		return -FI_EINVAL;
	if (command == FI_GETWAIT)
		return wait_give(w, arg);
	*(enum fi_wait_obj *)arg = w->kind;
	return 0;
}

/* ---- notifying once the device's lock is free ---- */

void prov_nic_raise(struct prov_nic *nic, struct prov_wait_obj *w, bool raised)
{
	if (!prov_wait_raise(w, raised) || w->kicked)
		return;
	w->kicked = true;
	TAILQ_INSERT_TAIL(&nic->kicks, w, kick_link);
}

void prov_nic_unlock_kick(struct prov_nic *nic)
{
	struct prov_wait_obj *w;
	while ((w = TAILQ_FIRST(&nic->kicks))) {
		TAILQ_REMOVE(&nic->kicks, w, kick_link);
		w->kicked = false;
		w->busy++;
		pthread_mutex_unlock(&nic->lock);
		prov_wait_notify(w);
		pthread_mutex_lock(&nic->lock);
		w->busy--;
	}
	pthread_mutex_unlock(&nic->lock);
}

void prov_nic_unkick(struct prov_nic *nic, struct prov_wait_obj *w)
{
	if (w->kicked)
		TAILQ_REMOVE(&nic->kicks, w, kick_link);
	w->kicked = false;
	while (w->busy) {
		pthread_mutex_unlock(&nic->lock);
		sched_yield();
		pthread_mutex_lock(&nic->lock);
	}
}

int prov_nic_wait_open(const struct prov_domain *domain, struct prov_wait_obj *w, enum fi_wait_obj kind,
		       struct fid_wait *set, struct fid *owner)
{
	int ret = prov_wait_open(w, kind, set, owner, domain->fabric);
	if (ret || !prov_wait_needs_thread(w))
		return ret;
	ret = prov_nic_auto_get(domain->nic);
	if (ret)
		prov_wait_close(w);
	return ret;
}

void prov_nic_wait_close(struct prov_nic *nic, struct prov_wait_obj *w)
{
	if (prov_wait_needs_thread(w))
		prov_nic_auto_put(nic);
	prov_wait_close(w);
}
