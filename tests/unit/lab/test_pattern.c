/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <string.h>

#include "cmocka_all.h"

enum { FLOW_BYTES = 3000000, CHUNK = 4096, FLOW = 3 };

struct fixture {
	struct pattern pattern;
	struct pattern_check check;
};

static int setup(void **state)
{
	static struct fixture f;
	*state = &f;
	if (pattern_create(&f.pattern, FLOW_BYTES, NULL))
		return -1;
	pattern_check_init(&f.check, &f.pattern, FLOW, FLOW_BYTES);
	return 0;
}

static int teardown(void **state)
{
	pattern_destroy(&((struct fixture *)*state)->pattern);
	return 0;
}

static uint32_t chunk_len(uint64_t offset)
{
	return FLOW_BYTES - offset < CHUNK ? (uint32_t)(FLOW_BYTES - offset) : CHUNK;
}

/* Hands over the chunk at `offset`, with the bytes of the chunk at `from`. */
static void hand(struct fixture *f, uint64_t offset, uint64_t from)
{
	pattern_check_sink(&f->check, offset, pattern_of(&f->pattern, FLOW) + from, chunk_len(offset));
}

/* Hands over all chunks last to first, but for the one at `except`. */
static void hand_all_but(struct fixture *f, uint64_t except)
{
	for (uint64_t end = (FLOW_BYTES + CHUNK - 1) / CHUNK; end-- > 0;) {
		if (end * CHUNK != except)
			hand(f, end * CHUNK, end * CHUNK);
	}
}

static void pattern_of__repeats_at_no_packet_size(void **state)
{
	struct fixture *f = *state;
	const uint8_t *p = pattern_of(&f->pattern, FLOW);
	for (uint64_t offset = CHUNK; offset + CHUNK <= FLOW_BYTES; offset += CHUNK) {
		if (offset % (257 * 4096) != 0)
			assert_memory_not_equal(p, p + offset, 64);
	}
}

static void pattern_of__differs_between_neighbours(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 100; i++)
		assert_memory_not_equal(pattern_of(&f->pattern, i), pattern_of(&f->pattern, i + 1), 64);
}

static void pattern_check__accepts_any_order(void **state)
{
	struct fixture *f = *state;
	hand_all_but(f, UINT64_MAX);
	assert_true(pattern_check_ok(&f->check));
}

static void pattern_check__misses_a_chunk(void **state)
{
	struct fixture *f = *state;
	assert_false(pattern_check_ok(&f->check));
	hand_all_but(f, 5 * CHUNK);
	assert_false(pattern_check_ok(&f->check));
	hand(f, 5 * CHUNK, 5 * CHUNK);
	assert_true(pattern_check_ok(&f->check));
}

static void pattern_check__notices_a_chunk_twice(void **state)
{
	struct fixture *f = *state;
	hand_all_but(f, UINT64_MAX);
	hand(f, 0, 0);
	assert_false(pattern_check_ok(&f->check));
}

static void pattern_check__notices_one_twice_instead_of_another(void **state)
{
	struct fixture *f = *state;
	hand_all_but(f, 5 * CHUNK);
	hand(f, 6 * CHUNK, 6 * CHUNK);
	assert_false(pattern_check_ok(&f->check));
}

static void pattern_check__notices_wrong_bytes(void **state)
{
	struct fixture *f = *state;
	hand_all_but(f, 5 * CHUNK);
	hand(f, 5 * CHUNK, 6 * CHUNK);
	assert_false(pattern_check_ok(&f->check));
}

static void pattern_check__notices_bytes_that_were_not_there(void **state)
{
	struct fixture *f = *state;
	hand_all_but(f, 5 * CHUNK);
	pattern_check_sink(&f->check, 5 * CHUNK, NULL, CHUNK);
	assert_false(pattern_check_ok(&f->check));
}

static void pattern_check__does_not_read_beyond_the_flow(void **state)
{
	struct fixture *f = *state;
	uint8_t chunk[CHUNK] = {0};
	hand_all_but(f, UINT64_MAX);
	pattern_check_sink(&f->check, UINT64_MAX / 2, chunk, CHUNK);
	assert_false(pattern_check_ok(&f->check));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pattern_of__repeats_at_no_packet_size),
		TEST(pattern_of__differs_between_neighbours),
		TEST(pattern_check__accepts_any_order),
		TEST(pattern_check__misses_a_chunk),
		TEST(pattern_check__notices_a_chunk_twice),
		TEST(pattern_check__notices_one_twice_instead_of_another),
		TEST(pattern_check__notices_wrong_bytes),
		TEST(pattern_check__notices_bytes_that_were_not_there),
		TEST(pattern_check__does_not_read_beyond_the_flow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
