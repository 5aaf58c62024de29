/* SPDX-License-Identifier: BSD-3-Clause */
/* A port of `weft host` for this process. */
#ifndef PROV_HOST_LEASE_H
#define PROV_HOST_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/err.h"

/* The directory of a device called "host" or "host:DIR", a part of `device` or a constant; NULL: it is no such device.
 */
const char *prov_host_dir(const char *device);

struct prov_host_lease {
	char path[108]; /* of the port's socket */
	struct weft_ip ip;
	uint32_t mtu_bytes;
};

/* The port that this process has of the `weft host` whose directory is `dir`; asks for one the first time. The process
 * keeps it until it ends or asks in another directory. -EBUSY, and why: it gives none; -EPROTO: it is something else;
 * errors of connect(2). */
int prov_host_lease_take(const char *dir, struct prov_host_lease *lease, struct weft_err *err);

#endif
