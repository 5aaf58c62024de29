/* SPDX-License-Identifier: BSD-3-Clause */
#include "sharers.h"

#include <string.h>

#include "wire_share.h"

void sharers_set_link(struct sharers *s, uint64_t link_bps)
{
	uint64_t bytes = link_bps / 8000 * s->period_ns / 1000000 * SHARERS_FULL_PCT / 100;
	s->link_bps = link_bps;
	s->full_bytes = bytes ? bytes : 1;
}

void sharers_init(struct sharers *s, uint64_t link_bps, weft_ns period_ns)
{
	assert(period_ns > 0);
	*s = (struct sharers){.period_ns = period_ns, .part_q8 = 256};
	sharers_set_link(s, link_bps);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* A connection with one short message behind the other is with and without messages in turn: it counts once. */
static uint32_t number_of(const struct sharers *s)
{
	uint32_t ending = larger(s->ending, s->ending_before);
	return larger(s->with_msgs, ending) + larger(s->answering, s->answering_before) +
	       larger(s->strangers, s->strangers_before);
}

/* What the share would have to be so that as many fill a link of which they fill a part. */
static uint64_t filling_bps(const struct sharers *s, uint32_t number)
{
	uint64_t part_q8 = (uint64_t)number * s->fill_q8;
	return part_q8 > 256 ? s->link_bps / part_q8 * 256 : s->link_bps;
}

void sharers_tell(struct sharers *s)
{
	uint32_t number = number_of(s);
	s->told_msgs = s->with_msgs;
	if (!s->link_bps || (s->is_full && number < 2))
		s->told = (struct link_share){WIRE_SHARE_NONE, false};
	else if (s->is_full)
		s->told = (struct link_share){wire_share_code(s->link_bps / 256 * s->part_q8 / number), false};
	else
		s->told = (struct link_share){wire_share_code(filling_bps(s, number)), true};
}

static void adjust_part(struct sharers *s)
{
	if (s->has_overrun)
		s->part_q8 -= s->part_q8 > SHARERS_PART_MIN_Q8 ? SHARERS_PART_DOWN : 0;
	else
		s->part_q8 += s->part_q8 < 256 ? SHARERS_PART_UP : 0;
	s->has_overrun = false;
}

static void round_turn(struct sharers *s)
{
	if (++s->round_periods < SHARERS_ROUND_PERIODS)
		return;
	s->round_periods = 0;
	s->round++;
	s->answering_before = s->answering;
	s->ending_before = s->ending;
	s->answering = s->ending = 0;
}

void sharers_turn(struct sharers *s, weft_ns at)
{
	weft_ns lasted_ns = at - s->until_ns + s->period_ns;
	uint64_t fill_q8 = lasted_ns < 2 * s->period_ns ? 256 * s->bytes / s->full_bytes * s->period_ns / lasted_ns : 0;
	s->fill_q8 = fill_q8 < 256 ? (uint32_t)fill_q8 : 256;
	s->is_full = s->fill_q8 == 256;
	s->until_ns = at + s->period_ns;
	s->bytes = 0;
	adjust_part(s);
	s->strangers_before = s->strangers;
	s->strangers = 0;
	memset(s->stranger_bits, 0, sizeof s->stranger_bits);
	round_turn(s);
	sharers_tell(s);
}

void sharers_last(struct sharers *s, struct sharer *of, enum sharers_pkt what)
{
	assert(what != SHARERS_MORE);
	if (of->round != s->round)
		*of = (struct sharer){.round = s->round};
	if (of->pkts == SHARERS_LAST_PKTS)
		return;
	if (++of->pkts < SHARERS_LAST_PKTS)
		return;
	if (what == SHARERS_ANSWER)
		s->answering++;
	else
		s->ending++;
	sharers_tell(s);
}

void sharers_overrun(struct sharers *s, bool stranger, uint32_t hash)
{
	uint32_t word = hash / 64 % SHARERS_STRANGER_WORDS;
	uint64_t bit = UINT64_C(1) << hash % 64;
	bool is_new = stranger && !(s->stranger_bits[word] & bit);
	s->has_overrun = true;
	if (s->is_full && !is_new)
		return;
	s->is_full = true;
	s->strangers += is_new;
	s->stranger_bits[word] |= is_new ? bit : 0;
	sharers_tell(s);
}
