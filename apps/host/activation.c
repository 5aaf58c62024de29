/* SPDX-License-Identifier: BSD-3-Clause */
#include "activation.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

int activation_take(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid() || strcmp(count, "1") != 0)
		return -1;
	int flags = fcntl(FIRST_FD, F_GETFL);
	if (flags < 0 || fcntl(FIRST_FD, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) != 0)
		return -1;
	return FIRST_FD;
}
