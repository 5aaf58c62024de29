/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets: which of several completion queues and counters have something to look at. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_cntr.h"
#include "prov_cq.h"
#include "prov_poll.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"

struct member {
	TAILQ_ENTRY(member) link;
	struct fid *fid; /* completion queue or counter */
};

struct prov_poll {
	struct fid_poll fid;
	struct prov_domain *domain;
	TAILQ_HEAD(, member) members; /* under the device's lock */
};

static struct prov_poll *poll_of(struct fid_poll *fid)
{
	return container_of(fid, struct prov_poll, fid);
}

static struct prov_cntr *cntr_of(struct fid *fid)
{
	return container_of(fid, struct prov_cntr, fid.fid);
}

static struct prov_cq *cq_of(struct fid *fid)
{
	return container_of(fid, struct prov_cq, fid.fid);
}

/* NULL: of another kind or domain than the set. */
static atomic_uint *refs_of(const struct prov_poll *poll, struct fid *fid)
{
	if (fid->fclass == FI_CLASS_CQ && cq_of(fid)->domain == poll->domain)
		return &cq_of(fid)->refs;
	if (fid->fclass == FI_CLASS_CNTR && cntr_of(fid)->domain == poll->domain)
		return &cntr_of(fid)->refs;
	return NULL;
}

static struct member *member_find(struct prov_poll *poll, const struct fid *fid)
{
	struct member *m;
	TAILQ_FOREACH(m, &poll->members, link)
	if (m->fid == fid)
		return m;
	return NULL;
}

/* Adding a member a second time has no effect. */
static int poll_add(struct fid_poll *pfid, struct fid *fid, uint64_t flags)
{
	struct prov_poll *poll = poll_of(pfid);
	atomic_uint *refs = refs_of(poll, fid);
	if (!refs || flags)
		return -FI_EINVAL;
	struct member *m = malloc(sizeof *m);
	if (!m)
		return -FI_ENOMEM;
	m->fid = fid;
	prov_nic_lock(poll->domain->nic);
	bool known = member_find(poll, fid);
	if (!known) {
		TAILQ_INSERT_TAIL(&poll->members, m, link);
		prov_ref(refs);
	}
	prov_nic_unlock(poll->domain->nic);
	if (known)
		free(m);
	return 0;
}

static int poll_del(struct fid_poll *pfid, struct fid *fid, uint64_t flags)
{
	struct prov_poll *poll = poll_of(pfid);
	atomic_uint *refs = refs_of(poll, fid);
	if (!refs || flags)
		return -FI_EINVAL;
	prov_nic_lock(poll->domain->nic);
	struct member *m = member_find(poll, fid);
	if (m) {
		TAILQ_REMOVE(&poll->members, m, link);
		prov_unref(refs);
	}
	prov_nic_unlock(poll->domain->nic);
	free(m);
	return m ? 0 : -FI_EINVAL;
}

/* True when there is something new, which is noted as seen. Lock held. A counter is only looked at when its context can
 * be returned. */
static bool look_at(const struct member *m)
{
	assert(m->fid->fclass == FI_CLASS_CQ || m->fid->fclass == FI_CLASS_CNTR);
	return m->fid->fclass == FI_CLASS_CQ ? cq_of(m->fid)->count > 0 : prov_cntr_note_polled(cntr_of(m->fid));
}

static int poll_poll(struct fid_poll *pfid, void **context, int count)
{
	struct prov_poll *poll = poll_of(pfid);
	struct prov_nic *nic = poll->domain->nic;
	struct member *m;
	int n = 0;
	prov_nic_lock(nic);
	prov_progress(nic);
	TAILQ_FOREACH(m, &poll->members, link)
	if (n < count && look_at(m))
		context[n++] = m->fid->context;
	bool idle = !n && prov_is_idle(nic);
	weft_ns now = nic->poll.now_ns;
	prov_nic_unlock(nic);
	if (idle)
		weft_yield(&nic->yield, now);
	return n;
}

static int poll_close(struct fid *fid)
{
	struct prov_poll *poll = container_of(fid, struct prov_poll, fid.fid);
	if (!TAILQ_EMPTY(&poll->members))
		return -FI_EBUSY;
	prov_unref(&poll->domain->refs);
	free(poll);
	return 0;
}

static struct fi_ops poll_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = poll_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_poll poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_poll,
	.poll_add = poll_add,
	.poll_del = poll_del,
};

int prov_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **out)
{
	if (attr && attr->flags)
		return -FI_EINVAL;
	struct prov_poll *poll = calloc(1, sizeof *poll);
	if (!poll)
		return -FI_ENOMEM;
	poll->domain = prov_domain_of(domain);
	prov_ref(&poll->domain->refs);
	TAILQ_INIT(&poll->members);
	poll->fid.fid.fclass = FI_CLASS_POLL;
	poll->fid.fid.ops = &poll_fi_ops;
	poll->fid.ops = &poll_ops;
	*out = &poll->fid;
	return 0;
}
