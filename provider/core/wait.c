/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects: file descriptors, mutex and condition, groups; and what the application may ask of them. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <rdma/fi_errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prov_fork.h"
#include "prov_wait.h"

static bool has_fd(enum fi_wait_obj kind)
{
	return kind == FI_WAIT_FD || kind == FI_WAIT_POLLFD;
}

/* ---- membership of groups ---- */

static void group_count(struct prov_wait_group *group, bool raised)
{
	pthread_mutex_lock(&group->lock);
	assert(raised || group->raised_count > 0);
	group->raised_count += raised ? 1 : -1;
	prov_wait_raise(&group->obj, group->raised_count > 0);
	pthread_mutex_unlock(&group->lock);
}

static void group_add(struct prov_wait_group *group, struct prov_wait_obj *member)
{
	assert(!member->raised);
	pthread_rwlock_wrlock(&group->members_lock);
	TAILQ_INSERT_TAIL(&group->members, member, member_link);
	pthread_rwlock_unlock(&group->members_lock);
}

static void group_remove(struct prov_wait_group *group, struct prov_wait_obj *member)
{
	pthread_rwlock_wrlock(&group->members_lock);
	assert(!TAILQ_EMPTY(&group->members));
	TAILQ_REMOVE(&group->members, member, member_link);
	pthread_rwlock_unlock(&group->members_lock);
	if (member->raised)
		group_count(group, false);
}

/* The group that the object is a member of, or NULL. */
static struct prov_wait_group *group_of(const struct prov_wait_obj *w)
{
	return w->attr.kind == FI_WAIT_SET ? w->attr.group : NULL;
}

/* ---- wait objects ---- */

static void lock_init(struct prov_wait_obj *w)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&w->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&w->cond, NULL); /* the real-time clock: the application expects the default */
}

int prov_wait_open(struct prov_wait_obj *w, const struct prov_wait_attr *attr)
{
	*w = (struct prov_wait_obj){.attr = *attr, .fd = -1, .forks = prov_forks()};
	if (attr->kind > FI_WAIT_POLLFD || (attr->kind == FI_WAIT_SET && !attr->group))
		return -FI_EINVAL;
	if (has_fd(attr->kind)) {
		w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (w->fd < 0)
			return -errno;
	}
	lock_init(w);
	if (group_of(w))
		group_add(group_of(w), w);
	return 0;
}

void prov_wait_close(struct prov_wait_obj *w)
{
	assert(!w->queued);
	if (group_of(w))
		group_remove(group_of(w), w);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
}

bool prov_wait_needs_thread(const struct prov_wait_obj *w)
{
	return has_fd(w->attr.kind) || w->attr.kind == FI_WAIT_MUTEX_COND || w->attr.kind == FI_WAIT_SET;
}

/* The owner's lock is held, with which no thread may be cancelled. */
static void fd_raise(int fd, bool raised)
{
	eventfd_t value;
	int cancel_state;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (raised)
		eventfd_write(fd, 1);
	else
		eventfd_read(fd, &value);
	pthread_setcancelstate(cancel_state, NULL);
}

bool prov_wait_raise(struct prov_wait_obj *w, bool raised)
{
	if (w->raised == raised)
		return false;
	w->raised = raised;
	if (w->fd >= 0 && w->forks == prov_forks())
		fd_raise(w->fd, raised);
	if (group_of(w))
		group_count(group_of(w), raised);
	return raised && (w->attr.kind == FI_WAIT_MUTEX_COND || group_of(w));
}

/* What threads sleep on that wait for the object. */
static struct prov_wait_obj *bed_of(struct prov_wait_obj *w)
{
	return group_of(w) ? &group_of(w)->obj : w;
}

bool prov_wait_trylock(struct prov_wait_obj *w)
{
	return pthread_mutex_trylock(&bed_of(w)->lock) == 0;
}

void prov_wait_wake(struct prov_wait_obj *w)
{
	pthread_cond_broadcast(&bed_of(w)->cond);
	pthread_mutex_unlock(&bed_of(w)->lock);
}

void prov_wait_notify(struct prov_wait_obj *w)
{
	pthread_mutex_lock(&bed_of(w)->lock); /* a thread that checked and is about to sleep holds it */
	prov_wait_wake(w);
}

/* One descriptor that never changes. */
static int pollfd_copy_out(const struct prov_wait_obj *w, struct fi_wait_pollfd *out)
{
	size_t room = out->nfds;
	out->change_index = 1;
	out->nfds = 1;
	if (room < 1)
		return -FI_ETOOSMALL;
	out->fd[0] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	return 0;
}

static int wait_copy_out(struct prov_wait_obj *w, void *arg)
{
	switch (w->attr.kind) {
	case FI_WAIT_FD:
		*(int *)arg = w->fd;
		return 0;
	case FI_WAIT_POLLFD:
		return pollfd_copy_out(w, arg);
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
		return wait_copy_out(w, arg);
	*(enum fi_wait_obj *)arg = w->attr.kind;
	return 0;
}

/* ---- groups ---- */

int prov_wait_group_open(struct prov_wait_group *group, const struct prov_wait_attr *attr)
{
	assert(attr->kind != FI_WAIT_SET);
	int ret = prov_wait_open(&group->obj, attr);
	if (ret)
		return ret;
	group->raised_count = 0;
	pthread_rwlock_init(&group->members_lock, NULL);
	pthread_mutex_init(&group->lock, NULL);
	TAILQ_INIT(&group->members);
	return 0;
}

void prov_wait_group_close(struct prov_wait_group *group)
{
	assert(TAILQ_EMPTY(&group->members) && !group->raised_count);
	prov_wait_close(&group->obj);
	pthread_mutex_destroy(&group->lock);
	pthread_rwlock_destroy(&group->members_lock);
}

bool prov_wait_group_is_empty(const struct prov_wait_group *group)
{
	return TAILQ_EMPTY(&group->members);
}

int prov_wait_group_trywait(struct prov_wait_group *group)
{
	struct prov_wait_obj *member;
	int ret = 0;
	pthread_rwlock_rdlock(&group->members_lock);
	TAILQ_FOREACH(member, &group->members, member_link)
	{
		assert(member->attr.group == group);
		if (member->attr.trywait(member->attr.owner))
			ret = -FI_EAGAIN; /* go on: counters record what was seen */
	}
	pthread_rwlock_unlock(&group->members_lock);
	return ret;
}

bool prov_wait_group_is_raised(struct prov_wait_group *group)
{
	pthread_mutex_lock(&group->lock);
	assert(group->obj.raised == (group->raised_count > 0));
	bool raised = group->obj.raised;
	pthread_mutex_unlock(&group->lock);
	return raised;
}
