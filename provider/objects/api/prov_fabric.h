/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric: what event queues, wait sets and domains hang from. */
#ifndef PROV_FABRIC_H
#define PROV_FABRIC_H

#include <rdma/fabric.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "member.h"
#include "prov_tables.h"

struct prov_fabric {
	struct fid_fabric fid;
	const struct prov_tables *tables;
	atomic_uint refs; /* domains, event queues and wait sets */
};

/* -FI_ENODATA: not our name; -FI_ENOMEM. */
int prov_fabric_open(const struct prov_tables *tables, const struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		     void *context);
/* fi_trywait. */
int prov_fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

static inline struct prov_fabric *prov_fabric_of(struct fid_fabric *fid)
{
	return container_of(fid, struct prov_fabric, fid);
}

/* Interfaces before 1.5 have error entries without err_data_size. */
static inline bool prov_api_has_err_size(const struct prov_fabric *fabric)
{
	return FI_VERSION_GE(fabric->fid.api_version, FI_VERSION(1, 5));
}

#endif
