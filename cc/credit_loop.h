/* SPDX-License-Identifier: BSD-3-Clause */
/* The feedback control of credit-scheduled transport: ExpressPass (Cho et al., SIGCOMM 2017, algorithm 1) and SprayPass
 * (sec. III-B-3, algorithm 1) differ in what they take for the share of lost credits. */
#ifndef CREDIT_LOOP_H
#define CREDIT_LOOP_H

#include "cc_ops.h"

enum { CREDIT_LOOP_ONE = 1 << 20 }; /* rates and shares are fixed-point, this is 1 */

/* One sender's, at its receiver. */
struct credit_loop {
	weft_ns period_end_ns; /* of the update period */
	uint32_t rate;         /* "cur_rate", of the highest; up to 1 + aim_ratio */
	uint32_t w;            /* "w", aggressiveness */
	uint32_t sent_rate;    /* of the period before: what is heard of now was sent at it */
	uint16_t total;        /* credits heard of in this period: their data came, or they count as lost. Halved when
				  full, like the next */
	uint16_t bad;          /* of these, marked or lost */
	uint32_t next_credit;  /* number expected next, modulo 2^24 */
	uint8_t numbered;      /* next_credit means something */
	uint8_t increased;     /* the period before increased the rate */
};

/* The flow begins. */
void credit_loop_start(struct credit_loop *l, const struct schedule_tune *tune, weft_ns period_ns, weft_ns now);

/* A packet arrived. */
void credit_loop_count(struct credit_loop *l, const struct schedule_tune *tune, const struct weft_rcc_data *ev);

/* Adjusts the rate once per period, if anything was heard. `floor`: the rate never falls below, in units of
 * CREDIT_LOOP_ONE. */
void credit_loop_update(struct credit_loop *l, const struct schedule_tune *tune, weft_ns period_ns, uint32_t floor,
			weft_ns now);

#endif
