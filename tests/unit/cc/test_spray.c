/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "rng.h"
#include "spray.h"

enum { PATHS = 8, MTU = 4000, RTT_NS = 20000, BOARD_PKTS = 8 };

/* A spray over eight paths, some of which answer and some of which don't. */
struct bench {
	struct schedule_tune tune;
	union {
		struct spray spray;
		uint8_t bytes[512];
	};
	struct rng rng;
	weft_ns now;
	bool dead[PATHS];
	uint32_t slow_ns[PATHS]; /* beyond the usual round trip */
	uint32_t turn_ns[PATHS]; /* of a packet on the path's slowest link ... */
	weft_ns free_ns[PATHS];  /* ... which is busy until then */
	uint32_t sent[PATHS];
};

static void open_bench(struct bench *b)
{
	*b = (struct bench){.tune = {.paths = PATHS,
				     .board_bits = 1000,
				     .board_pkts = 8,
				     .theta_permille = 100,
				     .reprobe_us = 1000,
				     .uniform = 1,
				     .probing = 1},
			    .rng = {3},
			    .now = WEFT_MS(1)};
	assert_true(spray_bytes(&b->tune) <= sizeof b->bytes);
	spray_init(&b->spray, &b->tune);
	b->spray.rtt_ns = RTT_NS;
}

static uint32_t credit(struct bench *b)
{
	uint32_t path = spray_next(&b->spray, &b->tune, rng_next(&b->rng), b->now);
	assert_true(path < PATHS);
	b->sent[path]++;
	return path;
}

static void answer(struct bench *b, uint32_t path)
{
	struct weft_rcc_data ev = {.bytes = MTU, .scheduled = true, .path = (uint16_t)path};
	weft_ns from = b->free_ns[path] > b->now ? b->free_ns[path] : b->now;
	b->free_ns[path] = from + b->turn_ns[path];
	if (!b->dead[path])
		spray_data(&b->spray, &b->tune, &ev, MTU, b->free_ns[path] + RTT_NS + b->slow_ns[path]);
}

static void exchange(struct bench *b, uint32_t credits)
{
	for (uint32_t i = 0; i < credits; i++, b->now += 1000)
		answer(b, credit(b));
}

static void next__every_path_once_per_round(void **state)
{
	struct bench b;
	open_bench(&b);
	b.tune.probing = 0;
	for (uint32_t round = 1; round <= 100; round++) {
		exchange(&b, PATHS);
		for (int i = 0; i < PATHS; i++)
			assert_int_equal(b.sent[i], round);
	}
}

/* Neither the same order every time nor any path preferred in first place. */
static void next__orders_are_drawn(void **state)
{
	struct bench b;
	uint32_t first[PATHS] = {0};
	open_bench(&b);
	b.tune.probing = 0;
	for (int round = 0; round < 8000; round++) {
		first[credit(&b)]++;
		for (int i = 1; i < PATHS; i++)
			credit(&b);
	}
	for (int i = 0; i < PATHS; i++)
		assert_in_range(first[i], 850, 1150);
}

static void next__without_rounds_all_paths_by_chance(void **state)
{
	struct bench b;
	open_bench(&b);
	b.tune.uniform = 0;
	b.tune.probing = 0;
	exchange(&b, PATHS);
	uint32_t most = 0;
	for (int i = 0; i < PATHS; i++)
		most = b.sent[i] > most ? b.sent[i] : most;
	assert_true(most > 1);
	exchange(&b, 8000);
	for (int i = 0; i < PATHS; i++)
		assert_in_range(b.sent[i], 850, 1150);
}

static void board__healthy_paths_stay(void **state)
{
	struct bench b;
	open_bench(&b);
	exchange(&b, 10000);
	assert_int_equal(b.spray.valid, PATHS);
}

static void board__dead_path_is_left(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = true;
	exchange(&b, 2 * BOARD_PKTS * PATHS);
	assert_int_equal(b.spray.valid, PATHS - 1);
	uint32_t before = b.sent[3];
	exchange(&b, 500);
	assert_int_equal(b.sent[3], before);
}

/* The fastest is not worse than itself: whatever happens, there is a path. */
static void board__one_path_is_always_left(void **state)
{
	struct bench b;
	open_bench(&b);
	for (int i = 1; i < PATHS; i++)
		b.dead[i] = true;
	exchange(&b, 1000);
	assert_int_equal(b.spray.valid, 1);
	exchange(&b, 100);
	assert_true(b.sent[0] > 100);
}

static void board__off(void **state)
{
	struct bench b;
	open_bench(&b);
	b.tune.probing = 0;
	b.dead[3] = true;
	exchange(&b, 1000);
	assert_int_equal(b.spray.valid, PATHS);
}

static void trial__a_recovered_path_comes_back(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = b.dead[5] = true;
	exchange(&b, 400);
	assert_int_equal(b.spray.valid, PATHS - 2);
	b.dead[3] = b.dead[5] = false;
	exchange(&b, 2500); /* reprobe_us and a bit */
	assert_int_equal(b.spray.valid, PATHS);
}

/* It answers, but late. The credits that left before the first answer, and ever fewer trials. */
static void trial__a_slow_path_stays_out(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = true;
	exchange(&b, 400);
	b.dead[3] = false;
	b.slow_ns[3] = 2 * RTT_NS;
	b.sent[3] = 0;
	exchange(&b, 20000); /* 20 ms: trials after 1, 2, 4, 8 ms */
	assert_int_equal(b.spray.valid, PATHS - 1);
	assert_in_range(b.sent[3], 3, 40);
}

/* A packet alone is in time on a slow link, many in a row are not. */
static void trial__a_slow_link_stays_out(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = true;
	exchange(&b, 400);
	b.dead[3] = false;
	b.turn_ns[3] = RTT_NS / 2;
	exchange(&b, 20000);
	assert_int_equal(b.spray.valid, PATHS - 1);
}

/* Of eight credits two may be lost on the way. */
static void trial__a_busy_path_comes_back(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = true;
	exchange(&b, 400);
	for (uint32_t sent = b.sent[3]; b.spray.valid < PATHS; b.now += 1000) {
		uint32_t path = credit(&b);
		b.dead[3] = b.sent[3] - sent <= 2;
		answer(&b, path);
		assert_in_range(b.sent[3] - sent, 0, 8);
	}
}

static void trial__unanswered_ones_become_rare(void **state)
{
	struct bench b;
	open_bench(&b);
	b.dead[3] = true;
	exchange(&b, 400);
	b.sent[3] = 0;
	exchange(&b, 200000);
	assert_in_range(b.sent[3], 40, 96);
}

static void data__unknown_paths_mean_nothing(void **state)
{
	struct bench b;
	open_bench(&b);
	struct weft_rcc_data ev = {.bytes = MTU, .scheduled = true, .path = UINT16_MAX};
	for (int i = 0; i < 1000; i++)
		spray_data(&b.spray, &b.tune, &ev, MTU, b.now);
	assert_int_equal(b.spray.bytes, 0);
	assert_int_equal(b.spray.valid, PATHS);
}

/* N_b alone decides without a least number of packets, and what was compared is told. */
static void data__looks_at_the_board_as_often_as_asked(void **state)
{
	struct bench b;
	open_bench(&b);
	b.tune.board_pkts = 0;
	b.tune.theta_permille = 0;
	b.tune.board_bits = 8 * MTU * 2 * PATHS;
	exchange(&b, 10 * PATHS);
	assert_int_equal(b.spray.looks, 5);
	assert_int_equal(b.spray.slowest, 1000);
	assert_int_equal(b.spray.least, 1000);
	b.dead[3] = true;
	exchange(&b, 3 * PATHS);
	assert_int_equal(b.spray.looks, 6);
	assert_true(b.spray.least < 1000);
	b.tune.board_pkts = 8;
	exchange(&b, 7 * PATHS);
	assert_int_equal(b.spray.looks, 6);
}

/* More than 32 bits of bytes. */
static void data__looks_at_the_board_with_the_most_paths(void **state)
{
	enum { ALL = 4096, PKTS = 300, MTU_BYTES = 4096 };
	const struct schedule_tune tune = {
		.paths = ALL, .board_bits = 1000, .board_pkts = PKTS, .reprobe_us = 1000, .probing = 1};
	struct spray *s = malloc(spray_bytes(&tune));
	assert_non_null(s);
	spray_init(s, &tune);
	for (uint32_t i = 0; i < ALL * PKTS; i++) {
		struct weft_rcc_data ev = {.bytes = MTU_BYTES, .scheduled = true, .path = (uint16_t)(i % ALL)};
		assert_int_equal(s->looks, 0);
		spray_data(s, &tune, &ev, MTU_BYTES, WEFT_MS(1));
	}
	assert_int_equal(s->looks, 1);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data__looks_at_the_board_as_often_as_asked),
		cmocka_unit_test(next__every_path_once_per_round),
		cmocka_unit_test(next__orders_are_drawn),
		cmocka_unit_test(next__without_rounds_all_paths_by_chance),
		cmocka_unit_test(board__healthy_paths_stay),
		cmocka_unit_test(board__dead_path_is_left),
		cmocka_unit_test(board__one_path_is_always_left),
		cmocka_unit_test(board__off),
		cmocka_unit_test(trial__a_recovered_path_comes_back),
		cmocka_unit_test(trial__a_slow_path_stays_out),
		cmocka_unit_test(trial__a_slow_link_stays_out),
		cmocka_unit_test(trial__a_busy_path_comes_back),
		cmocka_unit_test(trial__unanswered_ones_become_rare),
		cmocka_unit_test(data__unknown_paths_mean_nothing),
		cmocka_unit_test(data__looks_at_the_board_with_the_most_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
