/* SPDX-License-Identifier: BSD-3-Clause */
#include "supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connected to `name`, a path, or with '@' first a name outside the file system. -1: not possible. */
static int connected_to(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	if ((name[0] != '/' && name[0] != '@') || len >= sizeof addr.sun_path)
		return -1;
	memcpy(addr.sun_path, name, len);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A decimal number above 0 and nothing behind it; 0: anything else. */
static unsigned long long number(const char *text)
{
	char *end = NULL;
	if (text == NULL || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? n : 0;
}

/* WATCHDOG_PID is there when the variables could reach other processes than the one they are for. */
static weft_ns interval(void)
{
	const char *pid = getenv("WATCHDOG_PID");
	unsigned long long us = number(getenv("WATCHDOG_USEC"));
	if ((pid != NULL && number(pid) != (unsigned long long)getpid()) || us > UINT64_MAX / 1000)
		return 0;
	return (weft_ns)(us * 1000 / 2);
}

void supervisor_open(struct supervisor *s)
{
	const char *name = getenv("NOTIFY_SOCKET");
	*s = (struct supervisor){.fd = name != NULL ? connected_to(name) : -1};
	if (s->fd >= 0)
		s->interval_ns = interval();
}

void supervisor_tell(const struct supervisor *s, const char *state)
{
	if (s->fd >= 0)
		(void)!send(s->fd, state, strlen(state), MSG_NOSIGNAL);
}

void supervisor_is_alive(struct supervisor *s, weft_ns now)
{
	if (s->interval_ns == 0 || now - s->told_ns < s->interval_ns)
		return;
	s->told_ns = now;
	supervisor_tell(s, "WATCHDOG=1");
}

void supervisor_close(struct supervisor *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
