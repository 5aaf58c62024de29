/* SPDX-License-Identifier: BSD-3-Clause */
#include "stall_guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void on_time(int sig)
{
}

/* Without SA_RESTART the call that waits ends. */
int stall_guard_start(timer_t *guard, struct weft_err *err)
{
	enum { NS_PER_MS = 1000000 };
	const struct sigaction action = {.sa_handler = on_time};
	const struct timespec period = {.tv_nsec = STALL_MAX_MS * NS_PER_MS};
	const struct itimerspec times = {.it_interval = period, .it_value = period};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	event._sigev_un._tid = gettid();
	sigaction(SIGRTMIN, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, guard) != 0)
		return weft_err_set(err, -errno, "no timer: %s", strerror(errno));
	timer_settime(*guard, 0, &times, NULL);
	return 0;
}

void stall_guard_stop(timer_t guard)
{
	timer_delete(guard);
}
