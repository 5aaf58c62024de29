/* SPDX-License-Identifier: BSD-3-Clause */
#include "lease.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { PORTS = 3, USER = 1000, OTHER = 1001 };

static char file[] = "/tmp/weft-lease-XXXXXX";

static struct leases leases_of(uint32_t per_user)
{
	return (struct leases){.ports = PORTS, .per_user = per_user};
}

static void end_all(struct leases *l)
{
	for (uint32_t i = 0; i < PORTS; i++)
		leases_end(l, i);
}

/* Sleeps until it is killed. */
static pid_t child_start(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void take__each_its_own_until_none_is_left(void **state)
{
	struct leases l = leases_of(PORTS);
	const char *why;
	for (int i = 0; i < PORTS; i++)
		assert_int_equal(leases_take(&l, USER, getpid(), &why), i);
	assert_int_equal(leases_take(&l, OTHER, getpid(), &why), -1);
	assert_string_equal(why, "all ports are taken");
	leases_end(&l, 1);
	assert_int_equal(leases_take(&l, OTHER, getpid(), &why), 1);
	end_all(&l);
}

/* What was given back last is given last. */
static void take__addresses_rest(void **state)
{
	struct leases l = leases_of(PORTS);
	const char *why;
	assert_int_equal(leases_take(&l, USER, getpid(), &why), 0);
	leases_end(&l, 0);
	assert_int_equal(leases_take(&l, USER, getpid(), &why), 1);
	end_all(&l);
}

static void take__users_have_a_limit_and_root_none(void **state)
{
	struct leases l = leases_of(1);
	const char *why;
	assert_int_equal(leases_take(&l, USER, getpid(), &why), 0);
	assert_int_equal(leases_take(&l, USER, getpid(), &why), -1);
	assert_string_equal(why, "this user has as many ports as a user may have");
	assert_int_equal(leases_take(&l, 0, getpid(), &why), 1);
	assert_int_equal(leases_take(&l, 0, getpid(), &why), 2);
	end_all(&l);
}

static void take__needs_a_process(void **state)
{
	struct leases l = leases_of(PORTS);
	const char *why;
	pid_t pid = child_start();
	child_end(pid);
	assert_int_equal(leases_take(&l, USER, pid, &why), -1);
	assert_int_equal(leases_take(&l, USER, getpid(), &why), 0);
	end_all(&l);
}

static void take__tells_of_the_end(void **state)
{
	struct leases l = leases_of(PORTS);
	const char *why;
	pid_t pid = child_start();
	assert_int_equal(leases_take(&l, USER, pid, &why), 0);
	struct pollfd p = {l.at[0].pid_fd, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 0), 0);
	child_end(pid);
	assert_int_equal(poll(&p, 1, -1), 1);
	end_all(&l);
}

static void restore__the_living_alone(void **state)
{
	struct leases before = leases_of(PORTS), after = leases_of(PORTS);
	const char *why;
	pid_t dead = child_start(), alive = child_start();
	assert_int_equal(leases_take(&before, USER, dead, &why), 0);
	assert_int_equal(leases_take(&before, OTHER, alive, &why), 1);
	assert_int_equal(leases_take(&before, USER, alive, &why), 2);
	before.at[2].start--; /* another process had that number */
	assert_int_equal(leases_save(&before, file), 0);
	child_end(dead);
	leases_restore(&after, file);
	assert_false(after.at[0].is_taken);
	assert_true(after.at[1].is_taken);
	assert_false(after.at[2].is_taken);
	assert_int_equal(after.at[1].uid, OTHER);
	assert_int_equal(after.at[1].pid, alive);
	assert_int_equal(after.at[1].connection, -1);
	child_end(alive);
	end_all(&before);
	end_all(&after);
}

/* The first line holds, and what was opened for it is closed with it. */
static void restore__a_port_is_one_process_alone(void **state)
{
	struct leases before = leases_of(PORTS), after = leases_of(PORTS);
	const char *why;
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	assert_int_equal(leases_take(&before, USER, getpid(), &why), 0);
	fprintf(f, "1 %d %d %llu\n", USER, (int)getpid(), (unsigned long long)before.at[0].start);
	fprintf(f, "1 %d %d %llu\n", OTHER, (int)getpid(), (unsigned long long)before.at[0].start);
	fprintf(f, "%d %d %d %llu\n", PORTS, OTHER, (int)getpid(), (unsigned long long)before.at[0].start);
	fclose(f);
	end_all(&before);
	int first_free = dup(0);
	close(first_free);
	leases_restore(&after, file);
	assert_true(after.at[1].is_taken);
	assert_int_equal(after.at[1].uid, USER);
	for (uint32_t i = 0; i <= PORTS; i++)
		assert_int_equal(after.at[i].is_taken, i == 1);
	end_all(&after);
	int still_free = dup(0);
	close(still_free);
	assert_int_equal(still_free, first_free);
}

static void restore__nonsense_is_nothing(void **state)
{
	static const char *const texts[] = {
		"", "hello\n", "1 2\n", "99999 0 1 1\n", "0 0 -1 1\n", "0 0 99999999999999999 1\n"};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct leases l = leases_of(PORTS);
		FILE *f = fopen(file, "w");
		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		leases_restore(&l, file);
		for (uint32_t k = 0; k < PORTS; k++)
			assert_false(l.at[k].is_taken);
	}
}

static int setup(void **state)
{
	int fd = mkstemp(file);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__each_its_own_until_none_is_left),
		cmocka_unit_test(take__addresses_rest),
		cmocka_unit_test(take__users_have_a_limit_and_root_none),
		cmocka_unit_test(take__needs_a_process),
		cmocka_unit_test(take__tells_of_the_end),
		cmocka_unit_test(restore__the_living_alone),
		cmocka_unit_test(restore__a_port_is_one_process_alone),
		cmocka_unit_test(restore__nonsense_is_nothing),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
