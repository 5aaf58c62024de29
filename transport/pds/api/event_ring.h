/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer of a flight recorder (weft/recorder.h): what it begins with, who the peers of connections are, and the
 * events. There is one writer, and readers may be other processes: an event is written first, then the position
 * moves over it. Nothing that a reader could have written there decides where is written. */
#ifndef WEFT_EVENT_RING_H
#define WEFT_EVENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "weft/recorder.h"

enum { EVENT_RING_PEERS = 1024 };

#define EVENT_RING_MAGIC UINT64_C(0x3152444345525457) /* "WTRECDR1", the lowest byte first */

/* An event as it is stored: what each kind brings is at the same few places, so that few instructions write it. */
struct event {
	uint64_t time_ns;
	uint32_t place; /* 32 times the events before it, low 32 bits, and its kind, enum weft_event_kind */
	uint32_t conn;  /* our PDCID, and 65536 times the detail */
	uint32_t psn;
	uint32_t ev_and_bytes;   /* entropy, and 65536 times the bytes; of ACKs received: round trip, ns */
	uint32_t cwnd_bytes;     /* where we send */
	uint32_t inflight_bytes; /* where we send, but for ACKs received */
};

/* Who is behind a connection, the newest one of those that share a slot. */
struct event_peer {
	struct weft_ip ip;
	uint32_t sum; /* over the rest: differs when the writer was interrupted */
	uint16_t conn;
	uint16_t reserved[5];
};
_Static_assert(sizeof(struct event_peer) == 32 && sizeof(struct event) == 32 && WEFT_EVENT_KINDS <= 32,
	       "part of the format");

struct event_ring {
	uint64_t magic;
	uint32_t capacity; /* of events; a power of two */
	uint32_t peers;    /* of peers */
	struct weft_ip ip; /* the engine's */
	struct weft_recorder_owner owner;
	_Alignas(64) _Atomic uint64_t written; /* events so far, times 32 */
	_Alignas(64) struct event_peer peer[EVENT_RING_PEERS];
	struct event events[];
};
_Static_assert(offsetof(struct event_ring, peer) == WEFT_RECORDER_HEAD_BYTES, "part of the format");

/* What an engine keeps of it. */
struct recorder {
	struct event_ring *ring; /* the caller's; NULL: none */
	uint64_t mask;           /* of places, bytes */
};

static inline uint32_t event_peer_sum(const struct event_peer *p)
{
	uint32_t sum = UINT32_C(0x811c9dc5) ^ p->conn; /* FNV-1a */
	for (unsigned i = 0; i < sizeof p->ip.b; i++)
		sum = (sum ^ p->ip.b[i]) * UINT32_C(0x01000193);
	return sum;
}

/* Takes over the buffer, which is erased; -EINVAL when it is too small or not aligned to 64 bytes. */
int recorder_init(struct recorder *r, void *buffer, size_t bytes, const struct weft_ip *ip);

/* The connection is with this peer from now on. */
void recorder_name(const struct recorder *r, uint16_t conn, const struct weft_ip *ip);

/* Time of the newest event; 0: none yet. */
weft_ns recorder_newest_ns(const struct recorder *r);

static inline uint64_t recorder_at(const struct recorder *r)
{
	return atomic_load_explicit(&r->ring->written, memory_order_relaxed);
}

/* Begins an event at `at`, which is recorder_at; the caller fills in the rest, and calls recorder_end. Field by field:
 * a struct passed by value would be built in memory first. */
static inline __attribute__((always_inline)) struct event *recorder_begin(const struct recorder *r, uint64_t at,
									  uint32_t kind, uint32_t conn, weft_ns now)
{
	struct event *to = (struct event *)((uint8_t *)r->ring->events + (at & r->mask));
	to->time_ns = now;
	to->place = (uint32_t)at + kind;
	to->conn = conn;
	return to;
}

static inline void recorder_end(const struct recorder *r, uint64_t at)
{
	atomic_store_explicit(&r->ring->written, at + sizeof(struct event), memory_order_release);
}

#endif
