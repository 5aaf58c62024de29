/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of libfabric's 1.x interface that its 2.x headers deprecate or leave out. Applications written for 1.x still
 * send them, so the provider answers them whichever headers it is compiled with. */
#ifndef PROV_COMPAT_H
#define PROV_COMPAT_H

#include <rdma/fabric.h>
#include <stdint.h>

/* fi_domain_attr.mr_mode of interface versions below 1.5 (FI_MR_BASIC, FI_MR_SCALABLE). */
enum { PROV_MR_BASIC = 1 << 0, PROV_MR_SCALABLE = 1 << 1 };

#if FI_MAJOR_VERSION < 2
_Static_assert((int)PROV_MR_BASIC == (int)FI_MR_BASIC && (int)PROV_MR_SCALABLE == (int)FI_MR_SCALABLE, "libfabric 1.x");
#endif

/* Flag of fi_domain_bind: memory is registered asynchronously (FI_REG_MR). */
static const uint64_t PROV_REG_MR = UINT64_C(1) << 59;

#endif
