/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "amo.h"
#include "rng.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

enum { COUNT = 5, ELEMENT_MAX = 32, GUARD = 64 };

static bool is_integer(uint8_t type)
{
	return type <= WEFT_AMO_UINT128;
}

static bool is_signed(uint8_t type)
{
	return is_integer(type) && type % 2 == 0;
}

static bool is_complex(uint8_t type)
{
	return type == WEFT_AMO_FLOAT_COMPLEX || type == WEFT_AMO_DOUBLE_COMPLEX ||
	       type == WEFT_AMO_LONG_DOUBLE_COMPLEX;
}

static bool is_order(uint8_t op)
{
	return op == WEFT_AMO_MIN || op == WEFT_AMO_MAX || (op >= WEFT_AMO_CSWAP_LE && op <= WEFT_AMO_CSWAP_GT);
}

static bool is_bits(uint8_t op)
{
	return op == WEFT_AMO_BOR || op == WEFT_AMO_BAND || op == WEFT_AMO_BXOR || op == WEFT_AMO_MSWAP;
}

/* ---- what is expected: integers bit by bit in two's complement, other numbers small and whole ---- */

static uint128 int_get(uint8_t type, const uint8_t *at)
{
	uint128 v = 0;
	uint32_t bytes = weft_amo_bytes(type);
	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint128)at[i] << (8 * i);
	if (is_signed(type) && bytes < 16 && at[bytes - 1] & 0x80)
		v |= ~(uint128)0 << (8 * bytes);
	return v;
}

static void int_put(uint8_t type, uint8_t *at, uint128 v)
{
	for (uint32_t i = 0; i < weft_amo_bytes(type); i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static bool int_less(uint8_t type, uint128 x, uint128 y)
{
	return is_signed(type) ? (int128)x < (int128)y : x < y;
}

static uint128 int_expect(uint8_t op, uint8_t type, uint128 t, uint128 a, uint128 c)
{
	bool less = int_less(type, c, t), more = int_less(type, t, c);
	const uint128 want[WEFT_AMO_OPS] = {
		[WEFT_AMO_MIN] = int_less(type, a, t) ? a : t,
		[WEFT_AMO_MAX] = int_less(type, t, a) ? a : t,
		[WEFT_AMO_SUM] = t + a,
		[WEFT_AMO_DIFF] = t - a,
		[WEFT_AMO_PROD] = t * a,
		[WEFT_AMO_LOR] = t != 0 || a != 0,
		[WEFT_AMO_LAND] = t != 0 && a != 0,
		[WEFT_AMO_BOR] = t | a,
		[WEFT_AMO_BAND] = t & a,
		[WEFT_AMO_LXOR] = (t != 0) + (a != 0) == 1,
		[WEFT_AMO_BXOR] = t ^ a,
		[WEFT_AMO_READ] = t,
		[WEFT_AMO_WRITE] = a,
		[WEFT_AMO_CSWAP] = less || more ? t : a,
		[WEFT_AMO_CSWAP_NE] = less || more ? a : t,
		[WEFT_AMO_CSWAP_LE] = more ? t : a,
		[WEFT_AMO_CSWAP_LT] = less ? a : t,
		[WEFT_AMO_CSWAP_GE] = less ? t : a,
		[WEFT_AMO_CSWAP_GT] = more ? a : t,
		[WEFT_AMO_MSWAP] = t ^ ((t ^ a) & c),
	};
	return want[op];
}

struct num {
	int re, im;
};

static struct num num_get(uint8_t type, const uint8_t *at)
{
	union {
		float f[2];
		double d[2];
		long double l[2];
	} u = {.l = {0, 0}};
	memcpy(&u, at, weft_amo_bytes(type));
	switch (type) {
	case WEFT_AMO_FLOAT:
	case WEFT_AMO_FLOAT_COMPLEX:
		return (struct num){(int)u.f[0], is_complex(type) ? (int)u.f[1] : 0};
	case WEFT_AMO_DOUBLE:
	case WEFT_AMO_DOUBLE_COMPLEX:
		return (struct num){(int)u.d[0], is_complex(type) ? (int)u.d[1] : 0};
	}
	return (struct num){(int)u.l[0], is_complex(type) ? (int)u.l[1] : 0};
}

static void num_put(uint8_t type, uint8_t *at, struct num n)
{
	float f[2] = {(float)n.re, (float)n.im};
	double d[2] = {n.re, n.im};
	long double l[2] = {n.re, n.im};
	if (type == WEFT_AMO_FLOAT || type == WEFT_AMO_FLOAT_COMPLEX)
		memcpy(at, f, weft_amo_bytes(type));
	else if (type == WEFT_AMO_DOUBLE || type == WEFT_AMO_DOUBLE_COMPLEX)
		memcpy(at, d, weft_amo_bytes(type));
	else
		memcpy(at, l, weft_amo_bytes(type));
}

static struct num truth(bool is_true)
{
	return (struct num){is_true, 0};
}

static struct num num_expect(uint8_t op, struct num t, struct num a, struct num c)
{
	bool t0 = !t.re && !t.im, a0 = !a.re && !a.im, same = c.re == t.re && c.im == t.im;
	const struct num want[WEFT_AMO_OPS] = {
		[WEFT_AMO_MIN] = a.re < t.re ? a : t,
		[WEFT_AMO_MAX] = a.re > t.re ? a : t,
		[WEFT_AMO_SUM] = {t.re + a.re, t.im + a.im},
		[WEFT_AMO_DIFF] = {t.re - a.re, t.im - a.im},
		[WEFT_AMO_PROD] = {t.re * a.re - t.im * a.im, t.re * a.im + t.im * a.re},
		[WEFT_AMO_LOR] = truth(!t0 || !a0),
		[WEFT_AMO_LAND] = truth(!t0 && !a0),
		[WEFT_AMO_LXOR] = truth(t0 != a0),
		[WEFT_AMO_READ] = t,
		[WEFT_AMO_WRITE] = a,
		[WEFT_AMO_CSWAP] = same ? a : t,
		[WEFT_AMO_CSWAP_NE] = same ? t : a,
		[WEFT_AMO_CSWAP_LE] = c.re <= t.re ? a : t,
		[WEFT_AMO_CSWAP_LT] = c.re < t.re ? a : t,
		[WEFT_AMO_CSWAP_GE] = c.re >= t.re ? a : t,
		[WEFT_AMO_CSWAP_GT] = c.re > t.re ? a : t,
	};
	return want[op];
}

/* ---- */

/* Values that meet often: small ones, the same one, and for integers any bits. */
static void draw(struct rng *r, uint8_t type, uint8_t *at)
{
	if (!is_integer(type)) {
		num_put(type, at,
			(struct num){(int)rng_below(r, 7) - 3, is_complex(type) ? (int)rng_below(r, 5) - 2 : 0});
		return;
	}
	uint128 wide = (uint128)rng_next(r) << 64 | rng_next(r);
	int_put(type, at, rng_below(r, 2) ? wide : (uint128)((int128)rng_below(r, 5) - 2));
}

static void check_element(uint8_t op, uint8_t type, const uint8_t *before, const uint8_t *after, const uint8_t *a,
			  const uint8_t *c)
{
	if (is_integer(type)) {
		uint8_t want[ELEMENT_MAX];
		int_put(type, want, int_expect(op, type, int_get(type, before), int_get(type, a), int_get(type, c)));
		assert_memory_equal(after, want, weft_amo_bytes(type));
		return;
	}
	struct num want = num_expect(op, num_get(type, before), num_get(type, a), num_get(type, c));
	struct num have = num_get(type, after);
	assert_int_equal(have.re, want.re);
	assert_int_equal(have.im, want.im);
}

/* One call on `COUNT` elements `shift` bytes off an aligned place, with nothing else touched. */
static void check_call(struct rng *r, uint8_t op, uint8_t type, size_t shift)
{
	_Alignas(64) uint8_t memory[2 * GUARD + COUNT * ELEMENT_MAX], before[sizeof memory];
	uint8_t a[COUNT * ELEMENT_MAX + 1], c[COUNT * ELEMENT_MAX + 1], result[COUNT * ELEMENT_MAX + 1];
	uint32_t bytes = weft_amo_bytes(type);
	size_t len = COUNT * bytes, at = GUARD + shift;
	for (size_t i = 0; i < sizeof memory; i++)
		memory[i] = (uint8_t)rng_next(r);
	for (size_t i = 0; i < len; i += bytes) {
		draw(r, type, memory + at + i);
		draw(r, type, a + shift + i);
		draw(r, type, c + shift + i);
	}
	memcpy(before, memory, sizeof memory);
	amo_apply(op, type, memory + at,
		  &(struct amo_args){
			  .operand = a + shift, .compare = c + shift, .result = result + shift, .count = COUNT});
	assert_memory_equal(result + shift, before + at, len);
	assert_memory_equal(memory, before, at);
	assert_memory_equal(memory + at + len, before + at + len, sizeof memory - at - len);
	for (size_t i = 0; i < len; i += bytes)
		check_element(op, type, before + at + i, memory + at + i, a + shift + i, c + shift + i);
}

static void apply__every_operation_on_every_type(void **state)
{
	struct rng r = {1};
	unsigned pairs = 0;
	for (unsigned op = 0; op < WEFT_AMO_OPS; op++) {
		for (unsigned type = 0; type < WEFT_AMO_TYPES; type++) {
			if (!weft_amo_valid(op, type))
				continue;
			pairs++;
			for (int i = 0; i < 50; i++) {
				check_call(&r, op, type, 0);
				check_call(&r, op, type, 1);
			}
		}
	}
	assert_int_equal(pairs, 10 * 20 + 3 * 16 + 3 * 10);
}

static void valid__order_needs_real_numbers_and_bits_need_integers(void **state)
{
	for (unsigned op = 0; op < 256; op++) {
		for (unsigned type = 0; type < 256; type++) {
			bool want = op < WEFT_AMO_OPS && type < WEFT_AMO_TYPES &&
				    (!is_order((uint8_t)op) || !is_complex((uint8_t)type)) &&
				    (!is_bits((uint8_t)op) || is_integer((uint8_t)type));
			assert_int_equal(weft_amo_valid((uint8_t)op, (uint8_t)type), want);
		}
	}
}

static void bytes__are_those_of_the_types(void **state)
{
	const uint32_t want[] = {1,
				 1,
				 2,
				 2,
				 4,
				 4,
				 8,
				 8,
				 16,
				 16,
				 sizeof(float),
				 sizeof(double),
				 2 * sizeof(float),
				 2 * sizeof(double),
				 sizeof(long double),
				 2 * sizeof(long double)};
	for (unsigned type = 0; type < WEFT_AMO_TYPES; type++)
		assert_int_equal(weft_amo_bytes(type), want[type]);
	assert_int_equal(weft_amo_bytes(WEFT_AMO_TYPES), 0);
	assert_int_equal(weft_amo_bytes(0xe0), 0);
}

/* A region may be registered for reading only, and lie in memory that can't be written. */
static void apply__writes_only_what_changes(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	uint8_t result[ELEMENT_MAX * 4], zero[ELEMENT_MAX * 4] = {0}, ones[ELEMENT_MAX * 4];
	memset(ones, 1, sizeof ones);
	memset(page, 1, 4096); /* long doubles: also the bytes that mean nothing */
	assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
	for (unsigned type = 0; type < WEFT_AMO_TYPES; type++) {
		for (size_t shift = 0; shift < 2; shift++) {
			amo_apply(WEFT_AMO_READ, type, page + shift, &(struct amo_args){.result = result, .count = 4});
			assert_memory_equal(result, ones, 4 * weft_amo_bytes(type));
		}
	}
	for (unsigned type = 0; type < WEFT_AMO_UINT128; type++)
		amo_apply(WEFT_AMO_CSWAP, type, page,
			  &(struct amo_args){.operand = ones, .compare = zero, .result = result, .count = 4});
	munmap(page, 4096);
}

static void apply__without_result(void **state)
{
	uint32_t t[3] = {1, 2, 3}, a[3] = {10, 20, 30};
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_UINT32, t, &(struct amo_args){.operand = a, .count = 3});
	assert_int_equal(t[0], 11);
	assert_int_equal(t[1], 22);
	assert_int_equal(t[2], 33);
}

static void apply__no_number_is_neither_less_nor_more(void **state)
{
	double t = NAN, a = 1;
	amo_apply(WEFT_AMO_MIN, WEFT_AMO_DOUBLE, &t, &(struct amo_args){.operand = &a, .count = 1});
	assert_true(isnan(t));
	t = 1;
	a = NAN;
	amo_apply(WEFT_AMO_MAX, WEFT_AMO_DOUBLE, &t, &(struct amo_args){.operand = &a, .count = 1});
	assert_true(t == 1);
	double c = NAN;
	a = 5;
	t = NAN;
	amo_apply(WEFT_AMO_CSWAP, WEFT_AMO_DOUBLE, &t, &(struct amo_args){.operand = &a, .compare = &c, .count = 1});
	assert_true(isnan(t)); /* compared as numbers, not as bits */
	amo_apply(WEFT_AMO_CSWAP_NE, WEFT_AMO_DOUBLE, &t, &(struct amo_args){.operand = &a, .compare = &c, .count = 1});
	assert_true(t == 5);
}

static void apply__equal_long_doubles_are_equal_bytes(void **state)
{
	uint8_t t[16], a[16], want[16] = {0};
	const long double two = 2, three = 3, five = 5;
	memset(t, 0xff, sizeof t);
	memset(a, 0xee, sizeof a);
	memcpy(t, &two, 10);
	memcpy(a, &three, 10);
	memcpy(want, &five, 10);
	if (sizeof(long double) != 16 || __LDBL_MANT_DIG__ != 64)
		skip();
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_LONG_DOUBLE, t, &(struct amo_args){.operand = a, .count = 1});
	assert_memory_equal(t, want, 16);
}

/* ---- against other threads ---- */

enum { ROUNDS = 20000 };

struct counters {
	_Alignas(8) uint8_t u8[8];
	uint16_t u16[4];
	uint32_t u32[2];
	uint64_t u64;
	float f;
	double d;
};

static void add_all(struct counters *s)
{
	static const uint64_t one = 1;
	static const uint8_t bytes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	static const float f = 1;
	static const double d = 1;
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_UINT8, s->u8, &(struct amo_args){.operand = bytes, .count = 8});
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_UINT16, &s->u16[1], &(struct amo_args){.operand = &one, .count = 1});
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_INT32, &s->u32[1], &(struct amo_args){.operand = &one, .count = 1});
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_UINT64, &s->u64, &(struct amo_args){.operand = &one, .count = 1});
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_FLOAT, &s->f, &(struct amo_args){.operand = &f, .count = 1});
	amo_apply(WEFT_AMO_SUM, WEFT_AMO_DOUBLE, &s->d, &(struct amo_args){.operand = &d, .count = 1});
}

static void *adder(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		add_all(arg);
	return NULL;
}

static void apply__loses_nothing_against_other_threads(void **state)
{
	struct counters s = {.u64 = 0};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, adder, &s), 0);
	for (int i = 0; i < ROUNDS; i++) {
		add_all(&s);
		__atomic_fetch_add(&s.u64, 1, __ATOMIC_RELAXED);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < 8; i++)
		assert_int_equal(s.u8[i], (uint8_t)(2 * ROUNDS));
	assert_int_equal(s.u16[1], (uint16_t)(2 * ROUNDS));
	assert_int_equal(s.u32[1], 2 * ROUNDS);
	assert_int_equal(s.u64, 3 * ROUNDS);
	assert_true(s.f == 2 * ROUNDS);
	assert_true(s.d == 2 * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apply__every_operation_on_every_type),
		cmocka_unit_test(valid__order_needs_real_numbers_and_bits_need_integers),
		cmocka_unit_test(bytes__are_those_of_the_types),
		cmocka_unit_test(apply__writes_only_what_changes),
		cmocka_unit_test(apply__without_result),
		cmocka_unit_test(apply__no_number_is_neither_less_nor_more),
		cmocka_unit_test(apply__equal_long_doubles_are_equal_bytes),
		cmocka_unit_test(apply__loses_nothing_against_other_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
