/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport engine: one per port, polled by one thread at a time, embedded in whatever application wants it. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/atomic.h"
#include "weft/err.h"
#include "weft/mem.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "weft/spi/param.h"
#include "weft/spi/port.h"
#include "weft/spi/rcc.h"
#include "weft/stats.h"
#include "weft/time.h"

struct weft_engine;
struct weft_ep;

/* Numbers a user may set with --set or FI_WEFT_*; weft_engine_tunes describes them. */
struct weft_engine_tune {
	uint64_t link_bps;      /* our link, bits per second; 0: the port's */
	uint64_t brtt_ns;       /* base RTT of a full packet on the longest idle path; 0: measured by probes */
	uint64_t brtt_floor_ns; /* measured base RTTs never go below this (software peers answer late) */
	uint64_t rto_ns;        /* retransmission timeout; 0: 7 base RTTs (SMaRTT sec. III-D) */
	uint64_t rto_max_ns;    /* ceiling of the exponential back-off */
	uint64_t
		reorder_ns; /* a packet counts as lost when one sent this much later was acknowledged; 0: 3 base RTTs */
	uint64_t ack_delay_ns;    /* a coalesced ACK waits at most this long; 0: half a base RTT */
	uint64_t peer_timeout_ns; /* silence after which a peer's operations fail */
	uint64_t idle_close_ns;   /* idle connections are closed after this; 0: never */
	uint64_t
		unexpected_bytes; /* memory for messages without a receive; beyond it packets are refused and retried */
	uint64_t rndv_bytes;      /* longer messages are announced, and fetched by their receiver; 0: none is */
	uint32_t payload_bytes;   /* payload per full packet (UET Payload MTU) */
	uint32_t ack_every;       /* data packets per ACK, 1..64 */
	uint32_t acks_per_window; /* ACKs a sender asks for in a window at least, so that targets coalesce fewer packets
				   * where windows are small, 0..256; 0: it leaves that to their ack_every */
	uint32_t dup_ack_threshold; /* a packet counts as lost when so many sent after it were acknowledged, as with
				     * TCP; 0: by `reorder_ns`. Not with go_back_n */
	uint32_t reorder_shim_pkts; /* most packets beyond a gap that a target keeps to itself; with reorder_shim_ns */
	uint64_t reorder_shim_ns;   /* ... and how long; 0: it reports everything at once */
	uint32_t window_pkts;       /* PSN window offered and used, multiple of 128, 128..32640 */
	uint32_t evs_size;          /* entropy values, 1..65536 */
	uint8_t trimming;           /* the fabric trims: timeouts mean failed paths (REPS appendix A) */
	uint8_t crc;                /* CRC32C trailer sent and required */
	uint8_t go_back_n;          /* our connections deliver in order: a loss repeats all that was sent after it */
	uint8_t lb_all_acked;       /* the load balancer hears of all packets of a coalesced ACK (REPS sec. 4.5.2) */
	uint8_t pacing;             /* hand packets to the port at link rate, so that no queue builds in the NIC */
	uint8_t ack_burst;          /* packets of a connection that arrive in one burst share an ACK */
};

extern const struct weft_param weft_engine_tunes[];

struct weft_engine_conf {
	struct weft_ip ip; /* our address */
	const struct weft_cc_ops *cc;
	const struct weft_lb_ops *lb;
	const struct weft_lb_ops *lb_background;  /* for WEFT_OP_BACKGROUND, with its default parameters; NULL: lb */
	uint8_t background_ordered;               /* 1: their data has the DSCP of ordered traffic */
	const struct weft_rcc_ops *rcc;           /* receiver-driven congestion control beside `cc`; NULL: none */
	struct weft_engine_tune tune;             /* weft_param_defaults(weft_engine_tunes, &tune) first */
	const void *cc_tune, *lb_tune, *rcc_tune; /* the algorithms' parameter structs; copied; NULL: defaults */
	uint64_t seed;                            /* of all randomness: PSNs, entropies */
	uint8_t ids_by_seed; /* 1: PDCIDs and job ids begin where the seed says, so that none fits what is left of an
			      * engine that had our address before; 0: at 1 */
	struct weft_lb_digits digits;           /* the fabric's shape, all zero: unknown */
	uint8_t digits_read;                    /* 1: switches forward by the digits of an entropy */
	const struct weft_lb_routes *lb_routes; /* ... and routing tells which are good for what; NULL: nobody does */
	struct weft_mem mem;
};

/* `port` stays the caller's and must outlive the engine. -EINVAL with a message when a number is impossible, -ENOMEM.
 */
int weft_engine_create(const struct weft_engine_conf *conf, struct weft_port *port, weft_ns now,
		       struct weft_engine **out, struct weft_err *err);

/* Releases everything at once; pending operations are dropped without completions, endpoints become invalid.
 * Call weft_engine_shutdown and poll first for a clean end. */
void weft_engine_destroy(struct weft_engine *e);

/* Asks for a clean end: no new operations, connections are closed once their data is acknowledged. */
void weft_engine_shutdown(struct weft_engine *e, weft_ns now);

/* True when nothing is in flight and no connection of ours is open. */
bool weft_engine_idle(const struct weft_engine *e);

/* Does all work that is due at `now` and returns the next time there is some: > now, or WEFT_NEVER, or `now` itself
 * when the port refused packets or a burst limit was reached and more is waiting. New packets and submissions are not
 * announced here: the shell polls when the port has packets or somebody submitted. */
weft_ns weft_engine_poll(struct weft_engine *e, weft_ns now);

/* The part of a poll that sends: takes up submissions and gives the port what may leave, but does not look at what has
 * arrived. For shells that poll soon, and are given one submission after the other. */
weft_ns weft_engine_push(struct weft_engine *e, weft_ns now);

/* A hint, never needed, for shells that serve many engines in turn: the engine will be polled soon, and find `pkt`
 * unless that is NULL. Stage 0 fetches into the caches what every poll touches, later stages (1, 2) what that leads to:
 * the connection, then its record of the packet. */
void weft_engine_ahead(const struct weft_engine *e, const struct weft_pkt *pkt, unsigned stage);

/* Adds up nothing: the engine's live counters, read-only, valid until destroy. */
const struct weft_stats *weft_engine_stats(const struct weft_engine *e);

/* Within a weft_sink_fn: the packet whose payload is handed over had been sent before. */
bool weft_engine_rx_again(const struct weft_engine *e);

/* ---- peers: small integers for addresses, valid for the engine's life ---- */

#define WEFT_PEER_ANY UINT32_MAX

/* Existing or new id of an address; also given to unknown senders when their first message arrives. -ENOMEM. Ids count
 * from 0. Same thread rules as weft_engine_poll. */
int weft_peer_add(struct weft_engine *e, const struct weft_addr *addr, uint32_t *id);

/* Address of a peer; NULL for an id never given out. */
const struct weft_addr *weft_peer_addr(const struct weft_engine *e, uint32_t id);

/* ---- endpoints and operations ---- */

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
	WEFT_OP_RELEASE, /* of a receive with WEFT_OP_MULTI: no message, but the buffer is the caller's again */
	/* the same: a peer's access to our memory has ended, see WEFT_MR_EVENTS */
	WEFT_OP_REMOTE_WRITE, /* also a write with data, whatever the region's events; and atomics that fetch nothing */
	WEFT_OP_REMOTE_READ,  /* also atomics that fetch */
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
	WEFT_OP_MATCHED = 256,   /* SEND/TSEND: completes when a receive has the message; not with BACKGROUND */
};

/* Receives payload instead of a buffer: `len` bytes of the message from `offset`; data NULL when only lengths travel.
 * Each byte of a message is handed over exactly once, in any order. */
typedef void (*weft_sink_fn)(void *arg, uint64_t offset, const uint8_t *data, uint32_t len);

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
	uint64_t data;        /* with WEFT_OP_HAS_DATA */
	void *context;        /* returned in the completion */
	weft_sink_fn sink;    /* receives and READ: used instead of buf when set */
	void *sink_arg;
	uint64_t min_room;                   /* with WEFT_OP_MULTI: the buffer is done when less room is left, bytes */
	uint64_t rkey;                       /* WRITE, READ, atomics: key of the peer's region */
	uint64_t raddr;                      /* address in it, counted from the region's `start` */
	const struct weft_op_atomic *atomic; /* atomics: the caller's until the completion */
};

/* One completion. Every operation has exactly one, but CANCEL none and a receive with WEFT_OP_MULTI one for each
 * message; the last of them, or one of kind WEFT_OP_RELEASE after it, has WEFT_OP_MULTI set. */
struct weft_cqe {
	void *context;
	uint8_t kind;   /* enum weft_op_kind of the operation */
	uint16_t flags; /* WEFT_OP_HAS_DATA, WEFT_OP_TAGGED */
	int32_t err;    /* 0, or errno: EMSGSIZE truncated (olen bytes lost), ECANCELED, ENOMSG (PEEK/CLAIM found none),
			 * ETIMEDOUT peer silent, ECONNRESET peer restarted, EHOSTUNREACH no such endpoint, EINVAL bad
			 * operation, EACCES no such key or not allowed, ERANGE outside the region */
	uint32_t peer;  /* receives and REMOTE_*: the sender's id */
	uint64_t len;   /* bytes placed (receives), sent, read, or waiting (PEEK) */
	uint64_t olen;  /* bytes that did not fit */
	uint64_t offset;    /* with WEFT_OP_MULTI: where in the buffer the message lies */
	uint64_t tag, data; /* REMOTE_*: tag is the region's key, and context its context */
};

/* `port` 0 takes the next free number (from 0xC000 up). Queue sizes are rounded up to powers of two. -EADDRINUSE,
 * -ENOMEM. */
int weft_ep_open(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		 struct weft_err *err);

/* The same, but nothing can be addressed to it: `port` is only named as the source of what it sends, and what is
 * received through it are the messages of endpoints that share with it. -ENOMEM. */
int weft_ep_open_hidden(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
			struct weft_ep **out, struct weft_err *err);

/* The same as weft_ep_open, for datagrams: it sends WEFT_OP_DGRAM and receives nothing else; RECV takes what was sent.
 * Datagrams without a receive wait only in small numbers. */
int weft_ep_open_dgram(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
		       struct weft_ep **out, struct weft_err *err);

/* Longest datagram, bytes. */
uint32_t weft_dgram_bytes_max(const struct weft_engine *e);

/* From now on messages to `ep` find the receives submitted to `with`, in one order for all who share; the completion
 * comes to `ep`. Of a receive cancelled, or of which only the end is left when `ep` closes, it comes to `with`. Call it
 * before either has received anything. When `with` closes, all that waits for a receive or a message is dropped. */
void weft_ep_share(struct weft_ep *ep, struct weft_ep *with);

/* Closes: receives are dropped; sends under way go on without completions, from copies, so all buffers are the caller's
 * again. */
void weft_ep_close(struct weft_ep *ep);

uint16_t weft_ep_port(const struct weft_ep *ep);

/* Hands an operation over (copied). -EAGAIN: ring full, poll the engine. One producer thread; lock-free towards the
 * polling thread. */
int weft_submit(struct weft_ep *ep, const struct weft_op *op);

/* Takes up to `n` completions. One consumer thread; lock-free towards the polling thread. */
unsigned weft_cq_take(struct weft_ep *ep, struct weft_cqe *cqes, unsigned n);

/* Space left in the submission ring, as the producer sees it. */
unsigned weft_sq_space(const struct weft_ep *ep);

/* ---- memory that peers may read and write ---- */

struct weft_mr;

enum weft_mr_access {
	WEFT_MR_READ = 1,
	WEFT_MR_WRITE = 2,
	WEFT_MR_EVENTS = 4, /* each access completes as REMOTE_* at the endpoint it was addressed to */
};

struct weft_mr_seg {
	void *base;
	uint64_t bytes;
};

struct weft_mr_attr {
	uint64_t key;                   /* chosen by the caller, unique within the scope */
	void *base;                     /* the caller's until weft_mr_del */
	uint64_t bytes;                 /* of the whole region */
	const struct weft_mr_seg *segs; /* its pieces when it has several, else NULL; copied */
	uint32_t seg_count;
	uint64_t start; /* address of its first byte in the peers' requests: 0, or `base` for virtual addresses */
	uint32_t scope; /* only through endpoints of this scope (weft_ep_scope) */
	uint8_t access; /* enum weft_mr_access */
	void *context;  /* returned in REMOTE_* completions */
};

/* Longest WRITE and READ that are ordered among each other as they were submitted, and atomics with them: a later one
 * sees and replaces what an earlier one did. A READ of any length sees every earlier WRITE of any length, and a message
 * is matched after every earlier WRITE has ended. All this for one peer, without BACKGROUND. */
#define WEFT_RMA_ORDERED_BYTES 1024

/* Peers may use the region at once. Same thread rules as weft_engine_poll, as for the calls below. -EEXIST: the scope
 * has that key, -ENOMEM. */
int weft_mr_add(struct weft_engine *e, const struct weft_mr_attr *attr, struct weft_mr **out);

/* The key is dead at once: nothing is read or written any more when this returns, and the memory is the caller's. What
 * peers are reading is sent from copies. */
void weft_mr_del(struct weft_mr *mr);

/* Sets WEFT_MR_EVENTS from now on. */
void weft_mr_events(struct weft_mr *mr);

/* Context of the region with this key; NULL: none. */
void *weft_mr_find(const struct weft_engine *e, uint32_t scope, uint64_t key);

/* Which regions peers reach through this endpoint; 0 at first. `events`: as if each had WEFT_MR_EVENTS. */
void weft_ep_scope(struct weft_ep *ep, uint32_t scope, bool events);

/* Most bytes of elements in one atomic operation `op` (weft/atomic.h): it is always one packet. */
uint32_t weft_atomic_bytes(const struct weft_engine *e, uint8_t op);

/* ---- looking in ---- */

struct weft_conn_view {
	const struct weft_ip *ip;
	uint32_t cwnd_bytes;
	uint64_t inflight_bytes;
	weft_ns brtt_ns, srtt_ns;
	int32_t ev;      /* entropy of the newest transmission in flight; -1: nothing is */
	bool background; /* the connection of WEFT_OP_BACKGROUND; there may be another to the same peer */
	struct weft_cc_view cc;
	struct weft_lb_view lb;
};

/* Calls `fn` for each connection we send on, in order of opening. */
void weft_engine_view(const struct weft_engine *e, void (*fn)(void *arg, const struct weft_conn_view *view), void *arg);

/* The same for each connection a peer sends on, while a receiver-driven algorithm (rcc.h) with a view runs: the peer,
 * and what the algorithm knows. */
void weft_engine_credit_view(const struct weft_engine *e,
			     void (*fn)(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *view),
			     void *arg);

/* Observers see each data packet handed to the port and each feedback given to the load balancer; for tests and traces.
 * NULL: none. */
struct weft_trace_ops {
	void (*sent)(void *arg, const struct weft_ip *peer, uint32_t psn, uint16_t ev, bool retx, weft_ns now);
	void (*feedback)(void *arg, const struct weft_ip *peer, uint16_t ev, enum weft_lb_fb fb, weft_ns now);
	void *arg;
};
void weft_engine_trace(struct weft_engine *e, const struct weft_trace_ops *trace);

#endif
