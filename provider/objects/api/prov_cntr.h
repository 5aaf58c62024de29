/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of finished operations. */
#ifndef PROV_CNTR_H
#define PROV_CNTR_H

#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "prov_deferred.h"
#include "prov_domain.h"
#include "prov_wait.h"

/* What somebody saw of a counter last. */
struct prov_cntr_seen {
	uint64_t value, errors;
};

struct prov_cntr {
	struct fid_cntr fid;
	struct prov_domain *domain;
	struct prov_tally tally;      /* under the device's lock */
	struct prov_cntr_seen polled; /* at the last fi_poll, fi_cntr_set or fi_cntr_add */
	struct prov_cntr_seen waited; /* at the last fi_trywait or fi_wait */
	uint64_t op_flags;            /* FI_SETOPSFLAG; nothing depends on them */
	struct prov_wait_obj wait;
	atomic_uint refs; /* endpoints, regions, poll sets */
	unsigned started; /* requests of deferred work that it will count; under the device's lock */
};

int prov_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
/* Counts operations that succeeded and failed; one of the two may be 0. Lock held. */
void prov_cntr_count(struct prov_cntr *cntr, uint64_t done, uint64_t failed);
/* A change by deferred work: multiplied by `factor`, `value` added. Lock held. */
void prov_cntr_change(struct prov_cntr *cntr, uint64_t factor, uint64_t value);
/* Records the current value as seen by fi_poll. True when it differs from the last one. Lock held. */
bool prov_cntr_note_polled(struct prov_cntr *cntr);
/* fi_trywait: -FI_EAGAIN when it has changed since the last call. */
int prov_cntr_trywait(struct fid *fid);

#endif
