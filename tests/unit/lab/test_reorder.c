/* SPDX-License-Identifier: BSD-3-Clause */
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

enum { PACKETS = 200 };

struct fixture {
	struct reorder order;
	struct reorder_counts counts;
	struct reorder_sum sum;
	uint32_t packets;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	*state = f;
	f->packets = 10;
	return f ? 0 : -1;
}

static int teardown(void **state)
{
	reorder_free(&((struct fixture *)*state)->order);
	free(*state);
	return 0;
}

static void arrive(struct fixture *f, uint32_t index, bool retransmitted)
{
	if (!reorder_take_next(&f->order, index, &f->sum))
		assert_true(reorder_take(&f->order, f->packets, index, retransmitted, &f->counts, &f->sum));
}

static void arrive_all(struct fixture *f, const uint32_t *indices, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		arrive(f, indices[i], false);
}

static void assert_counts(const struct fixture *f, uint32_t reordered, uint32_t dup_acks, uint32_t reorder_dup_acks,
			  uint32_t ooo_max)
{
	assert_int_equal(f->counts.reordered, reordered);
	assert_int_equal(f->counts.dup_acks, dup_acks);
	assert_int_equal(f->counts.reorder_dup_acks, reorder_dup_acks);
	assert_int_equal(f->counts.ooo_max, ooo_max);
}

static void take__nothing_in_order(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 10; i++)
		arrive(f, i, false);
	assert_counts(f, 0, 0, 0, 0);
	assert_int_equal(f->sum.packets, 10);
	assert_int_equal(f->sum.beyond, 0);
	assert_int_equal(reorder_percentile(&f->sum, 1), 0);
}

/* A late packet behind three others: the third duplicate ACK. */
static void take__one_late(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 2, 3, 4, 1, 5, 6, 7, 8, 9}, 10);
	assert_counts(f, 1, 3, 3, 3);
	assert_int_equal(f->sum.beyond, 3);
	assert_int_equal(f->sum.extents[3], 1);
	assert_int_equal(f->sum.extent_max, 3);
	assert_null(f->order.hole);
}

/* The cumulative acknowledgement moves to the second gap, so no ACK is a third duplicate. */
static void take__every_gap_counts_anew(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 2, 4, 1, 5, 6, 3, 7, 8, 9}, 10);
	assert_counts(f, 2, 2, 2, 3);
	assert_int_equal(f->sum.beyond, 4);
}

static void take__filling_inside_is_a_duplicate_ack(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 4, 3, 2, 1}, 5);
	assert_counts(f, 3, 3, 3, 3);
	assert_int_equal(f->order.next, 5);
}

static void take__a_retransmission_was_lost_not_late(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 2, 3, 4, 5}, 5);
	arrive(f, 1, true);
	assert_counts(f, 0, 4, 0, 4);
	arrive_all(f, (uint32_t[]){7, 6, 8, 9}, 4);
	assert_counts(f, 1, 4, 1, 4);
	assert_int_equal(f->sum.packets, 10);
}

static void take__ignores_what_was_there(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 2, 2, 0, 10, 12}, 6);
	assert_int_equal(f->sum.packets, 2);
	assert_int_equal(f->order.waiting, 1);
}

/* Of 0 2 3 1 4 6 5, one packet waits after 2, two after 3, none after 1 and 4, one after 6. */
static void take__counts_what_waits_at_each_arrival(void **state)
{
	struct fixture *f = *state;
	arrive_all(f, (uint32_t[]){0, 2, 3, 1, 4, 6, 5}, 7);
	assert_int_equal(f->sum.waiting, 3);
	assert_int_equal(f->sum.waits[1], 2);
	assert_int_equal(f->sum.waits[2], 1);
	assert_int_equal(f->sum.wait_max, 2);
	assert_int_equal(reorder_wait_percentile(&f->sum, 4.0 / 7), 0);
	assert_int_equal(reorder_wait_percentile(&f->sum, 0.6), 1);
	assert_int_equal(reorder_wait_percentile(&f->sum, 1), 2);
}

static void percentile__over_all_packets(void **state)
{
	struct reorder_sum sum = {.packets = 100, .reordered = 10, .extent_max = 5000};
	sum.extents[1] = 8;
	sum.extents[7] = 1;
	sum.extents[REORDER_EXTENTS - 1] = 1;
	assert_int_equal(reorder_percentile(&sum, 0.90), 0);
	assert_int_equal(reorder_percentile(&sum, 0.91), 1);
	assert_int_equal(reorder_percentile(&sum, 0.98), 1);
	assert_int_equal(reorder_percentile(&sum, 0.99), 7);
	assert_int_equal(reorder_percentile(&sum, 1), 5000);
	assert_int_equal(reorder_percentile(&(struct reorder_sum){0}, 0.99), 0);
}

/* The definitions, word by word, over a list of arrivals. Of the sums, the extents. */
static struct reorder_counts by_definition(const uint32_t *order, uint32_t n, struct reorder_sum *sum)
{
	struct reorder_counts c = {0};
	bool there[PACKETS + 1] = {false};
	uint32_t next = 0, waited = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t waiting = 0, first = 0; /* packets that were sent later and came first */
		for (uint32_t j = order[i] + 1; j < n; j++)
			first += there[j];
		c.reordered += first > 0;
		sum->extents[first] += first > 0;
		sum->extent_max = first > sum->extent_max ? first : sum->extent_max;
		there[order[i]] = true;
		waited = order[i] == next ? 0 : waited + 1;
		while (there[next])
			next++;
		for (uint32_t j = next; j < n; j++)
			waiting += there[j];
		c.dup_acks = waited > c.dup_acks ? waited : c.dup_acks;
		c.ooo_max = waiting > c.ooo_max ? waiting : c.ooo_max;
	}
	c.reorder_dup_acks = c.dup_acks;
	return c;
}

static void take__like_the_definition(void **state)
{
	struct rng rng = {.state = 7};
	for (uint32_t round = 0; round < 300; round++) {
		struct fixture f = {.packets = 1 + (uint32_t)(rng_next(&rng) % PACKETS)};
		uint32_t order[PACKETS], reach = 1 + round % 40;
		for (uint32_t i = 0; i < f.packets; i++)
			order[i] = i;
		for (uint32_t i = 0; i < f.packets; i++) {
			uint32_t j = i + (uint32_t)(rng_next(&rng) % reach), kept = order[i];
			j = j < f.packets ? j : f.packets - 1;
			order[i] = order[j];
			order[j] = kept;
		}
		arrive_all(&f, order, f.packets);
		struct reorder_sum sum = {0};
		struct reorder_counts c = by_definition(order, f.packets, &sum);
		assert_memory_equal(&f.counts, &c, sizeof c);
		assert_int_equal(f.sum.packets, f.packets);
		assert_int_equal(f.sum.reordered, c.reordered);
		assert_int_equal(f.sum.extent_max, sum.extent_max);
		assert_memory_equal(f.sum.extents, sum.extents, sizeof sum.extents);
		assert_null(f.order.hole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(take__nothing_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(take__one_late, setup, teardown),
		cmocka_unit_test_setup_teardown(take__every_gap_counts_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(take__filling_inside_is_a_duplicate_ack, setup, teardown),
		cmocka_unit_test_setup_teardown(take__a_retransmission_was_lost_not_late, setup, teardown),
		cmocka_unit_test_setup_teardown(take__ignores_what_was_there, setup, teardown),
		cmocka_unit_test_setup_teardown(take__counts_what_waits_at_each_arrival, setup, teardown),
		cmocka_unit_test(percentile__over_all_packets),
		cmocka_unit_test(take__like_the_definition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
