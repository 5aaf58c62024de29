/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_peer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ethdev_dev.h"
#include "weft/ethdev.h"

enum { SOCKET_PATH_MAX = sizeof((struct sockaddr_un *)0)->sun_path };

static bool dir_is_of(const char *dir, uid_t user)
{
	struct stat st;
	return stat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == user) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Goes from directory to directory up to the root. */
static bool path_is_of(const char *path, uid_t user)
{
	char dir[PATH_MAX];
	if (realpath(path, dir) == NULL)
		return false;
	for (char *slash; (slash = strrchr(dir, '/')) != NULL && slash != dir;) {
		*slash = '\0';
		if (!dir_is_of(dir[0] != '\0' ? dir : "/", user))
			return false;
	}
	return dir_is_of("/", user);
}

bool peer_is_trusted(const char *path, uid_t listener, uid_t own)
{
	return listener == 0 || listener == own || path_is_of(path, listener);
}

/* Who listens there; a negative errno. */
static int listener_find(const char *path, uid_t *listener)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred cred;
	socklen_t size = sizeof cred;
	int rc = 0, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0)
		rc = -errno;
	else
		*listener = cred.uid;
	close(fd);
	return rc;
}

/* The socket's path; false: the device needs none, or it is not there. */
static bool path_find(const char *devargs, char path[SOCKET_PATH_MAX])
{
	struct stat st;
	return ethdev_driver_is(devargs, "net_virtio_user") && strstr(devargs, ",server=1") == NULL &&
	       weft_ethdev_arg(devargs, "path", path, SOCKET_PATH_MAX) && stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool peer_is_awaited(const char *devargs)
{
	char path[SOCKET_PATH_MAX];
	return path_find(devargs, path);
}

bool peer_listens(const char *devargs)
{
	return peer_is_awaited(devargs) && peer_check(devargs, NULL) == 0;
}

int peer_check(const char *devargs, struct weft_err *err)
{
	char path[SOCKET_PATH_MAX];
	uid_t listener = 0;
	if (!path_find(devargs, path))
		return 0;
	int rc = listener_find(path, &listener);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot connect: %s", path, strerror(-rc));
	if (peer_is_trusted(path, listener, geteuid()))
		return 0;
	return weft_err_set(
		err, -EPERM,
		"%s: user %u listens there, in a directory that is not theirs alone; that process would map "
		"this one's memory",
		path, (unsigned)listener);
}
