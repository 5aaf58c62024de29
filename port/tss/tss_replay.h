/* SPDX-License-Identifier: BSD-3-Clause */
/* Which numbers of a sender have come (RFC 6479): a window behind the newest, in words that are reused in turn. */
#ifndef TSS_REPLAY_H
#define TSS_REPLAY_H

#include <stdint.h>

enum { TSS_REPLAY_WORDS = 512 };

/* All zero: nothing has come. */
struct tss_replay {
	uint64_t newest; /* number */
	uint64_t words[TSS_REPLAY_WORDS];
};

enum tss_fresh {
	TSS_FRESH,
	TSS_SEEN, /* it has come before */
	TSS_LATE, /* it is too old to tell */
};

/* Notes that an authentic packet of this number has come. */
enum tss_fresh tss_replay_take(struct tss_replay *r, uint64_t number);

#endif
