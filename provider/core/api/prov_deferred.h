/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that start when a tally reaches a threshold. What such an operation is, only its owner knows: here it
 * waits in the order of thresholds, becomes due, is started, or is dropped before. All under the lock of the queue's
 * device. */
#ifndef PROV_DEFERRED_H
#define PROV_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct prov_deferred;
TAILQ_HEAD(prov_deferred_list, prov_deferred);

/* What a counter counts. */
struct prov_tally {
	uint64_t value, errors; /* operations that succeeded and failed, unless the application changed them */
	struct prov_deferred_list waiting; /* for this tally, by threshold; equal ones in the order they came */
};

/* One per device. */
struct prov_deferred_queue {
	struct prov_deferred_list all; /* in the order they came */
	struct prov_deferred_list due; /* whose threshold is reached */
	bool starting;                 /* they are being started: what becomes due meanwhile follows */
};

struct prov_deferred_ops {
	/* 0: started; -FI_EAGAIN: to be tried again later; other errors: it is over. */
	ssize_t (*start)(struct prov_deferred *d);
	/* Reports that it ends without having been started. `err` > 0. */
	void (*fail)(struct prov_deferred *d, int err);
	/* It refers to this endpoint or tally, which may be going away. */
	bool (*uses)(const struct prov_deferred *d, const void *object);
	/* Frees its memory. */
	void (*free)(struct prov_deferred *d);
};

/* Embedded first in what its owner allocated; the queue owns it from prov_deferred_add on. */
struct prov_deferred {
	TAILQ_ENTRY(prov_deferred) link;     /* prov_tally.waiting, or prov_deferred_queue.due */
	TAILQ_ENTRY(prov_deferred) all_link; /* prov_deferred_queue.all */
	const struct prov_deferred_ops *ops;
	struct prov_deferred_queue *queue;
	struct prov_tally *tally; /* what it waits for, or waited for */
	uint64_t threshold;
	bool counts_errors; /* failed operations help to reach the threshold */
	bool is_due;
};

void prov_deferred_init(struct prov_deferred_queue *queue);
void prov_tally_init(struct prov_tally *tally);

/* Queues `d`, whose first fields but the links and is_due are filled in; it may be due at once. */
void prov_deferred_add(struct prov_deferred_queue *queue, struct prov_deferred *d);
/* The tally has changed: moves what has reached its threshold to those that are due. */
void prov_deferred_check(struct prov_tally *tally);
/* Starts what is due. True when there was something. Does nothing inside itself. */
bool prov_deferred_start(struct prov_deferred_queue *queue);

/* Which of the operations that have not been started. */
struct prov_deferred_search {
	bool (*matches)(const struct prov_deferred *d, const void *arg);
	const void *arg;
	bool only_first;
	bool reported; /* they fail with FI_ECANCELED */
};

/* Removes and frees the operations that match. Returns how many. */
size_t prov_deferred_cancel(struct prov_deferred_queue *queue, const struct prov_deferred_search *search);
/* Drops operations that use an endpoint or tally that is going away; nothing is reported. */
void prov_deferred_forget(struct prov_deferred_queue *queue, const void *object);

#endif
