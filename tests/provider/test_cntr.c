/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters. An endpoint of a sends to itself; each message is two events. */
#include "fixture.h"
#include "member.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static struct host *const a = &hosts[0];
static struct fid_cntr *cntr;
static struct fid_ep *ep;
static fi_addr_t self;
static char in[8];

static void cntr_open(enum fi_wait_obj wait)
{
	struct fi_cntr_attr attr = {.wait_obj = wait};
	ok(fi_cntr_open(a->domain, &attr, &cntr, NULL));
}

/* The counter has this wait object and counts both sides of `ep`. */
static void ep_open(enum fi_wait_obj wait)
{
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	cntr_open(wait);
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cntr->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &self, 0, NULL), 1);
}

static void ep_close(void)
{
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	ok(fi_close(&ep->fid));
	ok(fi_close(&cntr->fid));
}

static void message(void)
{
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(ep, "count", 6, self));
}

static void failure(void)
{
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&ep->fid, in));
}

/* Failures until *arg is true: one that comes before a wait has begun does not end it. Returns how many. */
static void *fail_until(void *arg)
{
	uintptr_t count = 0;
	for (; !atomic_load((atomic_bool *)arg); count++) {
		failure();
		usleep(10000);
	}
	return (void *)count;
}

/* What a wait without a time limit returns when something fails meanwhile; all failures are counted then. */
static int wait_while_failing(uint64_t threshold)
{
	atomic_bool enough = false;
	pthread_t thread;
	void *count;
	ok(pthread_create(&thread, NULL, fail_until, &enough));
	int ret = fi_cntr_wait(cntr, threshold, -1);
	atomic_store(&enough, true);
	ok(pthread_join(thread, &count));
	while (fi_cntr_readerr(cntr) < (uintptr_t)count)
		fi_cntr_read(cntr);
	assert_int_equal(fi_cntr_readerr(cntr), (uintptr_t)count);
	return ret;
}

static void open__refusals(void **state)
{
	struct fi_cntr_attr attr = {.flags = FI_PEEK};
	assert_int_equal(fi_cntr_open(a->domain, &attr, &cntr, NULL), -FI_EINVAL);
	attr = (struct fi_cntr_attr){.events = (enum fi_cntr_events)99};
	assert_int_equal(fi_cntr_open(a->domain, &attr, &cntr, NULL), -FI_EINVAL);
	attr = (struct fi_cntr_attr){.wait_obj = (enum fi_wait_obj)99};
	assert_int_equal(fi_cntr_open(a->domain, &attr, &cntr, NULL), -FI_EINVAL);
	attr = (struct fi_cntr_attr){.wait_obj = FI_WAIT_SET};
	assert_int_equal(fi_cntr_open(a->domain, &attr, &cntr, NULL), -FI_EINVAL);
}

/* As many at once as the domain promises, each with values of its own. */
static void open__all_of_them(void **state)
{
	size_t count = a->info->domain_attr->cntr_cnt;
	struct fid_cntr **cntrs = calloc(count, sizeof(void *));
	assert_non_null(cntrs);
	for (size_t i = 0; i < count; i++) {
		ok(fi_cntr_open(a->domain, NULL, &cntrs[i], NULL));
		ok(fi_cntr_set(cntrs[i], i));
		ok(fi_cntr_seterr(cntrs[i], 2 * i));
	}
	for (size_t i = 0; i < count; i++) {
		ok(fi_cntr_add(cntrs[i], i));
		ok(fi_cntr_adderr(cntrs[i], i));
	}
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fi_cntr_read(cntrs[i]), 2 * i);
		assert_int_equal(fi_cntr_readerr(cntrs[i]), 3 * i);
		ok(fi_close(&cntrs[i]->fid));
	}
	free(cntrs);
}

static void wait__threshold_error_timeout(void **state)
{
	static const enum fi_wait_obj kinds[] = {FI_WAIT_UNSPEC, FI_WAIT_YIELD, FI_WAIT_FD};
	for (size_t i = 0; i < count_of(kinds); i++) {
		ep_open(kinds[i]);
		message();
		ok(fi_cntr_wait(cntr, 2, -1));
		ok(fi_cntr_wait(cntr, 0, 0));
		assert_int_equal(fi_cntr_wait(cntr, 3, 1), -FI_ETIMEDOUT);
		assert_int_equal(wait_while_failing(3), -FI_EAVAIL);
		assert_int_equal(fi_cntr_read(cntr), 2);
		assert_int_equal(fi_cntr_wait(cntr, 3, 1), -FI_ETIMEDOUT); /* errors before the call do not end it */
		ep_close();
	}
}

static void *wait_run(void *threshold)
{
	return fi_cntr_wait(cntr, *(uint64_t *)threshold, -1) ? NULL : threshold;
}

/* Changes made by the application wake other threads, each at its own threshold. */
static void wait__several_threads(void **state)
{
	uint64_t thresholds[] = {1, 5, 10};
	pthread_t threads[count_of(thresholds)];
	void *result;
	cntr_open(FI_WAIT_UNSPEC);
	for (size_t i = 0; i < count_of(threads); i++)
		ok(pthread_create(&threads[i], NULL, wait_run, &thresholds[i]));
	for (int i = 0; i < 10; i++)
		ok(fi_cntr_add(cntr, 1));
	for (size_t i = 0; i < count_of(threads); i++) {
		ok(pthread_join(threads[i], &result));
		assert_ptr_equal(result, &thresholds[i]);
	}
	ok(fi_close(&cntr->fid));
}

static void fd__readable_after_change(void **state)
{
	struct pollfd pfd = {.events = POLLIN};
	enum fi_wait_obj kind = FI_WAIT_NONE;
	struct fid *fids[1];
	ep_open(FI_WAIT_FD);
	fids[0] = &cntr->fid;
	ok(fi_control(&cntr->fid, FI_GETWAITOBJ, &kind));
	assert_int_equal(kind, FI_WAIT_FD);
	ok(fi_control(&cntr->fid, FI_GETWAIT, &pfd.fd));
	ok(fi_trywait(a->fabric, fids, 1));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	message();
	while (fi_cntr_read(cntr) < 2) {
		assert_int_equal(poll(&pfd, 1, -1), 1);
		while (fi_trywait(a->fabric, fids, 1))
			;
	}
	failure();
	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(fi_trywait(a->fabric, fids, 1), -FI_EAGAIN);
	ok(fi_trywait(a->fabric, fids, 1)); /* seen */
	assert_int_equal(poll(&pfd, 1, 0), 0);
	ep_close();
}

static void *message_later(void *arg)
{
	message();
	return NULL;
}

/* The application's own way to wait: no wake-up is lost between its look and its sleep. */
static void mutex_cond__no_wakeup_lost(void **state)
{
	enum { ROUNDS = 200 };
	struct fi_mutex_cond wait;
	struct fid *fids[1];
	pthread_t thread;
	ep_open(FI_WAIT_MUTEX_COND);
	fids[0] = &cntr->fid;
	ok(fi_control(&cntr->fid, FI_GETWAIT, &wait));
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		ok(pthread_create(&thread, NULL, message_later, NULL));
		ok(pthread_mutex_lock(wait.mutex));
		while (fi_cntr_read(cntr) < 2 * i)
			if (fi_trywait(a->fabric, fids, 1) == 0)
				ok(pthread_cond_wait(wait.cond, wait.mutex));
		ok(pthread_mutex_unlock(wait.mutex));
		ok(pthread_join(thread, NULL));
	}
	ep_close();
}

static void control__op_flags(void **state)
{
	uint64_t flags = FI_MORE;
	int fd;
	cntr_open(FI_WAIT_UNSPEC);
	ok(fi_control(&cntr->fid, FI_SETOPSFLAG, &flags));
	flags = 0;
	ok(fi_control(&cntr->fid, FI_GETOPSFLAG, &flags));
	assert_int_equal(flags, FI_MORE);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	assert_int_equal(fi_control(&cntr->fid, FI_ALIAS, &fd), -FI_ENOSYS);
	ok(fi_close(&cntr->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(open__refusals, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(open__all_of_them, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(wait__threshold_error_timeout, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(wait__several_threads, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(fd__readable_after_change, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(mutex_cond__no_wakeup_lost, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(control__op_flags, hosts_setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
