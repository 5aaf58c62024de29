/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

enum { ALL = WEFT_MR_READ | WEFT_MR_WRITE };

static const uint64_t sizes[] = {0, 1, 8, 1023, 1024, 1025, 4096, 4097, 8192, 100000, 300001};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void write__arrives_in_the_region(void **state)
{
	struct rma_duo r;
	uint8_t *out = duo_pattern(400000, 3);
	rma_open(&r, NULL, 400000, ALL);
	for (int i = 0; i < SIZES; i++) {
		struct weft_op op = rma_op(WEFT_OP_WRITE, out, sizes[i], 13);
		memset(r.mem, 0, r.bytes);
		struct weft_cqe cqe = rma_do(&r, &op, 0);
		assert_int_equal(cqe.kind, WEFT_OP_WRITE);
		assert_int_equal(cqe.len, sizes[i]);
		assert_memory_equal(r.mem + 13, out, sizes[i]);
		assert_int_equal(r.mem[12], 0);
		assert_int_equal(r.mem[13 + sizes[i]], 0);
	}
	struct weft_cqe none;
	assert_false(duo_cqe(&r.d, 1, &none));
	rma_close(&r);
	free(out);
}

static void read__brings_the_region(void **state)
{
	struct rma_duo r;
	uint8_t *in = malloc(400000);
	rma_open(&r, NULL, 400000, ALL);
	for (uint64_t i = 0; i < r.bytes; i++)
		r.mem[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
	for (int i = 0; i < SIZES; i++) {
		struct weft_op op = rma_op(WEFT_OP_READ, in, sizes[i], 77);
		memset(in, 0xee, 400000);
		struct weft_cqe cqe = rma_do(&r, &op, 0);
		assert_int_equal(cqe.kind, WEFT_OP_READ);
		assert_int_equal(cqe.len, sizes[i]);
		assert_memory_equal(in, r.mem + 77, sizes[i]);
		assert_int_equal(in[sizes[i]], 0xee);
	}
	assert_int_equal(r.d.e[0]->ses.asks.count, 0);
	assert_int_equal(r.d.e[1]->ses.answers, 0);
	rma_close(&r);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write__arrives_in_the_region),
		cmocka_unit_test(read__brings_the_region),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
