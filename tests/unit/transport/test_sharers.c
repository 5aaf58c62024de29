/* SPDX-License-Identifier: BSD-3-Clause */
/* What a target says of its link. */
#include "cmocka_all.h"

#include "sharers.h"
#include "wire_share.h"

enum { PERIOD = 12000, PKT = 4200, FULL_PKTS = 36 }; /* 100 Gb/s x 12 us are 35.7 packets */

#define LINK UINT64_C(100000000000)

struct link {
	struct sharers s;
	weft_ns now;
};

static void start(struct link *l, uint64_t bps)
{
	*l = (struct link){.now = WEFT_MS(1)};
	sharers_init(&l->s, bps, PERIOD);
	sharers_turn(&l->s, l->now);
}

/* A period in which so many packets arrive, all of connections with messages. */
static void period(struct link *l, unsigned pkts)
{
	static struct sharer none;
	for (unsigned i = 0; i < pkts; i++)
		sharers_add(&l->s, &none, PKT, SHARERS_MORE, l->now + i);
	l->now += PERIOD;
	sharers_turn(&l->s, l->now);
}

static void assert_told(struct link *l, uint64_t bps, bool has_room)
{
	struct link_share told = sharers_say(&l->s);
	assert_int_equal(wire_share_bps(told.code), bps ? wire_share_bps(wire_share_code(bps)) : 0);
	assert_int_equal(told.has_room, has_room);
}

static void full__an_equal_part_for_each(void **state)
{
	struct link l;
	start(&l, LINK);
	period(&l, FULL_PKTS);
	assert_told(&l, 0, false); /* nobody sends a message */
	sharers_join(&l.s);
	assert_told(&l, 0, false); /* alone */
	for (uint32_t n = 2; n < 100; n++) {
		sharers_join(&l.s);
		assert_told(&l, LINK / n, false);
	}
	sharers_leave(&l.s);
	assert_told(&l, LINK / 98, false); /* at once, not at the end of a period */
}

/* Four connections fill half of the link: with twice the rate each they would fill it. */
static void room__the_share_that_would_fill_the_link(void **state)
{
	struct link l;
	start(&l, LINK);
	for (int i = 0; i < 4; i++)
		sharers_join(&l.s);
	period(&l, FULL_PKTS * SHARERS_FULL_PCT / 200);
	assert_in_range(wire_share_bps(sharers_say(&l.s).code), LINK * 45 / 100, LINK * 55 / 100);
	assert_true(sharers_say(&l.s).has_room);
	period(&l, 1);
	assert_told(&l, LINK, true);
	period(&l, FULL_PKTS);
	assert_told(&l, LINK / 4, false);
}

static void rest__is_room(void **state)
{
	struct link l;
	start(&l, LINK);
	sharers_join(&l.s);
	sharers_join(&l.s);
	period(&l, FULL_PKTS);
	assert_told(&l, LINK / 2, false);
	l.now += WEFT_MS(3);
	sharers_turn(&l.s, l.now);
	assert_told(&l, LINK, true);
}

static void unknown_rate__nothing_is_told(void **state)
{
	struct link l;
	start(&l, 0);
	sharers_join(&l.s);
	sharers_join(&l.s);
	period(&l, FULL_PKTS);
	sharers_overrun(&l.s, false, 0);
	assert_told(&l, 0, false);
}

/* A connection of which only trimmed packets have come counts once, as long as they do. */
static void overrun__strangers_count(void **state)
{
	struct link l;
	start(&l, LINK);
	sharers_join(&l.s);
	for (int again = 0; again < 3; again++)
		for (uint32_t i = 0; i < 3; i++)
			sharers_overrun(&l.s, true, i * 77);
	sharers_overrun(&l.s, false, 1000);
	assert_told(&l, LINK / 4, false);
	period(&l, FULL_PKTS);
	assert_told(&l, LINK / 256 * (256 - SHARERS_PART_DOWN) / 4, false);
	period(&l, FULL_PKTS);
	assert_told(&l, 0, false);
}

/* All shares shrink while packets are trimmed, down to a limit, and grow again when none are. */
static void overrun__shares_shrink_for_a_while(void **state)
{
	struct link l;
	start(&l, LINK);
	sharers_join(&l.s);
	sharers_join(&l.s);
	for (uint32_t periods = 1; periods < 100; periods++) {
		sharers_overrun(&l.s, false, 0);
		period(&l, FULL_PKTS);
		uint32_t part_q8 = 256 - periods * SHARERS_PART_DOWN;
		part_q8 = periods < 24 ? part_q8 : SHARERS_PART_MIN_Q8;
		assert_told(&l, LINK / 256 * part_q8 / 2, false);
	}
	for (int i = 0; i < 256 - SHARERS_PART_MIN_Q8; i++) {
		assert_true(wire_share_bps(sharers_say(&l.s).code) < LINK / 2);
		period(&l, FULL_PKTS);
	}
	assert_told(&l, LINK / 2, false);
}

/* Who brings answers counts from the second packet on, and until a round has passed without any. */
static void answers__count_while_they_come(void **state)
{
	struct sharer one = {0}, two = {0};
	struct link l;
	start(&l, LINK);
	sharers_join(&l.s);
	period(&l, FULL_PKTS);
	sharers_add(&l.s, &one, PKT, SHARERS_ANSWER, l.now);
	assert_told(&l, 0, false);
	for (int i = 0; i < 5; i++) {
		sharers_add(&l.s, &one, PKT, SHARERS_ANSWER, l.now);
		sharers_add(&l.s, &two, PKT, SHARERS_ANSWER, l.now);
	}
	assert_told(&l, LINK / 3, false);
	for (int i = 0; i < SHARERS_ROUND_PERIODS; i++)
		period(&l, FULL_PKTS);
	assert_told(&l, LINK / 3, false);
	for (int i = 0; i < SHARERS_ROUND_PERIODS; i++)
		period(&l, FULL_PKTS);
	assert_told(&l, 0, false);
}

/* Short messages one behind the other: more is expected of their connection, or not, but it is one. */
static void short_messages__their_connection_counts_once(void **state)
{
	struct sharer one = {0}, two = {0};
	struct link l;
	start(&l, LINK);
	period(&l, FULL_PKTS);
	for (int i = 0; i < 20; i++) {
		sharers_join(&l.s);
		assert_told(&l, 0, false);
		sharers_leave(&l.s);
		sharers_add(&l.s, &one, PKT, SHARERS_END, l.now);
		assert_told(&l, 0, false);
		if (i % 5 == 4)
			period(&l, FULL_PKTS);
	}
	for (int i = 0; i < 2; i++)
		sharers_add(&l.s, &two, PKT, SHARERS_END, l.now);
	for (int i = 0; i < 2; i++)
		sharers_add(&l.s, &one, PKT, SHARERS_END, l.now);
	assert_told(&l, LINK / 2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full__an_equal_part_for_each),
		cmocka_unit_test(room__the_share_that_would_fill_the_link),
		cmocka_unit_test(rest__is_room),
		cmocka_unit_test(unknown_rate__nothing_is_told),
		cmocka_unit_test(overrun__strangers_count),
		cmocka_unit_test(overrun__shares_shrink_for_a_while),
		cmocka_unit_test(answers__count_while_they_come),
		cmocka_unit_test(short_messages__their_connection_counts_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
