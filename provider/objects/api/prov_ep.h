/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: single ones, and contexts of scalable endpoints and contexts that several endpoints share. Each is a
 * prov_ep of its own, with its own endpoint of the engine. */
#ifndef PROV_EP_H
#define PROV_EP_H

#include <assert.h>
#include <rdma/fi_endpoint.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "member.h"
#include "prov_domain.h"
#include "prov_nic.h"
#include "prov_req.h"
#include "weft/engine.h"

struct prov_av;
struct prov_cntr;
struct prov_coll;
struct prov_cq;
struct prov_eq;
struct prov_ep;
TAILQ_HEAD(prov_ep_list, prov_ep);

/* What a bound counter counts. */
enum prov_cntr_of {
	PROV_CNTR_TRANSMIT,
	PROV_CNTR_RECV,
	PROV_CNTR_READ,
	PROV_CNTR_WRITE,
	PROV_CNTR_REMOTE_READ,
	PROV_CNTR_REMOTE_WRITE,
	PROV_CNTRS,
};

/* Shared transmit context: what endpoints share of it is its size. */
struct prov_stx {
	struct fid_stx fid;
	struct prov_domain *domain;
	uint32_t tx_size;
	atomic_uint refs; /* endpoints bound */
};

struct prov_ep {
	struct fid_ep fid;
	struct prov_ep *root; /* itself; of an alias the endpoint that has all state but the operation flags */
	atomic_uint refs;     /* aliases, contexts of a scalable endpoint, endpoints that share the context, groups */
	struct prov_poller poller; /* registered while enabled */
	struct prov_domain *domain;
	struct weft_ep *wep;   /* NULL until prov_ep_listen */
	struct weft_addr addr; /* port 0 until known */
	uint16_t wished;       /* number to take if it is free and no other was asked for; 0: any */
	uint64_t caps;         /* of the fi_info */
	uint64_t tx_flags;     /* tx_attr->op_flags */
	uint64_t rx_flags;     /* rx_attr->op_flags */
	uint32_t tx_size;      /* sends that may be outstanding */
	uint32_t tx_used;      /* sends outstanding */
	size_t min_multi_recv; /* FI_OPT_MIN_MULTI_RECV */
	bool enabled;
	bool is_dgram;   /* FI_EP_DGRAM */
	bool is_msg;     /* FI_EP_MSG: a connection says who the peer is, not an address vector */
	bool is_linked;  /* of FI_EP_MSG: it is connected to `peer` */
	uint32_t peer;   /* the engine's id */
	bool is_drained; /* its close waits for nothing more */
	/* An operation of the transmit side has failed with this errno value. Lock held. NULL: nobody asks. */
	void (*failed)(struct prov_ep *ep, int err);
	bool no_tx, no_rx;                 /* of a receive or transmit context */
	int (*listen)(struct prov_ep *ep); /* opens `wep`; errors of weft_ep_open */
	struct prov_ep *sep;               /* of a context: its scalable endpoint */
	uint32_t index;                    /* of a context */
	struct prov_stx *stx;              /* shared transmit context, or NULL */
	struct prov_ep *srx;               /* shared receive context that has our receives, or NULL */
	struct prov_ep_list members;       /* of a shared receive context: endpoints bound to it */
	TAILQ_ENTRY(prov_ep) member;
	bool tx_selective, rx_selective; /* bound with FI_SELECTIVE_COMPLETION */
	struct prov_av *av;
	struct prov_cq *tx_cq, *rx_cq;
	struct prov_cntr *cntrs[PROV_CNTRS]; /* one counter may appear several times; NULL: not counted */
	struct prov_eq *eq;
	struct prov_coll *coll;      /* with FI_COLLECTIVE, after prov_ep_listen; else NULL */
	struct prov_req_list posted; /* handed to the engine, not finished */
	struct prov_req_list claims; /* messages reserved by FI_PEEK | FI_CLAIM whose completion was read */
};

/* The endpoint behind the application's pointer. Every call that takes a fid_ep begins with this. */
static inline struct prov_ep *prov_ep_of(const struct fid_ep *fid)
{
	struct prov_ep *ep = container_of(fid, struct prov_ep, fid)->root;
	assert(ep->root == ep);
	return ep;
}

/* Operation flags of calls without a flags argument; an alias has its own. */
static inline uint64_t prov_tx_flags(const struct fid_ep *fid)
{
	return container_of(fid, struct prov_ep, fid)->tx_flags;
}

static inline uint64_t prov_rx_flags(const struct fid_ep *fid)
{
	return container_of(fid, struct prov_ep, fid)->rx_flags;
}

/* Where receives of the endpoint are kept. */
static inline struct prov_ep *prov_rx_of(struct prov_ep *ep)
{
	return ep->srx ? ep->srx : ep;
}

/* ---- what domains open (prov_ep.c, shared.c, sep.c) ---- */

int prov_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
int prov_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx, void *context);
int prov_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx, void *context);
int prov_sep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep, void *context);

/* ---- functions of fi_ops_ep and fi_ops_cm (ep_ops.c) ---- */

int prov_ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen);
int prov_ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen);
int prov_ep_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx, void *context);
int prov_ep_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx, void *context);
ssize_t prov_ep_rx_size_left(struct fid_ep *fid);
ssize_t prov_ep_tx_size_left(struct fid_ep *fid);
int prov_ep_setname(fid_t fid, void *addr, size_t addrlen);
int prov_ep_getname(fid_t fid, void *addr, size_t *addrlen);
int prov_ep_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int prov_ep_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen);
int prov_ep_no_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int prov_ep_no_shutdown(struct fid_ep *ep, uint64_t flags);

#endif
