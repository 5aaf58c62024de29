/* SPDX-License-Identifier: BSD-3-Clause */
/* What "reps" and "reps2" share: the state of REPS, its parameters, and what feedback does to it. */
#ifndef WEFT_LB_REPS_H
#define WEFT_LB_REPS_H

#include "lb_ops.h"

enum {
	RING = 8, /* REPS_BUFFER_SIZE, by the paper's Theorem 5.1 */
	RING_MAX = 128,
	TICK_SHIFT = 10, /* the freeze timer counts units of 1,024 ns: 2^32 of them are 73 min */
};

struct reps {
	uint64_t random; /* see draw() */
	union {
		uint32_t frozen_ticks; /* frozen: when it froze */
		struct {
			uint16_t left_pkts; /* exploreCounter: packets still to be sent at random */
			uint16_t ticks;     /* when exploring began, modulo 2^16 */
		} explore;                  /* exploring */
		uint32_t covered; /* otherwise: bit i, no ACK may have come back with entry i (modulo 32) of the ring */
	};
	uint8_t head;             /* where the next good entropy goes */
	uint8_t valid;            /* numberValidEVs */
	uint8_t frozen : 1;       /* isFreezingMode */
	uint8_t exploring : 1;    /* exploreCounter > 0; not while frozen */
	uint8_t filling : 1;      /* only the ring's entries before `head` are written yet */
	uint8_t some_covered : 1; /* `covered` may have bits; neither while frozen nor exploring */
	uint8_t freezes : 4;      /* times frozen, modulo 16 */
	uint8_t mask;             /* entries of the ring - 1; it is a power of two */
	uint16_t ring[];          /* cachedEV */
};
_Static_assert(sizeof(struct reps) + RING * 2 <= 32, "state budget");

static inline struct reps *reps_state(struct weft_lb *lb)
{
	return weft_lb_state(lb);
}

static inline const struct reps_tune *reps_tune(const struct weft_lb *lb)
{
	return lb->params->tune;
}

static inline uint32_t reps_ticks(weft_ns ns)
{
	return (uint32_t)(ns >> TICK_SHIFT);
}

/* What struct weft_lb_ops has of "reps"; the state's size is a multiple of 8. */
size_t reps_state_bytes(const struct weft_lb_params *params);
void reps_init(struct weft_lb *lb, uint64_t seed, weft_ns now);
uint16_t reps_pick(struct weft_lb *lb, uint32_t psn, weft_ns now);
void reps_feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now);
void reps_view(const struct weft_lb *lb, struct weft_lb_view *view);

#define REPS_TUNE(name, type, field, help, def, min, max)                                                              \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct reps_tune, field), WEFT_PARAM_##type                       \
	}
#define REPS_TUNES                                                                                                     \
	REPS_TUNE(freeze_ns, U64, freeze_ns, "nanoseconds without exploring after a suspected path failure", 20000000, \
		  0, 1000000000000),                                                                                   \
		REPS_TUNE(reps_ring, U32, ring,                                                                        \
			  "entropies remembered, two bytes of state each; rounded up to a power of two", RING, 1,      \
			  RING_MAX),                                                                                   \
		REPS_TUNE(evict, BOOL, evict, "forget an entropy that timed out", 1, 0, 1),                            \
		REPS_TUNE(refreeze, BOOL, refreeze,                                                                    \
			  "a failure more than a base RTT after a freeze ends exploring and freezes again", 1, 0, 1)

#endif
