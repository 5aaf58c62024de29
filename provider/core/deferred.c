/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_deferred.h"

#include <assert.h>
#include <rdma/fi_errno.h>

void prov_deferred_init(struct prov_deferred_queue *queue)
{
	TAILQ_INIT(&queue->all);
	TAILQ_INIT(&queue->due);
	queue->starting = false;
}

void prov_tally_init(struct prov_tally *tally)
{
	TAILQ_INIT(&tally->waiting);
}

static bool is_reached(const struct prov_deferred *d)
{
	return d->tally->value + (d->counts_errors ? d->tally->errors : 0) >= d->threshold;
}

static void become_due(struct prov_deferred *d)
{
	assert(!d->is_due && is_reached(d));
	TAILQ_REMOVE(&d->tally->waiting, d, link);
	TAILQ_INSERT_TAIL(&d->queue->due, d, link);
	d->is_due = true;
}

void prov_deferred_check(struct prov_tally *tally)
{
	struct prov_deferred *d = TAILQ_FIRST(&tally->waiting), *next;
	for (; d && d->threshold <= tally->value + tally->errors; d = next) {
		next = TAILQ_NEXT(d, link);
		assert(d->tally == tally && (!next || next->threshold >= d->threshold));
		if (is_reached(d))
			become_due(d);
	}
}

/* Inserts by threshold, behind those with the same one. */
static void wait_for(struct prov_deferred *d)
{
	struct prov_deferred_list *waiting = &d->tally->waiting;
	struct prov_deferred *before = TAILQ_LAST(waiting, prov_deferred_list);
	while (before && before->threshold > d->threshold)
		before = TAILQ_PREV(before, prov_deferred_list, link);
	if (before)
		TAILQ_INSERT_AFTER(waiting, before, d, link);
	else
		TAILQ_INSERT_HEAD(waiting, d, link);
}

void prov_deferred_add(struct prov_deferred_queue *queue, struct prov_deferred *d)
{
	assert(d->ops && d->tally);
	d->queue = queue;
	d->is_due = false;
	TAILQ_INSERT_TAIL(&queue->all, d, all_link);
	wait_for(d);
	prov_deferred_check(d->tally);
}

static void take_out(struct prov_deferred *d)
{
	assert(!TAILQ_EMPTY(&d->queue->all));
	TAILQ_REMOVE(&d->queue->all, d, all_link);
	TAILQ_REMOVE(d->is_due ? &d->queue->due : &d->tally->waiting, d, link);
}

/* The operation is in no list while it starts. False: it has to be tried again. */
static bool start_one(struct prov_deferred *d)
{
	struct prov_deferred_queue *queue = d->queue;
	assert(d->is_due);
	take_out(d);
	ssize_t ret = d->ops->start(d);
	if (ret == -FI_EAGAIN) { /* try again later, before all others */
		TAILQ_INSERT_HEAD(&queue->all, d, all_link);
		TAILQ_INSERT_HEAD(&queue->due, d, link);
		return false;
	}
	if (ret)
		d->ops->fail(d, (int)-ret);
	d->ops->free(d);
	return true;
}

bool prov_deferred_start(struct prov_deferred_queue *queue)
{
	bool any = false;
	if (TAILQ_EMPTY(&queue->due) || queue->starting)
		return false;
	queue->starting = true;
	while (!TAILQ_EMPTY(&queue->due) && start_one(TAILQ_FIRST(&queue->due)))
		any = true;
	queue->starting = false;
	return any;
}

size_t prov_deferred_cancel(struct prov_deferred_queue *queue, const struct prov_deferred_search *search)
{
	struct prov_deferred *d = TAILQ_FIRST(&queue->all), *next;
	size_t n = 0;
	for (; d && !(search->only_first && n); d = next) {
		next = TAILQ_NEXT(d, all_link);
		if (!search->matches(d, search->arg))
			continue;
		take_out(d);
		if (search->reported)
			d->ops->fail(d, FI_ECANCELED);
		d->ops->free(d);
		n++;
	}
	return n;
}

static bool uses_object(const struct prov_deferred *d, const void *object)
{
	return d->tally == object || d->ops->uses(d, object);
}

void prov_deferred_forget(struct prov_deferred_queue *queue, const void *object)
{
	prov_deferred_cancel(queue, &(struct prov_deferred_search){.matches = uses_object, .arg = object});
}
