/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>

static struct fi_info *info;
static struct fid_fabric *fabric;

static int setup(void **state)
{
	struct fi_info *hints = fixture_hints(0);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	ok(fi_fabric(info->fabric_attr, &fabric, NULL));
	return 0;
}

static int teardown(void **state)
{
	ok(fi_close(&fabric->fid));
	fi_freeinfo(info);
	return 0;
}

static struct fid_eq *eq_open(enum fi_wait_obj wait)
{
	struct fi_eq_attr attr = {.wait_obj = wait, .flags = FI_WRITE};
	struct fid_eq *eq;
	ok(fi_eq_open(fabric, &attr, &eq, NULL));
	return eq;
}

static void write_event(struct fid_eq *eq, uint64_t n)
{
	const struct fi_eq_entry entry = {.fid = &eq->fid, .context = eq, .data = n};
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), sizeof entry);
}

static void read__in_order(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_NONE);
	struct fi_eq_entry entry;
	uint32_t event = 0;
	for (uint64_t n = 0; n < 50; n++)
		write_event(eq, n);
	for (uint64_t n = 0; n < 50; n++) {
		assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, n % 2 ? 0 : FI_PEEK), sizeof entry);
		assert_int_equal(entry.data, n);
		if (n % 2 == 0)
			assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
		assert_int_equal(entry.data, n);
		assert_int_equal(event, FI_NOTIFY);
	}
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAGAIN);
	ok(fi_close(&eq->fid));
}

static void read__short_buffer_keeps_the_event(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_NONE);
	struct fi_eq_entry entry;
	uint32_t event;
	write_event(eq, 7);
	assert_int_equal(fi_eq_read(eq, &event, &entry, 4, 0), -FI_ETOOSMALL);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
	assert_int_equal(entry.data, 7);
	ok(fi_close(&eq->fid));
}

static void readerr__nothing(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_NONE);
	struct fi_eq_err_entry err = {0};
	assert_int_equal(fi_eq_readerr(eq, &err, 0), -FI_EAGAIN);
	ok(fi_close(&eq->fid));
}

static void sread__times_out(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_UNSPEC);
	struct fi_eq_entry entry;
	uint32_t event;
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, 1, 0), -FI_EAGAIN);
	write_event(eq, 1);
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0), sizeof entry);
	ok(fi_close(&eq->fid));
}

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	return poll(&pfd, 1, 0) == 1;
}

static void fd__readable_while_not_empty(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_FD);
	struct fid *fids[1] = {&eq->fid};
	struct fi_eq_entry entry;
	uint32_t event;
	int fd = -1;
	ok(fi_control(&eq->fid, FI_GETWAIT, &fd));
	assert_false(readable(fd));
	ok(fi_trywait(fabric, fids, 1));
	write_event(eq, 1);
	assert_true(readable(fd));
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
	assert_false(readable(fd));
	ok(fi_close(&eq->fid));
}

/* A full queue refuses what the application writes, and is of no use any more once it is empty. */
static void write__overrun(void **state)
{
	struct fi_eq_attr attr = {.size = 4, .flags = FI_WRITE};
	struct fi_eq_entry entry = {.data = 1};
	struct fi_eq_err_entry err = {0};
	struct fid_eq *eq;
	uint32_t event;
	ok(fi_eq_open(fabric, &attr, &eq, NULL));
	for (uint64_t n = 0; n < 4; n++)
		write_event(eq, n);
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), -FI_EOVERRUN);
	for (uint64_t n = 0; n < 4; n++) {
		assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
		assert_int_equal(entry.data, n);
	}
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), -FI_EOVERRUN);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAVAIL);
		assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof err);
		assert_int_equal(err.err, FI_EOVERRUN);
		assert_ptr_equal(err.fid, &eq->fid);
	}
	ok(fi_close(&eq->fid));
}

static void write__needs_the_flag(void **state)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_eq_entry entry = {.data = 1};
	struct fid_eq *eq;
	ok(fi_eq_open(fabric, &attr, &eq, NULL));
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), -FI_EINVAL);
	ok(fi_close(&eq->fid));
	attr.flags = FI_PEEK;
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), -FI_EBADFLAGS);
	attr = (struct fi_eq_attr){.wait_obj = (enum fi_wait_obj)99};
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), -FI_EINVAL);
}

static void *sread_run(void *eq)
{
	struct fi_eq_entry entry;
	uint32_t event;
	return fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0) == sizeof entry ? eq : NULL;
}

static void sread__several_threads(void **state)
{
	enum { THREADS = 4 };
	struct fid_eq *eq = eq_open(FI_WAIT_UNSPEC);
	pthread_t threads[THREADS];
	void *result;
	for (int i = 0; i < THREADS; i++)
		ok(pthread_create(&threads[i], NULL, sread_run, eq));
	for (int i = 0; i < THREADS; i++)
		write_event(eq, 1);
	for (int i = 0; i < THREADS; i++) {
		ok(pthread_join(threads[i], &result));
		assert_ptr_equal(result, eq);
	}
	ok(fi_close(&eq->fid));
}

static void *write_run(void *eq)
{
	write_event(eq, 1);
	return NULL;
}

static void mutex_cond__no_wakeup_lost(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_MUTEX_COND);
	struct fid *fids[1] = {&eq->fid};
	struct fi_mutex_cond wait;
	struct fi_eq_entry entry;
	uint32_t event;
	pthread_t thread;
	ok(fi_control(&eq->fid, FI_GETWAIT, &wait));
	for (int i = 0; i < 500; i++) {
		ok(pthread_create(&thread, NULL, write_run, eq));
		ok(pthread_mutex_lock(wait.mutex));
		while (fi_trywait(fabric, fids, 1) == 0)
			ok(pthread_cond_wait(wait.cond, wait.mutex));
		ok(pthread_mutex_unlock(wait.mutex));
		assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
		ok(pthread_join(thread, NULL));
	}
	ok(fi_close(&eq->fid));
}

static void close__fabric_is_busy(void **state)
{
	struct fid_eq *eq = eq_open(FI_WAIT_NONE);
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	write_event(eq, 1); /* unread events are no reason to refuse */
	ok(fi_close(&eq->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read__in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(read__short_buffer_keeps_the_event, setup, teardown),
		cmocka_unit_test_setup_teardown(readerr__nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(sread__times_out, setup, teardown),
		cmocka_unit_test_setup_teardown(fd__readable_while_not_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(write__overrun, setup, teardown),
		cmocka_unit_test_setup_teardown(write__needs_the_flag, setup, teardown),
		cmocka_unit_test_setup_teardown(sread__several_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(mutex_cond__no_wakeup_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(close__fabric_is_busy, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
