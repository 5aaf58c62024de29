/* SPDX-License-Identifier: BSD-3-Clause */
/* What `weft host` and two processes of its host agree on: how processes ask for a channel, and the memory of one.
 *
 * A process connects (SOCK_SEQPACKET) to the socket beside that of its port. Messages are struct local_msg. The memory
 * is all zero at first, sealed so that nobody changes its size, and shared by the two and nobody else. Each side
 * trusts nothing that the other may write. */
#ifndef LOCAL_SHM_H
#define LOCAL_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#include "weft/addr.h"

#define LOCAL_SOCKET_SUFFIX ".local" /* behind the path of the port's socket */

enum {
	LOCAL_PEERS_MAX = 31,     /* ports of a host */
	LOCAL_SLOTS = 256,        /* packets that one direction holds; a power of two */
	LOCAL_SLOTS_AT = 4096,    /* offset of the first slot */
	LOCAL_LINE_BYTES = 128,   /* a cache line and the one that is fetched with it */
	LOCAL_SLOT_HEAD_BYTES = 8 /* before the packet */
};

enum local_what {
	LOCAL_HELLO =
		1,  /* to a process: `ip` is the first of `count` addresses of the host; no channel of before holds */
	LOCAL_ASK,  /* from it: a channel to `ip` */
	LOCAL_NO,   /* to it: there is none to `ip` now */
	LOCAL_OPEN, /* to it: a channel to `ip`, instead of an older one. With two files: memory, and a socket that
		       ends when the peer's does, over which each side wakes the other */
	LOCAL_GONE, /* to it: `ip` is not any more whom there was a channel to */
};

struct local_msg {
	uint32_t what;      /* enum local_what */
	uint32_t count;     /* LOCAL_HELLO: addresses, 1..LOCAL_PEERS_MAX */
	uint32_t side;      /* LOCAL_OPEN: the ring to receive from, 0 or 1; the other one is to send to */
	uint32_t mtu_bytes; /* LOCAL_OPEN: largest IP packet */
	struct weft_ip ip;
};

_Static_assert(sizeof(struct local_msg) == 32, "no room between the fields");

/* One direction. What each side writes has lines of its own. */
struct local_ring {
	_Atomic uint32_t taken; /* slots that the receiver has emptied so far; wraps */
	uint8_t pad0[LOCAL_LINE_BYTES - 4];
	_Atomic uint32_t sleeps; /* not 0: the receiver wants to be woken; who wakes it takes this back */
	uint8_t pad1[LOCAL_LINE_BYTES - 4];
};

struct local_shm {
	struct local_ring rings[2]; /* by the side that receives */
};

/* One packet; followed by others in a ring. */
struct local_slot {
	_Atomic uint32_t number; /* of the packet that is there, from 1; wraps. Written when it is all there */
	_Atomic uint32_t bytes;  /* of the packet */
	uint8_t packet[];        /* from its IP header on */
};

_Static_assert(sizeof(struct local_ring) == 2 * LOCAL_LINE_BYTES, "two writers, two lines");
_Static_assert(sizeof(struct local_shm) <= LOCAL_SLOTS_AT, "slots follow");
_Static_assert(sizeof(struct local_slot) == LOCAL_SLOT_HEAD_BYTES, "the packet follows");
_Static_assert((LOCAL_SLOTS & (LOCAL_SLOTS - 1)) == 0, "slots are found by the low bits of a number");

/* From one slot to the next, bytes. */
static inline uint32_t local_slot_stride(uint32_t mtu_bytes)
{
	return (mtu_bytes + LOCAL_SLOT_HEAD_BYTES + 63) / 64 * 64;
}

/* Of a channel, bytes. */
static inline uint64_t local_shm_bytes(uint32_t mtu_bytes)
{
	return LOCAL_SLOTS_AT + UINT64_C(2) * LOCAL_SLOTS * local_slot_stride(mtu_bytes);
}

/* Where the packets for a side are. */
static inline uint64_t local_slots_at(uint32_t side, uint32_t mtu_bytes)
{
	return LOCAL_SLOTS_AT + (uint64_t)side * LOCAL_SLOTS * local_slot_stride(mtu_bytes);
}

#endif
