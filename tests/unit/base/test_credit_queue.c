/* SPDX-License-Identifier: BSD-3-Clause */
#include "credit_queue.h"

#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

#define NS_PER_S UINT64_C(1000000000)
#define PS_PER_S (1000 * NS_PER_S)

static struct credit_queue queue(uint32_t limit, uint32_t refresh, uint64_t interval)
{
	struct credit_queue q;

	credit_queue_init(&q, limit, refresh);
	credit_queue_set_interval(&q, interval, 0);
	return q;
}

static void assert_conserved(const struct credit_queue *q)
{
	assert_int_equal(q->injected, q->sent + q->dropped + q->waiting);
}

/* Puts `n` credits into a queue that has room for them. */
static void fill(struct credit_queue *q, uint32_t n)
{
	while (n--)
		assert_true(credit_queue_push(q));
}

/* The paper's 1538 + 84 bytes at 100 Gb/s pass in 129.76 ns. */
static void credit_queue_interval__by_hand(void **state)
{
	assert_int_equal(credit_queue_interval(1622, 100 * NS_PER_S, PS_PER_S), UINT64_C(129760) << 16);
	assert_int_equal(credit_queue_interval(1622, 100 * NS_PER_S, NS_PER_S), (UINT64_C(12976) << 16) / 100 + 1);
	assert_int_equal(credit_queue_interval(1, 8, 1), 1 << 16);
	assert_int_equal(credit_queue_interval(UINT32_MAX, 0, PS_PER_S), CREDIT_QUEUE_NEVER);
}

static void credit_queue_init__bounds(void **state)
{
	struct credit_queue q;

	credit_queue_init(&q, 0, 0);
	assert_int_equal(q.limit, 1);
	assert_int_equal(q.refresh, 1);
	credit_queue_init(&q, 70000, 70000);
	assert_int_equal(q.limit, 65535);
	assert_int_equal(q.refresh, 65535);
}

static void credit_queue_init__nothing_leaves_without_a_rate(void **state)
{
	struct credit_queue q;

	credit_queue_init(&q, 4, 4);
	fill(&q, 1);
	assert_false(credit_queue_due(&q, UINT64_MAX - 1));
	credit_queue_set_interval(&q, 100 << 16, 0);
	assert_true(credit_queue_due(&q, 0));
}

static void credit_queue_push__drops_beyond_the_bound(void **state)
{
	struct credit_queue q = queue(3, 4, 10 << 16);

	fill(&q, 3);
	assert_false(credit_queue_push(&q));
	assert_false(credit_queue_push(&q));
	assert_int_equal(q.waiting, 3);
	assert_int_equal(q.injected, 5);
	assert_int_equal(q.dropped, 2);
	credit_queue_pop(&q, 0, 0);
	assert_true(credit_queue_push(&q));
	assert_conserved(&q);
}

static void credit_queue_next__never_while_empty(void **state)
{
	struct credit_queue q = queue(3, 4, 10 << 16);

	assert_true(credit_queue_next(&q) == CREDIT_QUEUE_NEVER);
	assert_false(credit_queue_due(&q, UINT64_MAX));
	fill(&q, 1);
	assert_int_equal(credit_queue_next(&q), 0);
}

/* A queue that is always full and served the moment a credit is due: 129.76 ns apart, 2^-16 ns later at most each, so
 * that even after 50,000 credits none is off by a nanosecond. */
static void credit_queue_pop__rate_to_the_nanosecond(void **state)
{
	struct credit_queue q = queue(8, 4, credit_queue_interval(1622, 100 * NS_PER_S, NS_PER_S));

	fill(&q, 8);
	for (uint64_t i = 0; i < 50000; i++) {
		uint64_t due = credit_queue_next(&q), exact = i * 12976 / 100;
		assert_in_range(due, exact, exact + 1);
		if (due)
			assert_false(credit_queue_due(&q, due - 1));
		credit_queue_pop(&q, due, 0);
		credit_queue_push(&q);
	}
	assert_conserved(&q);
}

/* Each departure finds a full packet on the link, up to an interval long: the rate is the same. */
static void credit_queue_pop__a_busy_link_takes_nothing(void **state)
{
	struct credit_queue q = queue(8, 4, 1000 << 16);
	struct rng rng = {7};
	uint64_t now = 0;

	fill(&q, 8);
	for (uint32_t i = 0; i < 10000; i++) {
		now = credit_queue_next(&q) + rng_below(&rng, 1000);
		credit_queue_pop(&q, now, 0);
		credit_queue_push(&q);
	}
	assert_in_range(now, 9999 * 1000, 10000 * 1000);
}

/* Time without credits is not saved up but for one. */
static void credit_queue_pop__two_together_after_idleness(void **state)
{
	struct credit_queue q = queue(8, 4, 1000 << 16);

	fill(&q, 4);
	credit_queue_pop(&q, 50000, 0);
	assert_true(credit_queue_due(&q, 50000));
	credit_queue_pop(&q, 50000, 0);
	assert_int_equal(credit_queue_next(&q), 51000);
	credit_queue_pop(&q, 51000, 0);
	assert_int_equal(credit_queue_next(&q), 52000);
}

static void credit_queue_set_interval__follows_at_once(void **state)
{
	struct credit_queue q = queue(8, 4, UINT64_C(100000) << 16);

	fill(&q, 3);
	credit_queue_pop(&q, 0, 0);
	assert_int_equal(credit_queue_next(&q), 100000);
	credit_queue_set_interval(&q, 10 << 16, 500);
	assert_int_equal(credit_queue_next(&q), 510);
	credit_queue_pop(&q, 510, 0);
	assert_int_equal(credit_queue_next(&q), 520);
	credit_queue_set_interval(&q, 1000 << 16, 510);
	assert_int_equal(credit_queue_next(&q), 520);
}

static void credit_queue_clear__counts_and_keeps_the_mark(void **state)
{
	struct credit_queue q = queue(1, 1, 10 << 16);

	fill(&q, 1);
	credit_queue_push(&q);
	credit_queue_clear(&q);
	assert_int_equal(q.waiting, 0);
	assert_int_equal(q.dropped, 2);
	assert_int_equal(q.last_drops, 1);
	assert_conserved(&q);
}

/* One bounded queue gets credits twice as fast as it lets go, in rounds of four: half are dropped, P_d is 1/2, and half
 * of those that leave are marked. */
static void credit_queue_pop__marks_with_the_share_of_losses(void **state)
{
	struct credit_queue q = queue(8, 4, 1000 << 16);
	struct rng rng = {1};

	for (uint64_t now = 0; now < 100000000; now += 500) {
		if (credit_queue_due(&q, now))
			credit_queue_pop(&q, now, rng_next(&rng) >> 32);
		credit_queue_push(&q);
	}
	assert_conserved(&q);
	assert_in_range(q.dropped, 99980, 100020);
	assert_in_range(q.marked * 1000 / q.sent, 490, 510);
}

/* `pattern`: what becomes of five credits in turn, '1': it passes. *sum and *passed: what P_d is when they come, in
 * 2^-16, added up over the credits from `first` on that pass; and their number. */
static void run_case(const char *pattern, uint32_t refresh, uint32_t first, uint32_t *sum, uint32_t *passed)
{
	struct credit_queue q = queue(1, refresh, 0);

	*sum = *passed = 0;
	for (uint32_t i = 0; pattern[i]; i++) {
		uint32_t p_d = ((uint32_t)q.last_drops << 16) / refresh;
		bool passes = pattern[i] == '1';
		q.waiting = !passes; /* as if the link had been idle, or busy */
		q.injected = q.sent + q.dropped + q.waiting;
		assert_int_equal(credit_queue_push(&q), passes);
		if (passes && i + 1 >= first) {
			*sum += p_d;
			++*passed;
		}
	}
}

/* Cases of table I in which the marks show the loss rate of 1/2. */
static uint32_t good_cases(uint32_t refresh, uint32_t first)
{
	static const char cases[] = "11000 11001 10100 10101 10010 10011 01100 01101 01010 01011 00110 00111 ";
	uint32_t good = 0, sum, passed;

	for (const char *c = cases; *c; c += 6) {
		char pattern[6] = "";
		memcpy(pattern, c, 5);
		run_case(pattern, refresh, first, &sum, &passed);
		good += passed && sum == passed << 15;
	}
	return good;
}

/* Table I: of all ways to lose two of four credits before a fifth, a third is told of truly when each credit answers
 * for the one before it. Two thirds when each pair answers for the pair before it, as sec. III-B-1 says of N_cdt = 2.
 */
static void credit_queue_push__table_1(void **state)
{
	assert_int_equal(good_cases(1, 2), 4);
	assert_int_equal(good_cases(2, 3), 8);
}

static void credit_queue_set_back__all_times_are_less(void **state)
{
	struct credit_queue q, fresh;

	credit_queue_init(&fresh, 4, 4);
	q = fresh;
	credit_queue_set_back(&q, 1000);
	assert_memory_equal(&q, &fresh, sizeof q); /* it has no rate yet */
	credit_queue_set_interval(&q, 100 << CREDIT_QUEUE_SHIFT, 0);
	credit_queue_push(&q);
	credit_queue_push(&q);
	credit_queue_pop(&q, 5000, 0);
	uint64_t next = credit_queue_next(&q);
	credit_queue_set_back(&q, 3000);
	assert_int_equal(credit_queue_next(&q), next - 3000);
	credit_queue_set_back(&q, 9000);
	assert_int_equal(credit_queue_next(&q), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credit_queue_interval__by_hand),
		cmocka_unit_test(credit_queue_init__bounds),
		cmocka_unit_test(credit_queue_init__nothing_leaves_without_a_rate),
		cmocka_unit_test(credit_queue_push__drops_beyond_the_bound),
		cmocka_unit_test(credit_queue_next__never_while_empty),
		cmocka_unit_test(credit_queue_pop__rate_to_the_nanosecond),
		cmocka_unit_test(credit_queue_pop__a_busy_link_takes_nothing),
		cmocka_unit_test(credit_queue_pop__two_together_after_idleness),
		cmocka_unit_test(credit_queue_set_interval__follows_at_once),
		cmocka_unit_test(credit_queue_clear__counts_and_keeps_the_mark),
		cmocka_unit_test(credit_queue_pop__marks_with_the_share_of_losses),
		cmocka_unit_test(credit_queue_push__table_1),
		cmocka_unit_test(credit_queue_set_back__all_times_are_less),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
