/* SPDX-License-Identifier: BSD-3-Clause */
/* A process takes the first number whose name among abstract sockets is free; the kernel takes it back when the process
 * ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>

#include "proc_number.h"

enum { NUMBERS = 1024, KEY_CHARS = 72 };

/* Of this process; a forked child has its own. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* 0: none taken */
	int fd;    /* holds the number */
	char key[KEY_CHARS + 1];
	unsigned number;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int name_bind(int fd, const char *key, unsigned number)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int len =
		snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "weft-%u-%u-%s", (unsigned)getuid(), number, key);
	return bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len))
		       ? -errno
		       : 0;
}

static int number_take(const char *key, struct weft_err *err)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = fd < 0 ? -errno : -EADDRINUSE;
	if (fd >= 0)
		for (own.number = 0; ret == -EADDRINUSE && own.number < NUMBERS; own.number++)
			ret = name_bind(fd, key, own.number);
	if (ret) {
		if (fd >= 0)
			close(fd);
		return weft_err_set(err, ret, "%%n: no number below %d for this process: %s", NUMBERS, strerror(-ret));
	}
	own.number--;
	own.fd = fd;
	own.pid = getpid();
	snprintf(own.key, sizeof own.key, "%s", key);
	return 0;
}

/* Uses the end of the setting as key, because paths often have the same beginning. */
int prov_proc_number_take(const char *setting, unsigned *number, struct weft_err *err)
{
	size_t len = strlen(setting);
	const char *key = len > KEY_CHARS ? setting + len - KEY_CHARS : setting;
	int ret = 0;
	pthread_mutex_lock(&own.lock);
	if (own.pid != getpid() || strcmp(own.key, key) != 0) {
		if (own.pid)
			close(own.fd); /* it belongs to the parent, which keeps its own copy, or to another setting */
		own.pid = 0;
		ret = number_take(key, err);
	}
	*number = own.number;
	pthread_mutex_unlock(&own.lock);
	return ret;
}
