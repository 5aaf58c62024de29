/* SPDX-License-Identifier: BSD-3-Clause */
/* What objects offer to applications and tell of themselves. libfabric's tables of functions refer to each other in
 * circles (a domain opens endpoints, an endpoint's calls come from above), so the plug-in assembles them at the top
 * (tables.c) and hands them to the fabric, which passes them on to domains and endpoints. */
#ifndef PROV_TABLES_H
#define PROV_TABLES_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>

struct prov_ep;
struct prov_poller;
struct weft_err;

/* What becomes of an endpoint, told to the room that moves its data. Device's lock held. */
struct prov_ep_events {
	/* Progress for an enabled endpoint: takes what the engine has finished. `poller` is prov_ep.poller. */
	bool (*poll)(struct prov_poller *poller);
	/* Called after the endpoint was opened on the engine. On error the endpoint is closed there again. */
	int (*opened)(struct prov_ep *ep, struct weft_err *err);
	/* Called after the engine's endpoint was closed, before the object is freed. */
	void (*closing)(struct prov_ep *ep);
};

struct prov_tables {
	struct fi_ops *domain_fi;
	struct fi_ops_domain *domain;
	struct fi_ops_mr *mr;
	struct fi_ops_ep *ep;
	struct fi_ops_cm *cm;
	struct fi_ops_msg *msg;
	struct fi_ops_tagged *tagged;
	struct fi_ops_rma *rma;
	struct fi_ops_atomic *atomic;
	struct fi_ops_collective *collective;
	struct fi_ops_fabric *fabric;
	const struct prov_ep_events *ep_events;
};

#endif
