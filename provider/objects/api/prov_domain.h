/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain: one use of a device. Everything an application opens for transfers hangs from it. */
#ifndef PROV_DOMAIN_H
#define PROV_DOMAIN_H

#include <rdma/fi_domain.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "member.h"
#include "prov_eq.h"
#include "prov_fabric.h"
#include "prov_nic.h"
#include "prov_wait.h"

struct prov_domain {
	struct fid_domain fid;
	struct prov_fabric *fabric;
	struct prov_nic *nic;
	const struct prov_tables *tables;
	TAILQ_ENTRY(prov_domain) link; /* all domains */
	struct prov_link_listener link_listener;
	struct prov_eq *eq; /* where asynchronous operations report by default, and the link; may be NULL */
	bool mr_events;     /* memory is registered asynchronously (FI_REG_MR) */
	bool auto_progress;
	bool mr_basic;                /* FI_MR_BASIC: our keys, virtual addresses */
	bool hmem;                    /* FI_HMEM: regions may be memory of devices */
	LIST_HEAD(, prov_mr) devices; /* those that are. Lock held */
	uint32_t scope;               /* of its regions on the engine */
	atomic_uint refs;             /* endpoints, queues, counters, vectors, regions */
};

static inline struct prov_domain *prov_domain_of(struct fid_domain *fid)
{
	return container_of(fid, struct prov_domain, fid);
}

/* The first domain opened on this device, or NULL. For the application, which knows whether it closes it meanwhile: not
 * to be looked into. */
struct fid_domain *prov_domain_find(const char *name);
/* Finds the device that fi_getinfo described, and opens it or shares it with those who have it open. prov_nic_put gives
 * it back. An errno value < 0. */
int prov_domain_device(const struct fi_info *info, struct prov_nic **nic);
int prov_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);
int prov_domain_close(struct fid *fid);
int prov_domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags);

/* What a queue or counter of a domain has for waiting. */
struct prov_domain_wait {
	enum fi_wait_obj kind;
	struct fid_wait *set; /* of FI_WAIT_SET, else unused */
	struct fid *owner;
	int (*trywait)(struct fid *owner);
};

/* prov_wait_open; a thread makes progress while the application may sleep on the object. */
int prov_domain_wait_open(const struct prov_domain *domain, struct prov_wait_obj *w,
			  const struct prov_domain_wait *attr);
/* Call prov_nic_cancel_notify first. */
void prov_domain_wait_close(const struct prov_domain *domain, struct prov_wait_obj *w);

#endif
