/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/ethdev.h"

enum { YIELDS_MAX = 100000 };

static void yield__not_before(void **state)
{
	struct weft_yield y = {.not_before_ns = 1000};
	assert_false(weft_yield_pays(&y, 999));
	assert_true(weft_yield_pays(&y, 1000));
	weft_yield(&y, 999);
	assert_int_equal(y.not_before_ns, 1000);
}

/* A process that computes keeps the processor for a time slice: then there is no yielding for many of them. */
static void yield__rarely_to_who_computes(void **state)
{
	cpu_set_t before, one;
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	pid_t computes = fork();
	assert_true(computes >= 0);
	if (computes == 0)
		for (volatile unsigned i = 0;; i++)
			;
	struct weft_yield y = {0};
	weft_ns now = weft_clock_ns();
	for (int i = 0; i < YIELDS_MAX && weft_yield_pays(&y, now); now = weft_clock_ns(), i++)
		weft_yield(&y, now);
	kill(computes, SIGKILL);
	waitpid(computes, NULL, 0);
	sched_setaffinity(0, sizeof before, &before);
	assert_false(weft_yield_pays(&y, now));
	assert_true(y.not_before_ns > now + WEFT_MS(16));
	assert_true(weft_yield_pays(&y, y.not_before_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yield__not_before),
		cmocka_unit_test(yield__rarely_to_who_computes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
