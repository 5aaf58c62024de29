/* SPDX-License-Identifier: BSD-3-Clause */
/* What applications sleep on: the wait object of a completion queue, event queue or counter, and groups of them.
 *
 * Order of locks: a group's members_lock, the owner's lock, the group's lock. */
#ifndef PROV_WAIT_H
#define PROV_WAIT_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct prov_wait_group;

struct prov_wait_attr {
	enum fi_wait_obj kind;
	struct prov_wait_group *group; /* of FI_WAIT_SET, else unused */
	struct fid *owner;             /* queue or counter */
	/* fi_trywait for the owner: -FI_EAGAIN when there is something to look at. */
	int (*trywait)(struct fid *owner);
};

/* Embedded in its owner, whose lock guards `raised` and the group's link; the device's guards the other one. The mutex
 * is the application's: it may hold it in any call, so nobody waits for it who has a lock, or for whom others of us
 * wait. It is recursive for when that is the application's own call. */
struct prov_wait_obj {
	struct prov_wait_attr attr;
	bool raised;          /* threads that sleep here should look */
	atomic_bool queued;   /* in a device's list of objects to notify; set under the locks of both */
	int fd;               /* readable while raised; -1: none */
	unsigned forks;       /* prov_forks() when it was made: a child's copy is the parent's descriptor */
	pthread_mutex_t lock; /* FI_WAIT_MUTEX_COND, and for sleeping in fi_wait */
	pthread_cond_t cond;
	TAILQ_ENTRY(prov_wait_obj) notify_link; /* prov_nic.to_notify */
	TAILQ_ENTRY(prov_wait_obj) member_link; /* prov_wait_group.members */
};
TAILQ_HEAD(prov_wait_list, prov_wait_obj);

/* -FI_EINVAL: unknown kind, or FI_WAIT_SET without a group; errors of eventfd(2). */
int prov_wait_open(struct prov_wait_obj *w, const struct prov_wait_attr *attr);
/* No notification may be queued (prov_nic_cancel_notify). */
void prov_wait_close(struct prov_wait_obj *w);
/* True when the application may sleep outside our calls, so that a thread has to make progress. */
bool prov_wait_needs_thread(const struct prov_wait_obj *w);
/* Sets whether there is something to look at. Returns true when a notification has to follow. Owner's lock held. */
bool prov_wait_raise(struct prov_wait_obj *w, bool raised);
/* Wakes threads that sleep on the mutex and condition. Waits for the mutex; no lock held. */
void prov_wait_notify(struct prov_wait_obj *w);
/* The same in two steps, for those who have locks: takes the mutex, if it is free; wakes and releases it. */
bool prov_wait_trylock(struct prov_wait_obj *w);
void prov_wait_wake(struct prov_wait_obj *w);
/* FI_GETWAIT and FI_GETWAITOBJ. */
int prov_wait_control(struct prov_wait_obj *w, int command, void *arg);

/* Wait objects of any owners that wake the same sleepers: what a wait set is made of. */
struct prov_wait_group {
	struct prov_wait_obj obj;      /* what the group's users sleep on */
	pthread_rwlock_t members_lock; /* taken before all other locks of ours */
	struct prov_wait_list members; /* under members_lock */
	pthread_mutex_t lock;          /* taken last; guards raised_count and obj.raised */
	unsigned raised_count;         /* members that are raised */
};

/* Errors of prov_wait_open for the group's own object. */
int prov_wait_group_open(struct prov_wait_group *group, const struct prov_wait_attr *attr);
/* It has no members any more. */
void prov_wait_group_close(struct prov_wait_group *group);
bool prov_wait_group_is_empty(const struct prov_wait_group *group);
/* fi_trywait for all members: -FI_EAGAIN when one of them has something to look at. */
int prov_wait_group_trywait(struct prov_wait_group *group);
/* Some member is raised. */
bool prov_wait_group_is_raised(struct prov_wait_group *group);

#endif
