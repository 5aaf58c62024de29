/* SPDX-License-Identifier: BSD-3-Clause */
/* Single-producer single-consumer ring of fixed-size elements, copied in and out. C11 atomics; producer and consumer
 * state on separate cache lines. The memory is the caller's. */
#ifndef WEFT_SPSC_H
#define WEFT_SPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spsc {
	_Alignas(64) _Atomic uint32_t head; /* next slot to fill; written by the producer */
	uint32_t tail_seen;                 /* producer's copy of tail */
	_Alignas(64) _Atomic uint32_t tail; /* next slot to empty; written by the consumer */
	uint32_t head_seen;                 /* consumer's copy of head */
	_Alignas(64) uint32_t mask;         /* entries - 1 */
	uint32_t elem_bytes;
	uint8_t *slots;
};

/* Bytes of slot memory for `entries` (a power of two) elements. */
size_t spsc_bytes(uint32_t entries, uint32_t elem_bytes);

/* `slots`: spsc_bytes() bytes, owned by the caller, alive as long as the ring. */
void spsc_init(struct spsc *r, void *slots, uint32_t entries, uint32_t elem_bytes);

/* False: full. Producer only. */
bool spsc_push(struct spsc *r, const void *elem);

/* False: empty. Consumer only. */
bool spsc_pop(struct spsc *r, void *elem);

/* Free slots; exact for the producer. */
uint32_t spsc_space(const struct spsc *r);

/* True when there is nothing to take; may be called by either side. */
static inline bool spsc_empty(const struct spsc *r)
{
	return atomic_load_explicit(&r->head, memory_order_acquire) ==
	       atomic_load_explicit(&r->tail, memory_order_acquire);
}

#endif
