/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL starts once per process, so every way of starting it gets a process of its own. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
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

/* Starts EAL in a child that holds it until `release` is closed; its exit status says whether it started. */
static pid_t child_start(const char *args, int started, int release)
{
	pid_t pid = fork();
	struct weft_err err = {""};
	char byte = 0;
	if (pid != 0)
		return pid;
	int rc = weft_eal_start(args, &err);
	bool clear = rc == 0 || (rc < 0 && strstr(err.msg, "EAL: cannot start") != NULL);
	if (write(started, &byte, 1) == 1 && release >= 0)
		(void)!read(release, &byte, 1);
	_exit(clear ? rc != 0 : 2);
}

/* Status of a process that starts EAL while another one runs with the same arguments. */
static int start_beside(const char *args)
{
	int started[2], release[2], first = -1, second = -1;
	char byte;
	assert_int_equal(pipe(started), 0);
	assert_int_equal(pipe(release), 0);
	pid_t a = child_start(args, started[1], release[0]);
	assert_int_equal(read(started[0], &byte, 1), 1);
	pid_t b = child_start(args, started[1], -1);
	assert_int_equal(waitpid(b, &second, 0), b);
	assert_int_equal(write(release[1], "", 1), 1);
	assert_int_equal(waitpid(a, &first, 0), a);
	for (int i = 0; i < 2; i++) {
		close(started[i]);
		close(release[i]);
	}
	assert_true(WIFEXITED(first) && WEXITSTATUS(first) == 0);
	assert_true(WIFEXITED(second));
	return WEXITSTATUS(second);
}

/* Neither asks for files of its own. */
static void start__two_processes_at_once(void **state)
{
	assert_int_equal(start_beside("--no-pci --no-huge -m 64 --no-telemetry"), 0);
}

/* EAL fails without an error number here, because the other process has the lock. */
static void start__prefix_in_use_is_an_error(void **state)
{
	char args[128];
	snprintf(args, sizeof args, "--no-pci --no-huge -m 64 --no-telemetry --file-prefix=weft-unit-%d",
		 (int)getpid());
	assert_int_equal(start_beside(args), 1);
}

static bool start_pci(void)
{
	static const char *const devs[] = {"net_null0", "0000:ff:1f.7"};
	struct weft_err err;
	struct weft_port *port;
	struct weft_ethdev_conf conf = {.dev = devs[0], .pool_pkts = 255};
	if (weft_eal_start_for(devs, 2, false, &err) != 0 || weft_ethdev_open(&conf, &port, &err) != 0)
		return false;
	conf.dev = devs[1];
	return weft_ethdev_open(&conf, &port, &err) == -ENODEV && strstr(err.msg, devs[1]) != NULL;
}

static void start_for__pci_device_that_is_not_there(void **state)
{
	assert_true(in_child(start_pci));
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
		cmocka_unit_test(start__two_processes_at_once),
		cmocka_unit_test(start__prefix_in_use_is_an_error),
		cmocka_unit_test(start_for__pci_device_that_is_not_there),
		cmocka_unit_test(start__does_not_pin_the_caller),
		cmocka_unit_test(clock__never_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
