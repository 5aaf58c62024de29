/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues. */
#ifndef PROV_EQ_H
#define PROV_EQ_H

#include <pthread.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "prov_fabric.h"
#include "prov_limits.h"
#include "prov_wait.h"

struct prov_nic;
struct prov_event;
TAILQ_HEAD(prov_event_list, prov_event);

struct prov_eq_source;
TAILQ_HEAD(prov_eq_source_list, prov_eq_source);

struct prov_eq {
	struct fid_eq fid;
	struct prov_fabric *fabric;
	pthread_mutex_t sources_lock; /* guards `sources`; taken before a device's */
	struct prov_eq_source_list sources;
	pthread_mutex_t lock; /* guards what follows but `refs`; taken after a device's */
	pthread_cond_t cond;
	struct prov_event_list events;
	size_t count, size; /* events; fi_eq_write fails beyond `size`, our own events never do */
	bool writable;      /* FI_WRITE */
	bool overrun;       /* fi_eq_write found the queue full; no more events are added */
	struct prov_wait_obj wait;
	uint8_t err_data[PROV_CM_DATA_BYTES]; /* details of the error entry read last */
	atomic_uint refs;                     /* objects bound to it */
};

int prov_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
/* Memory for one event of ours, taken before something happens that has to be told. NULL: none. Who does not post it
 * gives it back by free. */
struct prov_event *prov_eq_reserve(void);
/* Adds an event in memory from prov_eq_reserve, which becomes the queue's; `entry->err` != 0 makes it an error entry.
 * `nic`: whose lock is held, or NULL. After an overrun the event is dropped. */
void prov_eq_post_reserved(struct prov_eq *eq, struct prov_nic *nic, struct prov_event *ev, uint32_t event,
			   const struct fi_eq_err_entry *entry);
/* An event of a connection: fi_eq_cm_entry with data, or with `err` an error entry with data as its details. */
struct prov_cm_event {
	struct fid *fid;      /* passive endpoint or endpoint */
	uint32_t event;       /* FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN */
	int err;              /* 0, or errno > 0 */
	struct fi_info *info; /* of FI_CONNREQ, else NULL; the queue's unless the event is dropped */
	const void *data;     /* copied; at most PROV_CM_DATA_BYTES */
	size_t data_len;
};

/* prov_eq_reserve for such an event. */
struct prov_event *prov_eq_reserve_cm(void);
/* Adds it in memory from prov_eq_reserve_cm, which becomes the queue's. The device's lock is held. -FI_EOVERRUN: it is
 * dropped. */
int prov_eq_post_cm(struct prov_eq *eq, struct prov_nic *nic, struct prov_event *ev, const struct prov_cm_event *event);
/* Drops the events of connections that nobody has read of an object that is being closed. Returns what they had of
 * fi_infos, as a list; the caller frees it. */
struct fi_info *prov_eq_forget(struct prov_eq *eq, const struct fid *fid);
/* From now on the device is looked at with the queue; a thread does it for those who wait for the queue's wait object.
 * Once for each object of the device that is bound. No lock held. An errno value < 0. */
int prov_eq_watch(struct prov_eq *eq, struct prov_nic *nic);
void prov_eq_unwatch(struct prov_eq *eq, struct prov_nic *nic);
/* The device posts nothing more in the queue: wakes whom it would have woken still. No lock held. */
void prov_eq_leave(struct prov_eq *eq, struct prov_nic *nic);
/* Makes progress on these devices. True when there are any, of which another thread may be looking at some already. */
bool prov_eq_look(struct prov_eq *eq);
/* The queue's device, if it is the only one; else NULL. It stays open until prov_nic_put. */
struct prov_nic *prov_eq_borrow(struct prov_eq *eq);
/* Threads that wait at one of them look at the queue again. No lock held. */
void prov_eq_wake(struct prov_eq *eq);
/* fi_trywait: -FI_EAGAIN when there is something to look at. */
int prov_eq_trywait(struct fid *fid);

#endif
