/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of devices, which the CPU must not touch: what fi_mr_attr says of it, and copies. CUDA is reached through its
 * driver's library, which is loaded when such memory is first registered; nothing of CUDA is needed to build. */
#ifndef PROV_HMEM_H
#define PROV_HMEM_H

#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stdint.h>

/* Whose memory it is. */
struct prov_hmem {
	void *cuda; /* primary context of the CUDA device; NULL: ordinary memory */
	int device; /* the CUDA device */
};

/* What `attr` says of memory at attr->mr_iov; `flags` are those of fi_mr_regattr. prov_hmem_close gives it back.
 * -FI_ENOSYS: the interface is not supported here; -FI_EINVAL: there is no such interface or device, or the memory is
 * not the interface's. The log has the reason. */
int prov_hmem_open(const struct fi_mr_attr *attr, uint64_t flags, struct prov_hmem *mem);
void prov_hmem_close(struct prov_hmem *mem);

/* Copies between memory of a device at `at` and ordinary memory at `other`: to the device, or from it. It has ended
 * when the call returns. False: the device's interface failed; the first failure of the process is logged. */
bool prov_hmem_copy(const struct prov_hmem *mem, void *at, void *other, uint64_t bytes, bool to_device);

#endif
