/* SPDX-License-Identifier: BSD-3-Clause */
/* Data in pieces. */
#ifndef PROV_IOV_H
#define PROV_IOV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "prov_req.h"

/* Total length, or -1 when the description is impossible. A receive may offer more room than a message can take. */
int64_t prov_iov_total(const struct iovec *iov, size_t count);
/* Copies what may change before the operation completes, what lies in pieces, or in memory of devices, to req->bounce.
 * -FI_EAGAIN: no memory; -FI_EIO: a device's interface failed. */
int prov_req_gather(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t total);
/* The engine's sink for data that goes into the pieces of req->iov. */
void prov_req_scatter(void *req, uint64_t offset, const uint8_t *data, uint32_t len, bool retx);

#endif
