/* SPDX-License-Identifier: BSD-3-Clause */
/* Which path each credit takes: the path table (drawn without replacement, round by round) and the speed board that
 * excludes slow paths (SprayPass sec. III-C). */
#ifndef SPRAY_H
#define SPRAY_H

#include "cc_ops.h"

/* Variable length, spray_bytes(). */
struct spray {
	weft_ns rtt_ns;      /* smoothed time from a credit to its data, 0: not known yet */
	weft_ns try_at_ns;   /* an excluded path is due to be tried */
	weft_ns tried_ns;    /* when the one on trial was sent its latest credit; WEFT_NEVER: none is */
	weft_ns try_wait_ns; /* time between trials */
	uint64_t bytes;      /* data since the last look at the board; 37 GB with the largest parameters */
	uint32_t looks;      /* at the board */
	uint16_t slowest;    /* speed of the slowest path over the fastest at the last one, permille ... */
	uint16_t least;      /* ... and the least of these so far */
	uint16_t paths;      /* all */
	uint16_t valid;      /* not excluded */
	uint16_t left;       /* of these, not drawn in this round */
	uint16_t trial;      /* the path on trial */
	uint8_t trial_left;  /* credits that it still gets */
	uint8_t trial_back;  /* of those it got, answered in time */
	bool admitted;       /* a path was taken back since the last look */
	uint16_t table[];    /* [paths] path numbers: left in this round, drawn, excluded; then the board, [paths]
			      * packets since the last look, by path number */
};

size_t spray_bytes(const struct schedule_tune *tune);
void spray_init(struct spray *s, const struct schedule_tune *tune);

/* The path of the next credit. */
uint32_t spray_next(struct spray *s, const struct schedule_tune *tune, uint64_t draw, weft_ns now);

/* A packet of `mtu_bytes` at most arrived. */
void spray_data(struct spray *s, const struct schedule_tune *tune, const struct weft_rcc_data *ev, uint32_t mtu_bytes,
		weft_ns now);

#endif
