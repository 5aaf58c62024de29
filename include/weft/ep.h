/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of an engine: operations go in, completions come out. Calls that open, share and close endpoints have the
 * thread rules of weft_engine_poll. */
#ifndef WEFT_EP_H
#define WEFT_EP_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/atomic.h"
#include "weft/decl.h"
#include "weft/err.h"

WEFT_BEGIN_DECLS

struct weft_engine;
struct weft_ep; /* one endpoint, the engine's */

/* ---- peers: small integers for addresses, valid for the engine's life ---- */

#define WEFT_PEER_ANY UINT32_MAX

/* Existing or new id of an address; also given to unknown senders when their first message arrives. -ENOMEM. Ids count
 * from 0. Same thread rules as weft_engine_poll. */
int weft_peer_add(struct weft_engine *e, const struct weft_addr *addr, uint32_t *id);

/* Address of a peer, the engine's; NULL for an id never given out. */
const struct weft_addr *weft_peer_addr(const struct weft_engine *e, uint32_t id);

/* ---- operations and completions ---- */

enum weft_op_kind {
	WEFT_OP_SEND,         /* message without tag (UET SEND) */
	WEFT_OP_TSEND,        /* tagged message (UET TAGGED_SEND) */
	WEFT_OP_RECV,         /* receive for an untagged message */
	WEFT_OP_TRECV,        /* receive for a tagged message */
	WEFT_OP_PEEK,         /* looks for an unexpected message; with WEFT_OP_TAGGED a tagged one */
	WEFT_OP_CANCEL,       /* cancels the receive whose context is `context`; no completion of its own */
	WEFT_OP_WRITE,        /* buffer to the peer's memory (UET WRITE) */
	WEFT_OP_READ,         /* the peer's memory to buffer or sink (UET READ) */
	WEFT_OP_ATOMIC,       /* changes the peer's memory (UET ATOMIC) */
	WEFT_OP_FETCH_ATOMIC, /* the same and brings back what was there (UET FETCHING_ATOMIC) */
	WEFT_OP_DGRAM,        /* unreliable message of one packet (UET DATAGRAM_SEND in a UUD packet), between endpoints
			       * opened for it; completes when the port has it */
	/* only in completions */
	WEFT_OP_RELEASE,      /* of a receive with WEFT_OP_MULTI: no message, but the buffer is the caller's again */
	WEFT_OP_REMOTE_WRITE, /* a peer's write to our memory has ended, or its atomic that fetches nothing: with
			       * WEFT_MR_EVENTS, or because the write came with data */
	WEFT_OP_REMOTE_READ,  /* a peer's read of our memory has ended, or its atomic that fetches was carried out: with
			       * WEFT_MR_EVENTS */
};

enum weft_op_flags {
	WEFT_OP_HAS_DATA = 1, /* `data` travels with the message (remote CQ data); in a completion: `data` is valid */
	WEFT_OP_TAGGED = 2,   /* PEEK: among tagged messages; in a completion: `tag` is valid */
	WEFT_OP_CLAIM = 4,    /* PEEK: reserve the message for `context`; RECV/TRECV: receive the one so reserved */
	WEFT_OP_DISCARD = 8,  /* PEEK, or RECV/TRECV with CLAIM: throw the message away */
	WEFT_OP_BACKGROUND = 16, /* SEND/TSEND: on a connection of its own, whose paths lb_background chooses; not
				  * ordered with the peer's other messages */
	WEFT_OP_MULTI = 32,      /* RECV: one buffer for many messages, laid one behind the other; each has a completion
				  * of its own. In a completion: the buffer is the caller's again, `context` is not used
				  * any more */
	WEFT_OP_FENCE = 64,      /* starts when all earlier operations towards the peer's host have completed, and so do
				  * all later ones */
	WEFT_OP_DELIVERED = 128, /* WRITE, ATOMIC: completes when the peer's memory has changed, not when the peer has
				  * taken the data over */
	WEFT_OP_IDEMPOTENT = 512, /* WRITE, READ: may be carried out more than once and in any order beside others, on a
				   * region whose key has WEFT_MR_KEY_IDEMPOTENT; needs no connection (UET's RUDI). Not
				   * with HAS_DATA, FENCE, DELIVERED. An endpoint that closes drops them */
	WEFT_OP_MATCHED = 256, /* SEND/TSEND: completes when a receive has the message; not with BACKGROUND. Fails with
				* EOPNOTSUPP in profiles of UET */
	WEFT_OP_MODIFIED = 1024, /* only in completions, REMOTE_READ: an atomic that may have changed the memory, too */
	WEFT_OP_APART = 2048,    /* SEND/TSEND: on a connection opened for it alone, which closes when it has been
				  * acknowledged; not ordered with the peer's other messages, and sent without
				  * announcement, whatever its length. May be BACKGROUND, too; not FENCE or MATCHED */
};

/* Receives payload instead of a buffer: `len` bytes of the message from `offset`; data NULL when only lengths travel.
 * Each byte of a message is handed over exactly once, in any order. `retx`: the packet they came in had been sent
 * before; false for what was kept until its receive came. */
typedef void (*weft_sink_fn)(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx);

/* Longest message. */
#define WEFT_MSG_BYTES_MAX ((uint64_t)UINT32_MAX - 1)

/* One operation. The buffer stays the caller's but must not change (send) or be read (receive) until the completion. */
struct weft_op {
	uint8_t kind;         /* enum weft_op_kind */
	uint16_t flags;       /* enum weft_op_flags */
	uint32_t peer;        /* destination; receives: only from this peer, or WEFT_PEER_ANY */
	void *buf;            /* NULL with len > 0: length only (lab) */
	uint64_t len;         /* bytes; sends up to WEFT_MSG_BYTES_MAX */
	uint64_t tag, ignore; /* receives: bits set in `ignore` may differ */
	uint64_t data;        /* with WEFT_OP_HAS_DATA: travels with the message, 64 bits of the caller's */
	void *context;        /* returned in the completion */
	weft_sink_fn sink;    /* receives and READ: used instead of buf when set */
	void *sink_arg;       /* the sink's first argument */
	uint64_t min_room;    /* with WEFT_OP_MULTI: the buffer is done when less room is left, bytes */
	uint64_t rkey;        /* WRITE, READ, atomics: key of the peer's region */
	uint64_t raddr;       /* address in it, counted from the region's `start` */
	const struct weft_op_atomic *atomic; /* atomics: the caller's until the completion */
};

/* One completion. Every operation has exactly one, but CANCEL none and a receive with WEFT_OP_MULTI one for each
 * message; the last of them, or one of kind WEFT_OP_RELEASE after it, has WEFT_OP_MULTI set. */
struct weft_cqe {
	void *context;  /* of the operation; REMOTE_*: of the region */
	uint8_t kind;   /* enum weft_op_kind of the operation */
	uint16_t flags; /* WEFT_OP_HAS_DATA, WEFT_OP_TAGGED, WEFT_OP_MULTI, WEFT_OP_MODIFIED */
	int32_t err; /* 0, or errno: EMSGSIZE truncated (olen bytes lost) or longer than any message may be, ECANCELED,
		      * ENOMSG (PEEK/CLAIM found none), ETIMEDOUT peer silent, ENETUNREACH no route to it, ECONNRESET
		      * peer restarted, EHOSTUNREACH no such endpoint, EINVAL bad operation, ENOTSUP and EOPNOTSUPP what
		      * this engine or the peer's profile cannot do, EIO what the peer sent makes no sense, ENOMEM,
		      * ESHUTDOWN after weft_engine_shutdown, what weft_engine_fail was given, EACCES no such key or not
		      * allowed, ERANGE outside the region */
	uint32_t peer;      /* receives and REMOTE_*: the sender's id; others: that of the operation */
	uint64_t len;       /* bytes placed (receives), sent, read, or waiting (PEEK) */
	uint64_t olen;      /* bytes that did not fit */
	uint64_t offset;    /* with WEFT_OP_MULTI: where in the buffer the message lies */
	uint64_t tag, data; /* REMOTE_*: tag is the region's key, and context its context */
};

/* ---- endpoints ---- */

/* Opens an endpoint for messages, memory and atomics. `port` 0 takes the next free number (from 0xC000 up). Queue sizes
 * are rounded up to powers of two, 16 at least and 1,048,576 at most. -EADDRINUSE, -ENOMEM. */
int weft_ep_open(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		 struct weft_err *err);

/* The same, but nothing can be addressed to it: `port` is only named as the source of what it sends, datagrams
 * included, and what is received through it are the messages of endpoints that share with it. -ENOMEM. */
int weft_ep_open_hidden(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
			struct weft_ep **out, struct weft_err *err);

/* The same as weft_ep_open, for datagrams: it sends WEFT_OP_DGRAM and receives nothing else; RECV takes what was sent.
 * Datagrams without a receive wait only in small numbers. */
int weft_ep_open_dgram(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
		       struct weft_ep **out, struct weft_err *err);

/* Longest datagram, bytes. */
uint32_t weft_dgram_bytes_max(const struct weft_engine *e);

/* Most bytes of elements in one atomic operation `op` (weft/atomic.h): it is always one packet. */
uint32_t weft_atomic_bytes(const struct weft_engine *e, uint8_t op);

/* From now on messages to `ep` find the receives submitted to `with`, in one order for all who share; the completion
 * comes to `ep`. Of a receive cancelled, or of which only the end is left when `ep` closes, it comes to `with`. Call it
 * before either has received anything. When `with` closes, all that waits for a receive or a message is dropped. */
void weft_ep_share(struct weft_ep *ep, struct weft_ep *with);

/* From now on `ep` takes messages and accesses to memory from this address alone, or from nobody (NULL); those of
 * others are refused as if there were no such endpoint. It may be called again. What has begun to arrive is not
 * touched. Not for endpoints opened hidden or for datagrams. */
void weft_ep_only_from(struct weft_ep *ep, const struct weft_addr *partner);

/* Nothing comes for `ep` any more: messages and accesses to memory are refused, receives without a message end with
 * ECANCELED, and so do later ones that find none waiting. Receives that `ep` shares are not touched. Not for endpoints
 * opened hidden or for datagrams. */
void weft_ep_end(struct weft_ep *ep);

/* Closes the endpoint: receives are dropped; sends under way go on without completions, from copies, so all buffers are
 * the caller's again. */
void weft_ep_close(struct weft_ep *ep);

/* Number of the endpoint on its engine, 1..65535. */
uint16_t weft_ep_port(const struct weft_ep *ep);

/* Hands an operation over (copied). -EAGAIN: ring full, poll the engine. One producer thread; lock-free towards the
 * polling thread. */
int weft_submit(struct weft_ep *ep, const struct weft_op *op);

/* Takes up to `n` completions. One consumer thread; lock-free towards the polling thread. */
unsigned weft_cq_take(struct weft_ep *ep, struct weft_cqe *cqes, unsigned n);

/* Operations that weft_submit takes at least before it returns -EAGAIN, as the producer sees it. */
unsigned weft_sq_space(const struct weft_ep *ep);

WEFT_END_DECLS

#endif
