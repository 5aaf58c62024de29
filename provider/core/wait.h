/* SPDX-License-Identifier: BSD-3-Clause */
/* What applications sleep on: the wait object of a completion queue, event queue or counter, and sets of them. */
#ifndef WEFT_PROV_WAIT_H
#define WEFT_PROV_WAIT_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct prov_waitset;
struct prov_fabric;

/* Embedded in its owner, whose lock guards `raised`, `kicked`, `busy` and both links. The mutex is the application's:
 * it may hold it in any call, so it is taken only when we hold no lock, and it is recursive for when that is its own
 * call.
 */
struct prov_wait_obj {
	enum fi_wait_obj kind;
	bool raised;          /* whoever sleeps here should look */
	bool kicked;          /* in the device's list of objects to notify */
	unsigned busy;        /* notifications under way */
	int fd;               /* readable while raised; -1: none */
	unsigned forks;       /* prov_forks() when it was made: a child's copy is the parent's descriptor */
	pthread_mutex_t lock; /* FI_WAIT_MUTEX_COND, and for sleeping in fi_wait */
	pthread_cond_t cond;
	struct prov_waitset *set;               /* FI_WAIT_SET */
	struct fid *owner;                      /* queue or counter */
	TAILQ_ENTRY(prov_wait_obj) kick_link;   /* prov_nic.kicks */
	TAILQ_ENTRY(prov_wait_obj) member_link; /* prov_waitset.members */
};
TAILQ_HEAD(prov_wait_list, prov_wait_obj);

/* `set` is read for FI_WAIT_SET only. -FI_EINVAL: unknown kind, or a set of another fabric or none. */
int prov_wait_open(struct prov_wait_obj *w, enum fi_wait_obj kind, struct fid_wait *set, struct fid *owner,
		   const struct prov_fabric *fabric);
/* No notification may be under way (prov_nic_unkick). */
void prov_wait_close(struct prov_wait_obj *w);
/* The application may sleep outside our calls, so somebody else has to make progress. */
bool prov_wait_needs_thread(const struct prov_wait_obj *w);
/* Says whether there is something to look at. Returns true when prov_wait_notify has to follow. Owner's lock held. */
bool prov_wait_raise(struct prov_wait_obj *w, bool raised);
/* Wakes who sleeps on the mutex and condition. No lock held. */
void prov_wait_notify(struct prov_wait_obj *w);
/* FI_GETWAIT and FI_GETWAITOBJ. */
int prov_wait_control(struct prov_wait_obj *w, int command, void *arg);

struct prov_domain;
struct prov_nic;
/* The same for objects of a domain: a thread makes progress while the application may sleep on it. */
int prov_nic_wait_open(const struct prov_domain *domain, struct prov_wait_obj *w, enum fi_wait_obj kind,
		       struct fid_wait *set, struct fid *owner);
void prov_nic_wait_close(struct prov_nic *nic, struct prov_wait_obj *w);

/* ---- wait sets (waitset.c) ---- */

struct fi_wait_attr;

struct prov_waitset {
	struct fid_wait fid;
	struct prov_fabric *fabric;
	struct prov_wait_obj obj;      /* what the set's users sleep on */
	pthread_rwlock_t members_lock; /* taken before all other locks of ours; readers notify while they hold it */
	struct prov_wait_list members; /* under members_lock */
	pthread_mutex_t lock;          /* taken last; guards raised_count and obj.raised */
	unsigned raised_count;         /* members that are raised */
};

int prov_waitset_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set);
/* fi_trywait for a wait set: all its members. */
int prov_waitset_trywait(struct fid *fid);
void prov_waitset_add(struct prov_waitset *set, struct prov_wait_obj *member);
void prov_waitset_del(struct prov_waitset *set, struct prov_wait_obj *member);
/* A member became, or ceased to be, raised. */
void prov_waitset_count(struct prov_waitset *set, bool raised);

#endif
