/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_args.h"

enum { LOG_MAX = 16 };

struct fixture {
	struct options o;
	struct lab *lab;
	struct weft_err err;
	int log[LOG_MAX]; /* what the calls recorded */
	weft_ps at[LOG_MAX];
	int count;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	uint32_t left = lab_destroy(f->lab);
	options_free(&f->o);
	free(f);
	return left ? -1 : 0;
}

#define MAKE(f, ...) args_lab_made(&(f)->o, (const char *const[]){__VA_ARGS__, NULL}, &(f)->lab, &(f)->err)

struct note {
	struct fixture *f;
	int number;
};

static void note(struct lab *lab, void *arg)
{
	struct note *n = arg;
	n->f->at[n->f->count] = lab_now(lab);
	n->f->log[n->f->count++] = n->number;
}

static void lab_at__calls_in_order_of_time_then_registration(void **state)
{
	struct fixture *f = *state;
	struct note notes[4] = {{f, 0}, {f, 1}, {f, 2}, {f, 3}};
	static const weft_ns at[4] = {30000, 10000, 30000, 0};
	static const int expect[4] = {3, 1, 0, 2};
	MAKE(f, "--topology", "star:4", "--matrix", "permutation:4:1MiB");
	for (int i = 0; i < 4; i++)
		assert_int_equal(lab_at(f->lab, at[i], note, &notes[i]), 0);
	assert_int_equal(lab_run(f->lab, &f->err), 0);
	assert_int_equal(f->count, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(f->log[i], expect[i]);
		assert_int_equal(f->at[i], at[expect[i]] * 1000);
	}
}

static void lab_at__refuses_too_many(void **state)
{
	struct fixture *f = *state;
	struct note n = {f, 0};
	int accepted = 0;
	MAKE(f, "--topology", "star:4");
	while (accepted < 1000 && lab_at(f->lab, 1, note, &n) == 0)
		accepted++;
	assert_int_equal(lab_at(f->lab, 1, note, &n), -ENOSPC);
	assert_in_range(accepted, 16, 999);
	f->lab = (lab_destroy(f->lab), NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lab_at__calls_in_order_of_time_then_registration),
		TEST(lab_at__refuses_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
