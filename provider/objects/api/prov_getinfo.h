/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROV_GETINFO_H
#define PROV_GETINFO_H

#include <rdma/fabric.h>

/* fi_getinfo: one entry for each configured device that suits the hints, node and service. -FI_ENODATA: none. */
int prov_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out);

#endif
