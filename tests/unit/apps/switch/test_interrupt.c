/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait in a system call are woken by their name. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cmocka_all.h"
#include "interrupt.h"

struct waiter {
	pthread_t thread;
	_Atomic int error; /* of its poll; 0: it waits, or has not begun to */
	_Atomic int is_named;
	const char *name;
};

static void *wait_forever(void *arg)
{
	struct waiter *w = arg;

	pthread_setname_np(pthread_self(), w->name);
	atomic_store(&w->is_named, 1);
	if (poll(NULL, 0, -1) < 0)
		atomic_store(&w->error, errno);
	return NULL;
}

static void begin(struct waiter *w, const char *name)
{
	*w = (struct waiter){.name = name};
	assert_int_equal(pthread_create(&w->thread, NULL, wait_forever, w), 0);
	while (!atomic_load(&w->is_named))
		poll(NULL, 0, 1);
}

/* A signal that comes before the thread waits is lost, so more than one may be needed. */
static void interrupt_until_woken(struct waiter *w)
{
	assert_int_equal(interrupt_threads(w->name), 1);
	for (poll(NULL, 0, 1); atomic_load(&w->error) == 0; poll(NULL, 0, 1))
		interrupt_threads(w->name);
	assert_int_equal(atomic_load(&w->error), EINTR);
	pthread_join(w->thread, NULL);
}

static void interrupt__wakes_the_thread_of_that_name(void **state)
{
	struct waiter first, second;

	begin(&first, "waits-here");
	begin(&second, "waits-there");
	interrupt_until_woken(&first);
	assert_int_equal(atomic_load(&second.error), 0);
	interrupt_until_woken(&second);
}

static void interrupt__none_of_that_name(void **state)
{
	assert_int_equal(interrupt_threads("nobody"), 0);
	assert_int_equal(interrupt_threads("a-name-that-no-thread-can-have"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupt__wakes_the_thread_of_that_name),
		cmocka_unit_test(interrupt__none_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
