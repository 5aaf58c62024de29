/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduled credit that nobody limits on its way does harm: both sides watch for signs of that. */
#ifndef WEFT_CREDIT_SCHED_STATE_H
#define WEFT_CREDIT_SCHED_STATE_H

#include "credit_sched.h"
#include "pds.h"

int sched_init(struct pds *pds, weft_ns now); /* -ENOMEM; 0 also when the algorithm does not schedule */
void sched_fini(struct pds *pds);

/* The fabric does not limit credits: counted, and with `strict` nothing new is begun (pds_refuses). */
void sched_alarm(struct pds *pds);

#endif
