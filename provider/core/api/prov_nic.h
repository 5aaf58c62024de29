/* SPDX-License-Identifier: BSD-3-Clause */
/* Device: a port and its engine, shared by the domains that are open on it. One lock per device guards everything
 * reached from it: endpoints, address vectors, completion queues, counters and requests. */
#ifndef PROV_NIC_H
#define PROV_NIC_H

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>

#include "prov_conf.h"
#include "prov_deferred.h"
#include "prov_late.h"
#include "prov_req.h"
#include "prov_wait.h"
#include "weft/cm_stats.h"
#include "weft/engine.h"
#include "weft/err.h"
#include "weft/local.h"
#include "weft/spi/port.h"
#include "weft/telemetry.h"
#include "weft/tss.h"

/* What progress has to look at. Embedded in its owner; under the device's lock. */
struct prov_poller {
	TAILQ_ENTRY(prov_poller) link;
	/* Takes what the engine has finished for the owner. True when there was something. Neither adds nor removes
	 * pollers. */
	bool (*poll)(struct prov_poller *poller);
	/* In a forked child: nothing the owner does may reach the engine any more; the poller is removed. NULL: there
	 * is nothing to do. */
	void (*orphan)(struct prov_poller *poller);
};
TAILQ_HEAD(prov_poller_list, prov_poller);

/* Who hears that the link went down, came back or that the device is gone. Embedded in its owner; under the device's
 * lock. */
struct prov_link_listener {
	TAILQ_ENTRY(prov_link_listener) link;
	/* `err`: 0 up, FI_ENETDOWN, or FI_ENODEV for good. Called while the engine is polled. */
	void (*heard)(struct prov_link_listener *listener, int err);
};
TAILQ_HEAD(prov_link_listener_list, prov_link_listener);

/* When the engine was looked at, and when it wants to be again. */
struct prov_poll_state {
	weft_ns now_ns;    /* of the latest poll or doorbell */
	weft_ns polled_ns; /* of the latest poll */
	weft_ns next_ns;   /* when the engine wants to be polled again */
	weft_ns active_ns; /* when a poll last found something to do */
	uint64_t rx_seen;  /* received packets at the latest poll */
	unsigned batched;  /* doorbells since then that waited for the next one */
};

/* What is known of the link (prov_link.c). */
struct prov_link_state {
	int err;      /* 0: up; FI_ENETDOWN: operations wait; FI_ENODEV: the device is gone for good, they fail */
	bool is_news; /* it, or the link's rate, has changed, and the engine has not been told */
};

/* Encryption (prov_keys.c). */
struct prov_keys {
	struct weft_port *port; /* the one that encrypts; NULL: none does */
	char *path;             /* of the key file; ours */
	struct prov_poller poller;
	weft_ns look_ns;                   /* when the file is looked at again */
	struct timespec modified, changed; /* of the file as it was taken */
	ino_t inode;                       /* likewise */
	struct weft_err complaint;         /* what was last wrong with it; empty: nothing */
	bool told_refused;                 /* the log has been told of packets that no key opens */
};

/* Threads that wait for something to happen: at most one listens to the device, the others wait for it. */
struct prov_sleep_state {
	bool listening;           /* a thread sleeps until the device has packets */
	bool listener_awaits_ops; /* it also waits for operations to finish, which another thread may notice first */
	weft_ns listen_until_ns;  /* when it looks again at the latest */
	int wake_fd;              /* ends its sleep */
	unsigned sleepers;        /* threads that wait for `changed` while another one listens or polls */
	pthread_cond_t changed;   /* signalled when an operation finished, or when nobody listens any more */
};

/* The thread for automatic progress. */
struct prov_auto_thread {
	pthread_mutex_t lock; /* guards `users` and `id`; taken before the device's */
	unsigned users;       /* wait objects and domains that need the thread */
	pthread_t id;
	bool stop; /* under the device's lock */
};

/* The thread that polls in the application's place (stand_in.c). */
struct prov_stand_in {
	bool runs; /* the thread was started */
	pthread_t id;
	sem_t wake;           /* ends its sleep */
	weft_ns rest_turn_ns; /* between its looks while it rests */
	bool rests, stop;     /* under the device's lock: it looks rarely unless woken; it is to end */
};

/* Operations that take long (prov_hang.c). */
struct prov_hang {
	weft_ns limit_ns;           /* they are told of when they are older */
	weft_ns look_at_ns;         /* WEFT_NEVER: none is under way */
	uint32_t looks;             /* so far */
	struct prov_req_list young; /* not told of, by age, the oldest first */
};

/* The flight recorder (prov_recorder.c). */
struct prov_recorder {
	int fd; /* of the file; -1: there is none */
	void *buffer;
	size_t bytes;
	char path[64];
};

struct prov_cm;

struct prov_nic {
	TAILQ_ENTRY(prov_nic) link; /* all open devices */
	char *name;                 /* device name */
	unsigned users;             /* domains */
	pthread_mutex_t lock;       /* guards what follows but `thread`, and what hangs from it */
	bool locked;                /* by `owner`, which alone writes it; false without assertions */
	pthread_t owner;
	bool calls_kernel;            /* weft_ethdev_calls_kernel; does not change */
	bool no_cancel;               /* the thread that holds the lock must not be cancelled ... */
	int cancel_state;             /* ... and had this state before */
	struct weft_port *port;       /* the device's */
	struct weft_port *local_port; /* the one with local channels; NULL: there are none */
	struct weft_port
		*engine_port; /* the engine's: the same, or what faults and encryption make of it; closes all */
	struct weft_engine *engine;
	struct weft_ip ip;
	weft_ns linger_ns;   /* how long a close waits for the last packets */
	uint32_t copy_bytes; /* see struct prov_tune */
	weft_ns peer_timeout_ns;
	struct weft_cm_stats cm_stats;
	uint16_t connected; /* endpoints opened for connections so far; wraps */
	struct prov_cm *cm; /* who makes connections on the device; NULL: nobody does */
	struct prov_late_errors late_errors;
	uint64_t explained_peer; /* whose failures the log told of last, plus 1; 0: nobody's */
	uint32_t scopes;         /* given out to domains so far */
	bool is_orphan;          /* inherited by a forked child: nothing reaches the device any more */
	bool has_telemetry;
	struct weft_telemetry telemetry;
	struct prov_keys keys;
	struct prov_poller_list pollers;
	struct prov_link_listener_list link_listeners;
	struct prov_req_pool reqs;
	struct prov_deferred_queue deferred;
	struct prov_poll_state poll;
	struct weft_yield yield; /* of all threads that poll it */
	struct prov_link_state port_link;
	struct prov_sleep_state sleep;
	struct prov_wait_list to_notify; /* wait objects to be notified once their mutex is free */
	struct prov_auto_thread thread;
	struct prov_stand_in stand_in;
	struct prov_recorder recorder;
	struct prov_hang hang;
};

/* Opens the device `dev` of `conf`, or shares it with an open domain. */
int prov_nic_get(const struct prov_conf *conf, const struct prov_dev *dev, struct prov_nic **out, struct weft_err *err);
/* One more user of an open device. */
void prov_nic_share(struct prov_nic *nic);
/* The last user waits, for a bounded time, until connections are closed and peers have their acknowledgements. */
void prov_nic_put(struct prov_nic *nic);
/* In a forked child: cuts all devices off from the parent's. */
void prov_nics_orphan(void);

/* Starts or ends the need for a progress thread (nic_thread.c). The caller does not hold the lock. */
int prov_nic_thread_get(struct prov_nic *nic);
void prov_nic_thread_put(struct prov_nic *nic);

/* Starts a thread of ours, on which none of the application's signal handlers runs. Negative errno. */
int prov_thread_start(pthread_t *id, void *(*body)(void *arg), void *arg);

/* Starts and ends the thread that polls while the application does not, but somebody waits for us. The device works
 * without it, too. The caller does not hold the lock. */
void prov_stand_in_start(struct prov_nic *nic, weft_ns peer_timeout_ns);
void prov_stand_in_stop(struct prov_nic *nic);

/* Registers with progress. Lock held. */
void prov_poller_add(struct prov_nic *nic, struct prov_poller *poller);
void prov_poller_remove(struct prov_nic *nic, struct prov_poller *poller);

/* Something was submitted from within progress: threads that wait poll again at once. Lock held. */
void prov_nic_poll_soon(struct prov_nic *nic);

/* ---- the lock ---- */

static inline void prov_nic_note_owner(struct prov_nic *nic, bool locked)
{
#ifndef NDEBUG
	nic->locked = locked;
	nic->owner = pthread_self();
#endif
}

/* The calling thread holds the lock. */
static inline void assert_locked(const struct prov_nic *nic)
{
	assert(nic->locked && pthread_equal(nic->owner, pthread_self()));
}

/* Until the lock is free the application cannot cancel this thread: before system calls, in which a thread ends with
 * the lock held. Not done for every lock, because it costs as much as three locks. Lock held. */
static inline void prov_nic_no_cancel(struct prov_nic *nic)
{
	if (nic->no_cancel)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &nic->cancel_state);
	nic->no_cancel = true;
}

static inline void prov_nic_lock(struct prov_nic *nic)
{
	pthread_mutex_lock(&nic->lock);
	prov_nic_note_owner(nic, true);
	if (nic->calls_kernel)
		prov_nic_no_cancel(nic);
}

/* False: another thread has the lock. */
static inline bool prov_nic_trylock(struct prov_nic *nic)
{
	if (pthread_mutex_trylock(&nic->lock))
		return false;
	prov_nic_note_owner(nic, true);
	if (nic->calls_kernel)
		prov_nic_no_cancel(nic);
	return true;
}

/* Unlocks without notifying. */
static inline void prov_nic_release(struct prov_nic *nic)
{
	bool restores = nic->no_cancel;
	int cancel_state = nic->cancel_state;
	assert_locked(nic);
	prov_nic_note_owner(nic, false);
	nic->no_cancel = false;
	pthread_mutex_unlock(&nic->lock);
	if (restores)
		pthread_setcancelstate(cancel_state, NULL);
}

/* Notifies the wait objects whose mutex is free (notify.c). Lock held. */
void prov_nic_notify(struct prov_nic *nic);

static inline void prov_nic_unlock(struct prov_nic *nic)
{
	assert_locked(nic);
	if (!TAILQ_EMPTY(&nic->to_notify))
		prov_nic_notify(nic);
	prov_nic_release(nic);
}

/* prov_wait_raise for an object whose owner lives on the device. Lock held. */
void prov_nic_raise(struct prov_nic *nic, struct prov_wait_obj *w, bool raised);
/* Before the object goes away, or nobody comes by any more: afterwards no notification is queued here. True when one
 * was. Lock held. */
bool prov_nic_cancel_notify(struct prov_nic *nic, struct prov_wait_obj *w);

#endif
