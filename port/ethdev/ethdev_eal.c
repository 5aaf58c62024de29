/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL, once per process, and the clock that runs on its calibrated TSC. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "ethdev_args.h"
#include "ethdev_dev.h"
#include "ethdev_dirs.h"
#include "weft/ethdev.h"

static pthread_mutex_t eal_lock = PTHREAD_MUTEX_INITIALIZER;
static bool eal_up;     /* under eal_lock */
static bool eal_tried;  /* under eal_lock; rte_eal_init was called */
static bool eal_failed; /* under eal_lock; EAL cannot be started again after most failures */
/* EAL keeps pointers into its arguments as long as it runs; leak checkers look for ours. */
static char *eal_text __attribute__((used));

/* Origin of weft_clock_ns. `mult` is ns per tick in units of 2^-32; 0 until EAL has calibrated the TSC. */
static struct {
	uint64_t tsc;
	weft_ns ns;
	_Atomic uint64_t mult;
} clock_base;

static weft_ns clock_kernel_ns(void)
{
	static _Atomic uint64_t origin;
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	uint64_t now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	uint64_t unset = 0;
	atomic_compare_exchange_strong(&origin, &unset, now - 1);
	return now - atomic_load(&origin);
}

weft_ns weft_clock_ns(void)
{
	uint64_t mult = atomic_load_explicit(&clock_base.mult, memory_order_acquire);
	if (mult == 0)
		return clock_kernel_ns();
	return clock_base.ns + (weft_ns)(((unsigned __int128)(rte_rdtsc() - clock_base.tsc) * mult) >> 32);
}

/* From now on the clock reads the TSC; it goes on from where the kernel's clock stood. */
static void clock_start(void)
{
	uint64_t hz = rte_get_tsc_hz();
	if (atomic_load(&clock_base.mult) != 0 || hz == 0)
		return;
	clock_base.ns = clock_kernel_ns();
	clock_base.tsc = rte_rdtsc();
	uint64_t mult = (uint64_t)(((unsigned __int128)1000000000u << 32) / hz);
	atomic_store_explicit(&clock_base.mult, mult, memory_order_release);
}

/* EAL reports some failures without an error number, such as files that another process has locked. */
static int eal_failure(struct weft_err *err)
{
	int code = rte_errno > 0 ? rte_errno : EIO;
	return weft_err_set(err, -code, "EAL: cannot start: %s (its log lines say more: --log-level=*:info)",
			    rte_errno > 0 ? rte_strerror(rte_errno) : "it gives no reason");
}

/* With telemetry, EAL has made a directory of ours beside those of other processes. */
static void dirs_tidy(const struct eal_args *a)
{
	const char *own = a->silent || a->prefix ? NULL : rte_eal_get_runtime_dir();
	char parent[PATH_MAX];

	if (own == NULL || (size_t)snprintf(parent, sizeof parent, "%s", own) >= sizeof parent)
		return;
	char *name = strrchr(parent, '/');
	if (name == NULL)
		return;
	*name = '\0';
	ethdev_dirs_tidy(parent);
}

static int eal_init(char *text, struct weft_err *err)
{
	struct eal_args a;

	if (!eal_args_split(&a, text))
		return weft_err_set(err, -E2BIG, "EAL: more than %d arguments", EAL_ARGS_MAX - EAL_ARGS_OURS);
	eal_args_complete(&a);
	eal_tried = true;
	sigset_t before;
	ethdev_sigpipe_hold(&before); /* EAL's threads inherit it */
	rte_errno = 0;
	int rc = rte_eal_init(a.argc, a.argv);
	ethdev_sigpipe_release(&before);
	if (rc < 0)
		return rte_errno != EALREADY ? eal_failure(err) : 0;
	dirs_tidy(&a);
	return 0;
}

/* The lcore count is set as soon as anybody called rte_eal_init; asking it avoids EAL's complaint about a second call.
 */
static int eal_start_locked(const char *args, struct weft_err *err)
{
	if (eal_up || rte_lcore_count() > 0)
		return 0;
	if (args == NULL)
		args = getenv("WEFT_EAL_ARGS");
	char *text = strdup(args != NULL ? args : WEFT_EAL_DEFAULTS);
	if (text == NULL)
		return weft_err_set(err, -ENOMEM, "EAL: out of memory");
	int rc = eal_init(text, err);
	if (rc != 0)
		free(text);
	else
		eal_text = text;
	return rc;
}

int weft_eal_start(const char *eal_args, struct weft_err *err)
{
	pthread_mutex_lock(&eal_lock);
	int rc = eal_failed ? weft_err_set(err, -EALREADY, "EAL: an earlier start failed; only a new process can retry")
			    : eal_start_locked(eal_args, err);
	if (rc == 0) {
		eal_up = true;
		clock_start();
	} else {
		eal_failed = eal_tried;
	}
	pthread_mutex_unlock(&eal_lock);
	return rc;
}

/* "-a ADDRESS" for each PCI device. False: too many for `size`. */
static bool pci_args(const char *const *devs, unsigned count, char *args, size_t size)
{
	size_t len = strlen(args);
	for (unsigned i = 0; i < count && len < size; i++)
		if (eal_is_pci(devs[i]))
			len += (size_t)snprintf(args + len, size - len, " -a %s", devs[i]);
	return len < size;
}

int weft_eal_start_for(const char *const *devs, unsigned count, bool telemetry, struct weft_err *err)
{
	char args[2048] = WEFT_EAL_ALONE;
	bool pci = false;
	for (unsigned i = 0; i < count; i++)
		pci |= eal_is_pci(devs[i]);
	if (getenv("WEFT_EAL_ARGS") != NULL)
		return weft_eal_start(NULL, err);
	if (pci)
		strcpy(args, eal_has_hugepages() ? "--in-memory" : WEFT_EAL_NO_HUGEPAGES);
	if (!telemetry)
		strcat(args, " --no-telemetry");
	if (!pci_args(devs, count, args, sizeof args))
		return weft_err_set(err, -E2BIG, "EAL: too many PCI devices");
	return weft_eal_start(args, err);
}
