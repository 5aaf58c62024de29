/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of PRIME as published ("prime", "co-prime") and of our variant of it ("prime2").
 * doc/reference/algorithms.md says where each comes from. */
#include "lb_ops.h"

#define TUNE(name, type, field, help, def, min, max)                                                                   \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct prime_tune, field), WEFT_PARAM_##type                      \
	}
#define PART(i)                                                                                                        \
	TUNE(prime_part##i, U32, part[i], "values of part " #i " of an entropy; all parts 0: the fabric's uplinks", 0, \
	     0, 2048)

#define TUNES                                                                                                          \
	PART(0), PART(1), PART(2),                                                                                     \
		TUNE(prime_classes, U32, classes,                                                                      \
		     "entropies in use where switches hash them instead of reading digits", PRIME_CLASSES, 1, 2048),   \
		TUNE(prime_recycle, BOOL, recycle,                                                                     \
		     "where switches hash, an entropy whose ACK came back unmarked is used again first", 1, 0, 1),     \
		TUNE(prime_ce_pct, U32, ce_pct,                                                                        \
		     "packets for which a marked path is not used, % of a BDP, and its next turn", 5, 0, 10000),       \
		TUNE(prime_nack_pct, U32, nack_pct,                                                                    \
		     "packets for which a path is not used after a trimmed or lost packet, % of a BDP, and its "       \
		     "next turn",                                                                                      \
		     100, 0, 10000),                                                                                   \
		TUNE(prime_failed_ns, U64, failed_ns,                                                                  \
		     "time for which a failed path is not used after its last timeout, ns", 20000000, 0,               \
		     1000000000000)

const struct weft_param prime_tunes[] = {TUNES, {NULL}};
const struct weft_param prime2_tunes[] = {
	TUNES,
	TUNE(prime_rest_pct, U32, rest_pct,
	     "no path is passed over for congestion while it would be more than this share of them, %", 50, 0, 100),
	TUNE(prime_in_turn, BOOL, in_turn,
	     "where switches read digits, paths in an order that depends on the host's address and stays; "
	     "off: at random in every round",
	     1, 0, 1),
	{NULL},
};
