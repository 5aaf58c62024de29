/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch and a process that share packet buffers agree on: how they get to know each other, and the rings that
 * say who has which buffer.
 *
 * The process connects (SOCK_SEQPACKET) to the socket of its port, and gets a struct shm_hello with two files: the
 * buffers of all ports, and the rings of this connection. Both are all zero at first, and sealed so that nobody changes
 * their size. Bytes over the socket wake the other side; its end is the end of the connection. Each side trusts
 * nothing that the other may write to the rings, at any time. */
#ifndef WEFT_SHM_RING_H
#define WEFT_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SHM_SLOTS = 2048,    /* descriptors in a ring; a power of two */
	SHM_LINE_BYTES = 128 /* a cache line and the one that is fetched with it */
};

#define SHM_MAGIC    UINT32_C(0x77667431)
#define SHM_VERSION  1
#define SHM_BUFS_MAX (UINT32_C(1) << 20) /* a descriptor has 20 bits for a buffer */

/* The buffers `first`, `first` + 1, ... are what the process allocates from; it gets each of them by a descriptor. */
struct shm_hello {
	uint32_t magic;        /* SHM_MAGIC */
	uint32_t version;      /* SHM_VERSION */
	uint32_t bufs;         /* of all ports, 1..SHM_BUFS_MAX */
	uint32_t stride_bytes; /* from one to the next, and what each of them holds; below 65536 */
	uint32_t first;        /* see above */
	uint32_t count;        /* of them */
	uint32_t ip_bytes_max; /* largest IP packet */
	uint32_t reserved;     /* 0 */
};

_Static_assert(sizeof(struct shm_hello) == 32, "no room between the fields");

/* A buffer that changes hands. */
struct shm_desc {
	uint32_t buf;    /* its number */
	uint16_t offset; /* of the frame in it, bytes, an even number */
	uint16_t bytes;  /* of the frame; 0: there is none in it */
};

/* One direction. What each side writes has lines of its own. */
struct shm_ring {
	_Atomic uint32_t taken; /* descriptors that the receiver has taken so far; wraps */
	uint8_t pad0[SHM_LINE_BYTES - 4];
	_Atomic uint32_t sleeps; /* not 0: the receiver wants to be woken; who wakes it takes this back */
	uint8_t pad1[SHM_LINE_BYTES - 4];
	/* A descriptor each, with the number of times that the slot was written, so that the receiver sees by it alone
	 * whether it is new. */
	_Atomic uint64_t slots[SHM_SLOTS];
};

/* The file of a connection. */
struct shm_rings {
	struct shm_ring up;   /* to the switch */
	struct shm_ring down; /* to the process */
};

_Static_assert((SHM_SLOTS & (SHM_SLOTS - 1)) == 0, "slots are found by the low bits of a number");

/* One end of a ring; all but `shared` is our own memory. */
struct shm_end {
	struct shm_ring *shared;
	uint32_t next;  /* descriptors put, or taken, so far; wraps */
	uint32_t taken; /* sender: what was seen of shared->taken */
};

/* How many descriptors there is room for; asks the receiver only when `want` do not fit into what is known. More than
 * SHM_SLOTS: the receiver has taken what was not there. */
uint32_t shm_ring_room(struct shm_end *e, uint32_t want);
/* There is room. */
void shm_ring_put(struct shm_end *e, struct shm_desc desc);
/* The next descriptor, of which nothing is known. False: there is none. */
bool shm_ring_get(struct shm_end *e, struct shm_desc *desc);
/* Whether there is one. */
bool shm_ring_has(const struct shm_end *e);
/* The sender may use the slots of those that were taken again. */
void shm_ring_release(struct shm_end *e);
/* True: the receiver sleeps and is to be woken, by the caller. After all descriptors of a burst. */
bool shm_ring_wants_wake(const struct shm_end *e);

#endif
