/* SPDX-License-Identifier: BSD-3-Clause */
/* ExpressPass (Cho et al., SIGCOMM 2017): every connection's credits on one path, losses by their numbers. */
#include "schedule.h"

static const struct weft_param tunes[] = {
	SCHEDULE_TUNES(SCHEDULE_SEQUENCE),
	{0},
};

const struct weft_rcc_ops weft_rcc_expresspass = {
	.name = "expresspass",
	.help = "ExpressPass: one credit per data packet, all credits of a connection on one path (needs credit "
		"queues)",
	.tunes = tunes,
	SCHEDULE_OPS,
};
