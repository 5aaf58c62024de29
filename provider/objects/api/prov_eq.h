/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues. */
#ifndef PROV_EQ_H
#define PROV_EQ_H

#include <pthread.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "prov_fabric.h"
#include "prov_wait.h"

struct prov_nic;
struct prov_event;
TAILQ_HEAD(prov_event_list, prov_event);

/* A device whose link is told of in the queue: looking at the queue looks at the device. Embedded in its owner. */
struct prov_eq_source {
	TAILQ_ENTRY(prov_eq_source) link;
	struct prov_nic *nic;
};
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
	atomic_uint refs; /* objects bound to it */
};

int prov_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
/* Memory for one event of ours, taken before something happens that has to be told. NULL: none. Who does not post it
 * gives it back by free. */
struct prov_event *prov_eq_reserve(void);
/* Adds an event in memory from prov_eq_reserve, which becomes the queue's; `entry->err` != 0 makes it an error entry.
 * `nic`: whose lock is held, or NULL. After an overrun the event is dropped. */
void prov_eq_post_reserved(struct prov_eq *eq, struct prov_nic *nic, struct prov_event *ev, uint32_t event,
			   const struct fi_eq_err_entry *entry);
/* From now on `source` is looked at; a thread does it for those who wait for the queue's wait object. No lock held. An
 * errno value < 0. */
int prov_eq_watch(struct prov_eq *eq, struct prov_eq_source *source);
void prov_eq_unwatch(struct prov_eq *eq, struct prov_eq_source *source);
/* fi_trywait: -FI_EAGAIN when there is something to look at. */
int prov_eq_trywait(struct fid *fid);

#endif
