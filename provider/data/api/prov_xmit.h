/* SPDX-License-Identifier: BSD-3-Clause */
/* What all operations of the transmit side share, from the room they need to the doorbell. Device's lock held. */
#ifndef PROV_XMIT_H
#define PROV_XMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prov_ep.h"
#include "prov_req.h"
#include "weft/engine.h"

/* Whom an operation is for: the peer of the connection, or `addr` of the address vector. -FI_ENOTCONN: there is no
 * connection; -FI_EINVAL: `addr` is not in the vector; -FI_ENOMEM. */
int prov_tx_dest(const struct prov_ep *ep, fi_addr_t addr, uint32_t *peer);
/* Makes sure that `parts` operations of the engine can be submitted; progress may make room. -FI_EAGAIN: too many
 * operations are outstanding or completions unread, or the engine's ring is full. -FI_ENODEV: the device is gone. */
int prov_tx_make_room(struct prov_ep *ep, unsigned parts);
/* The same for an operation to `peer`. Other errors are those of its earlier operations that could not tell them; they
 * are told once. */
int prov_tx_begin(struct prov_ep *ep, unsigned parts, uint32_t peer);
/* Completion level and fence of the API's flags as the engine's. -FI_EOPNOTSUPP: FI_COMMIT_COMPLETE. */
int prov_tx_set_level(uint64_t flags, struct weft_op *wop);

/* What a request is made of. */
struct prov_req_attr {
	uint64_t entry_flags; /* go into the completion */
	uint64_t op_flags;    /* of the call: FI_COMPLETION, PROV_NO_COMPLETION */
	void *buf;            /* first piece of the application's */
	void *context;
	struct prov_work work;
};

/* A request of this endpoint, PROV_REQ_HELD. NULL: no memory. */
struct prov_req *prov_req_new(struct prov_ep *ep, const struct prov_req_attr *attr);
/* The same for the transmit side, which knows whether success is reported. */
struct prov_req *prov_tx_req_new(struct prov_ep *ep, const struct prov_req_attr *attr);

/* Submits one operation of the engine; progress may make room. -FI_EAGAIN, -FI_ENODEV. */
int prov_submit(struct prov_ep *ep, const struct weft_op *wop);
/* Hands `parts` operations with this request as context to the engine, which owns it until prov_req_finish. Refused, it
 * is freed. */
ssize_t prov_tx_submit(struct prov_ep *ep, struct prov_req *req, const struct weft_op *wops, unsigned parts);
/* A posted request whose payload is a copy completes for the application, `len` bytes long. False: no memory, it
 * completes when the peer has acknowledged it. */
bool prov_tx_tell(struct prov_ep *ep, struct prov_req *req, uint64_t len);
/* Rings the doorbell after an operation that was posted (`ret` is 0), unless FI_MORE says that others follow. Returns
 * `ret`. `may_batch`: see prov_doorbell. */
ssize_t prov_tx_flush(struct prov_nic *nic, ssize_t ret, uint64_t flags, bool may_batch);

#endif
