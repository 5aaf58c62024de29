/* SPDX-License-Identifier: BSD-3-Clause */
#include "bitmap.h"

#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

enum { BITS_MAX = 1024 };

/* Both kinds of bitmap side by side: the one under test and one byte per bit. */
struct pair {
	uint64_t words[BITS_MAX / 64];
	uint8_t model[BITS_MAX];
	uint32_t bits;
};

/* Long runs make word borders interesting: each bit repeats its predecessor with 7/8. */
static void fill(struct pair *p, uint32_t bits, struct rng *r)
{
	bool bit = false;

	memset(p, 0, sizeof *p);
	p->bits = bits;
	for (uint32_t i = 0; i < bits; i++) {
		if (rng_below(r, 8) == 0)
			bit = !bit;
		p->model[i] = bit;
		if (bit)
			bitmap_set(p->words, bits - 1, i);
	}
}

static uint32_t model_run(const struct pair *p, uint32_t i, uint32_t max, uint8_t value)
{
	uint32_t n = 0;

	while (n < max && p->model[(i + n) & (p->bits - 1)] == value)
		n++;
	return n;
}

static void for_each_width(void (*check)(struct pair *, struct rng *))
{
	struct pair p;
	struct rng r = {1};

	for (uint32_t bits = 64; bits <= BITS_MAX; bits *= 2) {
		for (int round = 0; round < 200; round++) {
			fill(&p, bits, &r);
			check(&p, &r);
		}
	}
}

static void check_single(struct pair *p, struct rng *r)
{
	uint32_t i = (uint32_t)rng_next(r), at = i & (p->bits - 1);

	assert_int_equal(bitmap_test(p->words, p->bits - 1, i), p->model[at]);
	bitmap_set(p->words, p->bits - 1, i);
	assert_true(bitmap_test(p->words, p->bits - 1, at));
	bitmap_clear(p->words, p->bits - 1, i);
	assert_false(bitmap_test(p->words, p->bits - 1, at));
}

static void bitmap_test__index_is_circular(void **state)
{
	for_each_width(check_single);
}

static void check_get64(struct pair *p, struct rng *r)
{
	uint32_t i = (uint32_t)rng_next(r);
	uint64_t got = bitmap_get64(p->words, p->bits - 1, i);

	for (uint32_t bit = 0; bit < 64; bit++)
		assert_int_equal(got >> bit & 1, p->model[(i + bit) & (p->bits - 1)]);
}

static void bitmap_get64__matches_model(void **state)
{
	for_each_width(check_get64);
}

static void check_clear_range(struct pair *p, struct rng *r)
{
	uint32_t i = (uint32_t)rng_next(r), n = rng_below(r, p->bits + 1);

	bitmap_clear_range(p->words, p->bits - 1, i, n);
	for (uint32_t k = 0; k < n; k++)
		p->model[(i + k) & (p->bits - 1)] = 0;
	for (uint32_t k = 0; k < p->bits; k++)
		assert_int_equal(bitmap_test(p->words, p->bits - 1, k), p->model[k]);
}

static void bitmap_clear_range__matches_model(void **state)
{
	for_each_width(check_clear_range);
}

static void check_run_and_find(struct pair *p, struct rng *r)
{
	uint32_t i = (uint32_t)rng_next(r), max = rng_below(r, p->bits + 1);

	assert_int_equal(bitmap_run(p->words, p->bits - 1, i, max), model_run(p, i, max, 1));
	assert_int_equal(bitmap_find(p->words, p->bits - 1, i, max), model_run(p, i, max, 0));
}

static void bitmap_run__matches_model(void **state)
{
	for_each_width(check_run_and_find);
}

static void bitmap_run__full_and_empty(void **state)
{
	uint64_t ones[2] = {UINT64_MAX, UINT64_MAX}, zeros[2] = {0, 0};

	assert_int_equal(bitmap_run(ones, 127, 77, 128), 128);
	assert_int_equal(bitmap_find(ones, 127, 77, 128), 0);
	assert_int_equal(bitmap_run(zeros, 127, 77, 128), 0);
	assert_int_equal(bitmap_find(zeros, 127, 77, 128), 128);
	assert_int_equal(bitmap_find(zeros, 127, 77, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bitmap_test__index_is_circular),    cmocka_unit_test(bitmap_get64__matches_model),
		cmocka_unit_test(bitmap_clear_range__matches_model), cmocka_unit_test(bitmap_run__matches_model),
		cmocka_unit_test(bitmap_run__full_and_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
