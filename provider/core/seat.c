/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for the processes of a host that nobody numbers: %n in FI_WEFT_DEVICE and FI_WEFT_ADDR. A process takes the
 * first number whose name among abstract sockets is free; the kernel takes it back when the process ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "prov.h"

enum { SEATS = 1024, KEY_CHARS = 72 };

/* Of this process; a forked child has its own. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* 0: none taken */
	int fd;    /* holds the number */
	char key[KEY_CHARS + 1];
	unsigned number;
} seat = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int seat_try(int fd, const char *key, unsigned number)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int len =
		snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "weft-%u-%u-%s", (unsigned)getuid(), number, key);
	return bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len))
		       ? -errno
		       : 0;
}

static int seat_take(const char *key, struct weft_err *err)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = fd < 0 ? -errno : -EADDRINUSE;
	if (fd >= 0)
		for (seat.number = 0; ret == -EADDRINUSE && seat.number < SEATS; seat.number++)
			ret = seat_try(fd, key, seat.number);
	if (ret) {
		if (fd >= 0)
			close(fd);
		return weft_err_set(err, ret, "%%n: no number below %d for this process: %s", SEATS, strerror(-ret));
	}
	seat.number--;
	seat.fd = fd;
	seat.pid = getpid();
	snprintf(seat.key, sizeof seat.key, "%s", key);
	return 0;
}

/* The setting's end tells one from another best: paths begin alike. */
int prov_seat_number(const char *setting, unsigned *number, struct weft_err *err)
{
	size_t len = strlen(setting);
	const char *key = len > KEY_CHARS ? setting + len - KEY_CHARS : setting;
	int ret = 0;
	pthread_mutex_lock(&seat.lock);
	if (seat.pid != getpid() || strcmp(seat.key, key) != 0) {
		if (seat.pid)
			close(seat.fd); /* the parent's, which keeps it, or of another setting */
		seat.pid = 0;
		ret = seat_take(key, err);
	}
	*number = seat.number;
	pthread_mutex_unlock(&seat.lock);
	return ret;
}
