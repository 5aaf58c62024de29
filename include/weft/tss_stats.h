/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of encryption (weft/tss.h). One list makes the struct, the names and the help. */
#ifndef WEFT_TSS_STATS_H
#define WEFT_TSS_STATS_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/stats.h"

WEFT_BEGIN_DECLS

/* Names differ from those of WEFT_COUNTERS and WEFT_PORT_COUNTERS, so that all fit one table. Every packet that the
 * port below received is counted in exactly one row from tss_opened to tss_no_room. */
#define WEFT_TSS_COUNTERS(X)                                                                                           \
	X(tss_sealed, "packets encrypted and given to the port below")                                                 \
	X(tss_opened, "packets that were authentic and fresh, given to the engine")                                    \
	X(tss_trimmed, "trimmed packets given to the engine as hints; nobody vouches for them")                        \
	X(tss_trimmed_refused, "dropped: trimmed packets of nobody known, or that ask for more than a repetition")     \
	X(tss_bad_tag, "dropped: damaged, forged, or sealed with another key of the same id")                          \
	X(tss_replayed, "dropped: authentic packets that had come before")                                             \
	X(tss_late, "dropped: authentic packets from before the replay window")                                        \
	X(tss_clear, "dropped: packets that are not encrypted")                                                        \
	X(tss_unknown_key, "dropped: packets of a key id that is not in the key file")                                 \
	X(tss_malformed, "dropped: lengths, checksums or headers that no sender of TSS writes")                        \
	X(tss_no_room, "dropped: authentic packets of more sources than there is room for, or no memory")              \
	X(tss_tx_held, "packets that the port below did not take at once")                                             \
	X(tss_tx_dropped, "dropped: packets too large for the port below once sealed, or the counter is used up")      \
	X(tss_tx_no_key, "attempts to send put off: no memory for the key")                                            \
	X(tss_key_changes, "times other keys were taken")

/* Since the port was opened; they never fall. */
struct weft_tss_stats {
#define WEFT_COUNTER_FIELD(name, help) uint64_t name;
	WEFT_TSS_COUNTERS(WEFT_COUNTER_FIELD)
#undef WEFT_COUNTER_FIELD
};

enum { WEFT_TSS_COUNTER_COUNT = sizeof(struct weft_tss_stats) / sizeof(uint64_t) };

/* In struct order; WEFT_TSS_COUNTER_COUNT entries, whose offsets are those in struct weft_tss_stats. */
extern const struct weft_counter_desc weft_tss_counter_descs[];

/* The counter that weft_tss_counter_descs[i] describes; `i` is below WEFT_TSS_COUNTER_COUNT. */
uint64_t weft_tss_stats_value(const struct weft_tss_stats *stats, int i);

WEFT_END_DECLS

#endif
