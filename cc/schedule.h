/* SPDX-License-Identifier: BSD-3-Clause */
/* What SprayPass and ExpressPass share: all but names and defaults. Both fill struct weft_rcc_ops with these. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "credit_loop.h"

/* Parameters both have. `feedback` and the first three are the algorithms' defaults. */
#define SCHEDULE_TUNE(field, help, def, min, max, type)                                                                \
	{                                                                                                              \
#field, help, def, min, max, offsetof(struct schedule_tune, field), type                               \
	}
#define SCHEDULE_TUNE32(field, help, def, min, max) SCHEDULE_TUNE(field, help, def, min, max, WEFT_PARAM_U32)
#define SCHEDULE_TUNEON(field, help, def)           SCHEDULE_TUNE(field, help, def, 0, 1, WEFT_PARAM_BOOL)

#define SCHEDULE_TUNES(feedback_def)                                                                                   \
	SCHEDULE_TUNE32(w_init_permille, "first aggressiveness and first rate (w_init), permille", 63, 1, 1000),       \
		SCHEDULE_TUNE32(w_max_permille, "largest aggressiveness (w_max), permille", 500, 1, 1000),             \
		SCHEDULE_TUNE32(w_min_permille, "smallest aggressiveness (w_min), permille", 10, 1, 1000),             \
		SCHEDULE_TUNE32(aim_permille,                                                                          \
				"share of lost credits that is tolerated (aim_ratio), permille; see aim_scaled", 450,  \
				1, 1000),                                                                              \
		SCHEDULE_TUNEON(aim_scaled, "aim_permille is of a rate of 0, and falls to none at the highest", 1),    \
		SCHEDULE_TUNE32(feedback, "share of lost credits: 0 by ECN marks, 1 by gaps in their numbers",         \
				feedback_def, SCHEDULE_ECN, SCHEDULE_SEQUENCE),                                        \
		SCHEDULE_TUNE32(linger_pct,                                                                            \
				"a sender without data keeps credits this long before it sends a stop, percent of "    \
				"the base RTT",                                                                        \
				10, 0, 10000),                                                                         \
		SCHEDULE_TUNE32(jitter_pct, "time between credits varies by up to this, either way, percent", 20, 0,   \
				99),                                                                                   \
		SCHEDULE_TUNE32(nic_credits, "credits that may wait in the host; more are dropped", 8, 1, 64),         \
		SCHEDULE_TUNE32(first_pct, "what an idle sender may send with unscheduled=on, percent of the BDP",     \
				100, 0, 1000),                                                                         \
		SCHEDULE_TUNEON(                                                                                       \
			sent_base,                                                                                     \
			"a share of losses is taken off the rate a period ago, at which they were sent, not off "      \
			"the present one",                                                                             \
			1),                                                                                            \
		SCHEDULE_TUNEON(unscheduled, "idle senders send at once, at low priority", 0),                         \
		SCHEDULE_TUNEON(strict, "refuse to work in a fabric that does not limit credits", 0)

extern const char schedule_sender[], schedule_sender_set[];

void schedule_limits(const struct weft_cc_params *params, struct weft_rcc_limits *limits);
void schedule_init(struct weft_rcc *rcc, weft_ns now);
void schedule_on_demand(struct weft_rcc *rcc, uint32_t bytes, weft_ns now);
void schedule_on_stop(struct weft_rcc *rcc, weft_ns now);
void schedule_on_data(struct weft_rcc *rcc, const struct weft_rcc_data *ev, weft_ns now);
void schedule_next(struct weft_rcc *rcc, uint64_t draw, struct weft_rcc_credit *credit, weft_ns now);
void schedule_view(const struct weft_rcc *rcc, struct weft_rcc_view *view);
size_t schedule_more_bytes(const struct weft_cc_params *params);

#define SCHEDULE_OPS                                                                                                   \
	.sender = schedule_sender, .sender_set = schedule_sender_set, .tune_size = sizeof(struct schedule_tune),       \
	.state_size = sizeof(struct credit_loop), .limits = schedule_limits, .init = schedule_init,                    \
	.on_demand = schedule_on_demand, .on_data = schedule_on_data, .schedule = schedule_next,                       \
	.on_stop = schedule_on_stop, .view = schedule_view, .more_bytes = schedule_more_bytes

#endif
