/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that take long say so in the log, once each: to whom, how things stand, and what happened last. */
#ifndef PROV_HANG_H
#define PROV_HANG_H

#include "prov_nic.h"

/* Operations older than `limit_ns` are told of from now on. */
void prov_hang_init(struct prov_nic *nic, weft_ns limit_ns);
/* The request, of the transmit side, was handed to the engine for this peer; and later it ended. Lock held. */
void prov_hang_add(struct prov_nic *nic, struct prov_req *req, uint32_t peer);
void prov_hang_remove(struct prov_nic *nic, struct prov_req *req);
/* Looks for those that have become too old, the oldest first: once for each, and no others. Returns when to look again;
 * WEFT_NEVER: nothing is under way. Lock held. */
weft_ns prov_hang_look(struct prov_nic *nic, weft_ns now);

/* When to look next. */
static inline bool prov_hang_is_due(const struct prov_nic *nic, weft_ns now)
{
	return now >= nic->hang.look_at_ns;
}

#endif
