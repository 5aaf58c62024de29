/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus_fault.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int tell_fd = -1;

/* Of another page size the kernel takes but whole pages. */
static int page_replace(uintptr_t at)
{
	static const uintptr_t sizes[] = {UINT64_C(4) << 10, UINT64_C(2) << 20, UINT64_C(1) << 30};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (mmap((void *)(at & ~(sizes[i] - 1)), sizes[i],
			 PROT_READ | PROT_WRITE, // NOLINT(performance-no-int-to-ptr)
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED)
			return 0;
	return -1;
}

/* Only system calls. What is no such page ends the process as it would without us. */
static void on_bus(int sig, siginfo_t *info, void *context)
{
	static const uint64_t one = 1;
	int before = errno;
	if (info->si_code != BUS_ADRERR || page_replace((uintptr_t)info->si_addr) != 0) {
		signal(sig, SIG_DFL);
		return;
	}
	(void)!write(tell_fd, &one, sizeof one);
	errno = before;
}

void bus_fault_survive(int fd)
{
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
	tell_fd = fd;
	sigaction(SIGBUS, &action, NULL);
}
