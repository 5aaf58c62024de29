/* SPDX-License-Identifier: BSD-3-Clause */
/* What all kinds of endpoints are made of. */
#ifndef PROV_EP_PARTS_H
#define PROV_EP_PARTS_H

#include "prov_ep.h"

/* ---- life cycle (prov_ep.c) ---- */

/* An endpoint in `bytes` of zeroed memory, `struct prov_ep` first, with tables of functions and no attributes yet. */
struct prov_ep *prov_ep_new(struct prov_domain *domain, size_t bytes, size_t fclass, void *context);
/* Takes over what the fi_info asks for. -FI_EINVAL: not an endpoint of ours. */
int prov_ep_init(struct prov_ep *ep, const struct fi_info *info);
/* Entries of the engine's rings for it. */
uint32_t prov_ep_ring(const struct prov_ep *ep);
/* Opens an endpoint of this one's type on the engine; `port` 0: any number. Lock held. -FI_EADDRINUSE, -FI_ENOMEM. */
int prov_ep_open_number(const struct prov_ep *ep, uint16_t port, struct weft_ep **wep, struct weft_err *err);
/* Opens the endpoint on the engine, which gives it its port number, unless it is open. Lock held. */
int prov_ep_listen(struct prov_ep *ep);
/* Waits up to the linger time until outstanding sends are acknowledged. Lock not held. */
void prov_ep_drain(struct prov_ep *ep);
/* From now on operations are possible, and progress looks at it. Lock held. */
void prov_ep_start(struct prov_ep *ep);
/* Peers that address `wep` reach the domain's regions. Lock held. */
void prov_ep_expose_regions(struct prov_ep *ep, struct weft_ep *wep);
int prov_ep_close(struct fid *fid);
int prov_ep_control(struct fid *fid, int command, void *arg);

/* ---- what it is bound to (ep_bind.c) ---- */

int prov_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* A context has what its scalable endpoint is bound to, unless it was bound to something else. */
void prov_ep_inherit(struct prov_ep *ep);
/* Undoes all. Lock held by prov_ep_unbind_shared, and not by the other. */
void prov_ep_unbind(struct prov_ep *ep);
void prov_ep_unbind_shared(struct prov_ep *ep);

/* ---- operation flags (alias.c) ---- */

/* FI_GETOPSFLAG and FI_SETOPSFLAG: default operation flags; FI_TRANSMIT or FI_RECV in `*flags` says which side. */
int prov_ep_op_flags(struct prov_ep *ep, bool set, uint64_t *flags);
/* FI_ALIAS: another name for the endpoint, with its own operation flags. */
int prov_ep_alias(struct prov_ep *ep, const struct fi_alias *arg);

/* ---- contexts of scalable endpoints (sep.c) ---- */

int prov_sep_tx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx, void *context);
int prov_sep_rx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx, void *context);

#endif
