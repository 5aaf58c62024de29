/* SPDX-License-Identifier: BSD-3-Clause */
/* What the libfabric provider `weft` offers beyond libfabric: counters of its engine and its port, by fi_open_ops. */
#ifndef WEFT_PROVIDER_H
#define WEFT_PROVIDER_H

#include <rdma/fabric.h>

#include "weft/cm_stats.h"
#include "weft/decl.h"
#include "weft/ethdev_stats.h"
#include "weft/local_stats.h"
#include "weft/stats.h"
#include "weft/tss_stats.h"

WEFT_BEGIN_DECLS

/* Name for fi_open_ops on a domain or endpoint of the provider; flags 0, context unused:
 *	struct weft_fi_ops *ops;
 *	fi_open_ops(&domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL); */
#define WEFT_FI_OPS "weft_ops"

struct weft_fi_ops {
	size_t size; /* bytes of this struct as the provider knows it; later members only when it reaches them */
	/* Copies the counters of the engine behind `fid`. Same thread rules as reading its completion queue. 0 or
	 * -FI_EINVAL when fid is neither a domain nor an enabled endpoint. */
	int (*stats)(struct fid *fid, struct weft_stats *stats);
	/* The same for the counters of the port below that engine. */
	int (*port_stats)(struct fid *fid, struct weft_ethdev_stats *stats);
	/* The same for the counters of encryption; -FI_ENOSYS: nothing is encrypted. */
	int (*tss_stats)(struct fid *fid, struct weft_tss_stats *stats);
	/* The same for the counters of connections of the device. */
	int (*cm_stats)(struct fid *fid, struct weft_cm_stats *stats);
	/* The same for the counters of local channels; -FI_ENOSYS: the device is no port of weft host. */
	int (*local_stats)(struct fid *fid, struct weft_local_stats *stats);
};

WEFT_END_DECLS

#endif
