/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors: fi_addr_t, an index for both types, to the engine's peer id and back. All under the device's lock.
 */
#ifndef PROV_AV_H
#define PROV_AV_H

#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "prov_domain.h"

struct prov_avshare;

struct prov_av_entry {
	uint32_t peer;   /* the engine's id */
	uint32_t uses;   /* times inserted; 0: free */
	fi_addr_t alias; /* what completions report: its index, or the FI_AV_USER_ID given */
};

struct prov_av {
	struct fid_av fid;
	struct prov_domain *domain;
	struct prov_av_entry *entries;
	uint32_t count, capacity; /* entries in use or free again; allocated */
	uint32_t lowest_free;     /* no free entry is below */
	int rx_ctx_bits;          /* the top bits of an fi_addr_t name a receive context (fi_rx_addr) */
	fi_addr_t *of_peer;       /* index by engine peer id; FI_ADDR_NOTAVAIL when not inserted */
	uint32_t peers;           /* entries of of_peer */
	bool has_events;          /* FI_EVENT: insertions complete on `eq` */
	bool read_only;           /* FI_READ */
	struct prov_eq *eq;
	struct prov_avshare *share; /* the table is shared by processes; ours follows it. NULL: it is not */
	uint64_t share_version;     /* of the shared table when ours was brought up to date */
	atomic_uint refs;           /* endpoints bound, sets */
};

int prov_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);

/* These calls bring a shared vector up to date first. */

/* The engine's id of an address; one is made for the receive context that the address names. -FI_EINVAL when `addr` is
 * not in the vector; -FI_ENOMEM. */
int prov_av_resolve_peer(struct prov_av *av, fi_addr_t addr, uint32_t *peer);
/* The peer messages come from, for receives directed to it. -FI_EINVAL when `addr` is not in the vector. */
int prov_av_resolve_source(struct prov_av *av, fi_addr_t addr, uint32_t *peer);
/* What completions call a peer; FI_ADDR_NOTAVAIL when it is not in the vector. */
fi_addr_t prov_av_resolve_addr(struct prov_av *av, uint32_t peer);

/* Addresses that may become a group, in this order (avset.c). */
struct prov_av_set {
	struct fid_av_set fid;
	struct prov_av *av;
	fi_addr_t *addrs;
	size_t count, room;
};

int prov_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set, void *context);

#endif
