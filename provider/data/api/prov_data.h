/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves data: tables of calls, completion, and the domain's work queue. */
#ifndef PROV_DATA_H
#define PROV_DATA_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>

#include "prov_nic.h"

extern struct fi_ops_msg prov_msg_ops;
extern struct fi_ops_tagged prov_tagged_ops;
extern struct fi_ops_rma prov_rma_ops;
extern struct fi_ops_atomic prov_atomic_ops;

/* fi_cancel. */
ssize_t prov_cancel(fid_t fid, void *context);
/* prov_ep_events.poll: what the engine has finished for an endpoint becomes completions (complete.c). */
bool prov_ep_poll(struct prov_poller *poller);
/* fi_control of a domain: FI_QUEUE_WORK, FI_CANCEL_WORK and FI_FLUSH_WORK (arg of the last: NULL, or only what waits
 * for this counter). */
int prov_work_control(struct fid *domain, int command, void *arg);

#endif
