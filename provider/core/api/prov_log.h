/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider as libfabric knows it: what parameters and log messages are written under. */
#ifndef PROV_LOG_H
#define PROV_LOG_H

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#define PROV_NAME "weft"

/* Name and versions; the plug-in adds the calls (plugin.c). */
extern struct fi_provider prov_weft;

#endif
