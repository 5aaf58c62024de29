/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that applications know by number. */
#ifndef WEFT_PEERS_H
#define WEFT_PEERS_H

#include "pds.h"

struct peer {
	uint32_t id;
	struct weft_addr addr;
	struct remote *remote;
};

struct peers {
	struct pds *pds;
	struct u64map ids;   /* struct peer by address */
	struct peer **slots; /* by id */
	uint32_t count, room;
};

void peers_init(struct peers *peers, struct pds *pds);
void peers_fini(struct peers *peers);

/* The number of the address, a new one when it is. -ENOMEM. */
int peer_add(struct peers *peers, const struct weft_addr *addr, uint32_t *id);
/* The same for an address that has not shown to be its sender's. Those add few numbers, which are kept for the engine's
 * life. -ENOSPC: no more. */
int peer_add_unproven(struct peers *peers, const struct weft_addr *addr, uint32_t *id);

/* NULL: no such number. */
struct peer *peer_get(const struct peers *peers, uint32_t id);

#endif
