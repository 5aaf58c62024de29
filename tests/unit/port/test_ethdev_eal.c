/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL starts once per process, so every way of starting it gets a process of its own. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "cmocka_all.h"
#include "weft/ethdev.h"

/* True when `check` does in a child. */
static bool in_child(bool (*check)(void))
{
	pid_t pid = fork();
	int status = -1;
	if (pid == 0)
		_exit(check() ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool start_twice(void)
{
	struct weft_err err;
	return weft_eal_start(NULL, &err) == 0 && weft_eal_start(NULL, &err) == 0 &&
	       weft_eal_start("--nonsense", &err) == 0;
}

static void start__twice_is_once(void **state)
{
	assert_true(in_child(start_twice));
}

static bool start_after_application(void)
{
	char *argv[] = {"app",
			"--no-pci",
			"--no-telemetry",
			"--iova-mode=va",
			"--no-huge",
			"-m",
			"64",
			"--no-shconf",
			"-l",
			"0",
			"--log-level=*:error",
			NULL};
	struct weft_err err;
	struct weft_port *port;
	struct weft_ethdev_conf conf = {.dev = "net_null0", .pool_pkts = 255};
	if (rte_eal_init(11, argv) < 0 || weft_eal_start(NULL, &err) != 0)
		return false;
	return weft_ethdev_open(&conf, &port, &err) == 0;
}

static void start__leaves_the_applications_eal_alone(void **state)
{
	assert_true(in_child(start_after_application));
}

static bool start_bad(void)
{
	struct weft_err err = {""};
	if (weft_eal_start("--no-such-option", &err) >= 0 || err.msg[0] == '\0')
		return false;
	err.msg[0] = '\0';
	return weft_eal_start(NULL, &err) < 0 && err.msg[0] != '\0';
}

static void start__bad_arguments_fail_for_good(void **state)
{
	assert_true(in_child(start_bad));
}

static bool start_environment(void)
{
	struct weft_err err;
	setenv("WEFT_EAL_ARGS", WEFT_EAL_DEFAULTS " -m 64 -l 0 --main-lcore 0", 1);
	return weft_eal_start(NULL, &err) == 0 && rte_lcore_count() == 1;
}

static void start__arguments_from_environment(void **state)
{
	assert_true(in_child(start_environment));
}

static bool start_long(void)
{
	char args[1024] = "";
	struct weft_err err = {""};
	for (int i = 0; i < 100; i++)
		strcat(args, "-m 64 ");
	return weft_eal_start(args, &err) == -E2BIG && weft_eal_start(NULL, &err) == 0; /* nothing had been started */
}

static void start__too_many_arguments(void **state)
{
	assert_true(in_child(start_long));
}

static bool start_affinity(void)
{
	cpu_set_t before, after;
	struct weft_err err;
	sched_getaffinity(0, sizeof before, &before);
	if (weft_eal_start(NULL, &err) != 0)
		return false;
	sched_getaffinity(0, sizeof after, &after);
	return CPU_EQUAL(&before, &after);
}

/* Several processes share few processors: pinned to the first one, they would all wait for it. */
static void start__does_not_pin_the_caller(void **state)
{
	assert_true(in_child(start_affinity));
}

static bool clock_goes_on(void)
{
	struct weft_err err;
	weft_ns last = weft_clock_ns();
	bool ok = true;
	for (int i = 0; i < 1000; i++) {
		weft_ns now = weft_clock_ns();
		ok &= now >= last && now < WEFT_S(60);
		last = now;
	}
	ok &= weft_eal_start(NULL, &err) == 0;
	for (int i = 0; i < 1000; i++) {
		weft_ns now = weft_clock_ns();
		ok &= now >= last;
		last = now;
	}
	return ok && last < WEFT_S(3600);
}

static void clock__never_goes_back(void **state)
{
	assert_true(in_child(clock_goes_on));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start__twice_is_once),
		cmocka_unit_test(start__leaves_the_applications_eal_alone),
		cmocka_unit_test(start__bad_arguments_fail_for_good),
		cmocka_unit_test(start__arguments_from_environment),
		cmocka_unit_test(start__too_many_arguments),
		cmocka_unit_test(start__does_not_pin_the_caller),
		cmocka_unit_test(clock__never_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
