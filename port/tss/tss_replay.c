/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_replay.h"

#include <assert.h>
#include <string.h>

#include "weft/tss.h"

enum { WORD_BITS = 64 };

_Static_assert(WEFT_TSS_REPLAY_WINDOW == (TSS_REPLAY_WORDS - 1) * WORD_BITS, "the newest word is partly ahead");

/* The words between that of `newest` and that of `number` stand for numbers ahead from now on. */
static void advance(struct tss_replay *r, uint64_t number)
{
	uint64_t from = r->newest / WORD_BITS, to = number / WORD_BITS;

	assert(number > r->newest);
	if (to - from >= TSS_REPLAY_WORDS)
		memset(r->words, 0, sizeof r->words);
	else
		for (uint64_t i = from + 1; i <= to; i++)
			r->words[i % TSS_REPLAY_WORDS] = 0;
	r->newest = number;
}

enum tss_fresh tss_replay_take(struct tss_replay *r, uint64_t number)
{
	uint64_t *word = &r->words[number / WORD_BITS % TSS_REPLAY_WORDS];
	uint64_t bit = UINT64_C(1) << number % WORD_BITS;

	if (number > r->newest)
		advance(r, number);
	else if (r->newest - number >= WEFT_TSS_REPLAY_WINDOW)
		return TSS_LATE;
	if (*word & bit)
		return TSS_SEEN;
	*word |= bit;
	return TSS_FRESH;
}
