/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints in parts: contexts of scalable endpoints, and contexts that several endpoints share. Each is a prov_ep of
 * its own, with its own endpoint of the engine. */
#ifndef PROV_CTX_H
#define PROV_CTX_H

#include "prov.h"

enum { PROV_CTX_MAX = 16 }; /* contexts per direction: the engine's endpoint numbers of one address */

/* ---- what all endpoints have in common (ep.c) ---- */

/* An endpoint in `bytes` of zeroed memory, `struct prov_ep` first, with tables of functions and no attributes yet. */
struct prov_ep *prov_ep_new(struct prov_domain *domain, size_t bytes, size_t fclass, void *context);
/* Takes over what the fi_info asks for. -FI_EINVAL: not an endpoint of ours. */
int prov_ep_init(struct prov_ep *ep, const struct fi_info *info);
/* Entries of the engine's rings for it. */
uint32_t prov_ep_ring(const struct prov_ep *ep);
int prov_ep_close(struct fid *fid);
int prov_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int prov_ep_control(struct fid *fid, int command, void *arg);

/* ---- shared contexts (shared.c) ---- */

/* What endpoints share of it is its size. */
struct prov_stx {
	struct fid_stx fid;
	struct prov_domain *domain;
	uint32_t tx_size;
	atomic_uint refs; /* endpoints bound */
};

int prov_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx, void *context);
int prov_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx, void *context);
int prov_stx_bind(struct prov_ep *ep, struct fid *stx);
int prov_srx_bind(struct prov_ep *ep, struct fid *srx);
/* Undoes both. Lock held. */
void prov_shared_unbind(struct prov_ep *ep);

/* ---- scalable endpoints (sep.c) ---- */

int prov_sep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep, void *context);
int prov_sep_tx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx, void *context);
int prov_sep_rx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx, void *context);

#endif
