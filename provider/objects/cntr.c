/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of finished operations. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_cntr.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"

static struct prov_cntr *cntr_of(struct fid_cntr *fid)
{
	return container_of(fid, struct prov_cntr, fid);
}

static struct prov_nic *nic_of(const struct prov_cntr *cntr)
{
	return cntr->domain->nic;
}

/* Lock held for all that follow, up to the calls of the application. */
static struct prov_cntr_seen now_of(const struct prov_cntr *cntr)
{
	return (struct prov_cntr_seen){.value = cntr->tally.value, .errors = cntr->tally.errors};
}

/* Records the current value in `seen`; true when it differs from what was there. */
static bool note_seen(const struct prov_cntr *cntr, struct prov_cntr_seen *seen)
{
	assert_locked(nic_of(cntr));
	bool changed = cntr->tally.value != seen->value || cntr->tally.errors != seen->errors;
	*seen = now_of(cntr);
	return changed;
}

bool prov_cntr_note_polled(struct prov_cntr *cntr)
{
	return note_seen(cntr, &cntr->polled);
}

void prov_cntr_count(struct prov_cntr *cntr, uint64_t done, uint64_t failed)
{
	assert_locked(nic_of(cntr));
	assert(done || failed);
	cntr->tally.value += done;
	cntr->tally.errors += failed;
	prov_nic_raise(nic_of(cntr), &cntr->wait, true);
	prov_deferred_check(&cntr->tally);
}

/* Other threads may wait for it. */
static void change(struct prov_cntr *cntr, uint64_t *field, uint64_t factor, uint64_t value)
{
	assert_locked(nic_of(cntr));
	assert(factor <= 1);
	*field = *field * factor + value;
	prov_nic_raise(nic_of(cntr), &cntr->wait, true);
	prov_nic_wake(nic_of(cntr));
	prov_deferred_check(&cntr->tally);
}

void prov_cntr_change(struct prov_cntr *cntr, uint64_t factor, uint64_t value)
{
	change(cntr, &cntr->tally.value, factor, value);
}

/* What the application changes by a call is not reported by its polls. */
static int cntr_change(struct prov_cntr *cntr, uint64_t *field, uint64_t factor, uint64_t value)
{
	prov_nic_lock(nic_of(cntr));
	change(cntr, field, factor, value);
	cntr->polled = now_of(cntr);
	prov_deferred_start(&nic_of(cntr)->deferred);
	prov_nic_unlock(nic_of(cntr));
	return 0;
}

static uint64_t cntr_get(struct prov_cntr *cntr, const uint64_t *field)
{
	prov_nic_lock(nic_of(cntr));
	prov_progress(nic_of(cntr));
	uint64_t value = *field;
	prov_nic_unlock(nic_of(cntr));
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	return cntr_get(cntr_of(fid), &cntr_of(fid)->tally.value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return cntr_get(cntr_of(fid), &cntr_of(fid)->tally.errors);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->tally.value, 0, value);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->tally.errors, 0, value);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->tally.value, 1, value);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->tally.errors, 1, value);
}

int prov_cntr_trywait(struct fid *fid)
{
	struct prov_cntr *cntr = container_of(fid, struct prov_cntr, fid.fid);
	prov_nic_lock(nic_of(cntr));
	prov_progress(nic_of(cntr));
	bool changed = note_seen(cntr, &cntr->waited);
	prov_nic_raise(nic_of(cntr), &cntr->wait, false);
	prov_nic_unlock(nic_of(cntr));
	return changed ? -FI_EAGAIN : 0;
}

struct cntr_goal {
	struct prov_cntr *cntr;
	uint64_t threshold, errors; /* errors: when the wait began */
	int result;
};

static bool goal_check(void *arg)
{
	struct cntr_goal *goal = arg;
	assert_locked(nic_of(goal->cntr));
	if (goal->cntr->tally.value >= goal->threshold)
		goal->result = 0;
	else if (goal->cntr->tally.errors != goal->errors)
		goal->result = -FI_EAVAIL;
	return goal->result != -FI_ETIMEDOUT;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct prov_cntr *cntr = cntr_of(fid);
	struct cntr_goal goal = {.cntr = cntr, .threshold = threshold, .result = -FI_ETIMEDOUT};
	prov_nic_lock(nic_of(cntr));
	goal.errors = cntr->tally.errors;
	prov_nic_unlock(nic_of(cntr));
	if (cntr->wait.attr.kind == FI_WAIT_YIELD)
		prov_yield_until(nic_of(cntr), goal_check, &goal, timeout);
	else
		prov_wait_until(nic_of(cntr), goal_check, &goal, timeout);
	return goal.result;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct prov_cntr *cntr = container_of(fid, struct prov_cntr, fid.fid);
	switch (command) {
	case FI_GETOPSFLAG:
		*(uint64_t *)arg = cntr->op_flags;
		return 0;
	case FI_SETOPSFLAG:
		cntr->op_flags = *(uint64_t *)arg;
		return 0;
	}
	return prov_wait_control(&cntr->wait, command, arg);
}

/* What has not started is forgotten. False: what has will count here. */
static bool leave_nic(struct prov_cntr *cntr)
{
	struct prov_nic *nic = nic_of(cntr);
	prov_nic_lock(nic);
	bool may = !cntr->started;
	if (may) {
		prov_nic_cancel_notify(nic, &cntr->wait);
		prov_deferred_forget(&nic->deferred, &cntr->tally);
		assert(TAILQ_EMPTY(&cntr->tally.waiting));
	}
	prov_nic_unlock(nic);
	return may;
}

static int cntr_close(struct fid *fid)
{
	struct prov_cntr *cntr = container_of(fid, struct prov_cntr, fid.fid);
	if (cntr->refs || !leave_nic(cntr))
		return -FI_EBUSY;
	prov_domain_wait_close(cntr->domain, &cntr->wait);
	prov_unref(&cntr->domain->refs);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = prov_no_bind,
	.control = cntr_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int prov_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out, void *context)
{
	static const struct fi_cntr_attr defaults = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	const struct fi_cntr_attr *a = attr ? attr : &defaults;
	if (a->events != FI_CNTR_EVENTS_COMP || a->flags)
		return -FI_EINVAL;
	struct prov_cntr *cntr = calloc(1, sizeof *cntr);
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = prov_domain_of(domain);
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	prov_tally_init(&cntr->tally);
	const struct prov_domain_wait wait = {
		.kind = a->wait_obj, .set = a->wait_set, .owner = &cntr->fid.fid, .trywait = prov_cntr_trywait};
	int ret = prov_domain_wait_open(cntr->domain, &cntr->wait, &wait);
	if (ret) {
		free(cntr);
		return ret;
	}
	prov_ref(&cntr->domain->refs);
	*out = &cntr->fid;
	return 0;
}
