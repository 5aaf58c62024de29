/* SPDX-License-Identifier: BSD-3-Clause */
/* SprayPass (Huang et al.): credits sprayed over all paths, marked instead of numbered. Its ablations (table II):
 * SprayPass-1 is feedback=1 uniform=off probing=off, SprayPass-2 is uniform=off probing=off. */
#include "schedule.h"

static const struct weft_param tunes[] = {
	SCHEDULE_TUNES(SCHEDULE_ECN),
	SCHEDULE_TUNE32(paths, "path ids, so UDP source ports, that credits are sprayed over", 64, 1, 4096),
	SCHEDULE_TUNE32(board_bits, "data between two looks at the speed board (N_b), bits; more with board_pkts",
			600000, 1000, 1000000000),
	SCHEDULE_TUNE32(board_pkts,
			"data between two looks, packets per path in use: fewer would not tell slow from unlucky", 8, 0,
			1000),
	SCHEDULE_TUNE32(theta_permille, "paths slower than this share of the fastest are excluded (theta), permille",
			100, 0, 999),
	SCHEDULE_TUNE32(reprobe_us, "an excluded path is tried again after this, us; doubles up to 64 times", 5000, 1,
			10000000),
	SCHEDULE_TUNEON(uniform, "path ids are drawn without replacement, round by round", 1),
	SCHEDULE_TUNEON(probing, "paths on which data arrives slowly are excluded", 1),
	{0},
};

const struct weft_rcc_ops weft_rcc_spraypass = {
	.name = "spraypass",
	.help = "SprayPass: one credit per data packet, credits sprayed over all paths (needs credit queues)",
	.tunes = tunes,
	SCHEDULE_OPS,
};
