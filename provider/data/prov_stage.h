/* SPDX-License-Identifier: BSD-3-Clause */
/* Payload for memory of devices arrives in a copy, which goes there when the operation completes. Device's lock held.
 */
#ifndef PROV_STAGE_H
#define PROV_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "prov_req.h"

/* req->bounce becomes room for `bytes` that are for these pieces, and `*buf` the address of the room. -FI_EAGAIN: no
 * memory. */
int prov_stage_new(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t bytes, void **buf);
/* Copies `bytes` that have arrived at `offset` to their pieces. False: a device's interface failed. */
bool prov_stage_out(const struct prov_req *req, uint64_t offset, uint64_t bytes);
/* Undoes prov_stage_new. */
void prov_stage_drop(struct prov_req *req);

#endif
