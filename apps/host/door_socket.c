/* SPDX-License-Identifier: BSD-3-Clause */
#include "door_socket.h"

#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "socket_path.h"

enum { BACKLOG = 64, LINE_BYTES = 512 };

int door_socket_listen(const char *path, mode_t mode, int type, const struct switch_user *user, int *out,
		       struct weft_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int rc = socket_path_make_free(path, user, err);
	if (rc != 0)
		return rc;
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	*out = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*out < 0 || bind(*out, (struct sockaddr *)&addr, sizeof addr) != 0 || chmod(path, mode) != 0 ||
	    listen(*out, BACKLOG) != 0)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

bool door_socket_tell(int fd, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	return n > 0 && n < LINE_BYTES && send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
}

int door_socket_group(const char *name, gid_t *gid, struct weft_err *err)
{
	char *end;
	const struct group *group = getgrnam(name);
	*gid = group != NULL ? group->gr_gid : (gid_t)strtoul(name, &end, 10);
	if (group == NULL && (*name < '0' || *name > '9' || *end != '\0'))
		return weft_err_set(err, -ENOENT, "--group %.60s: there is no such group", name);
	return 0;
}

int door_socket_give(const char *path, const char *name, struct weft_err *err)
{
	gid_t gid;
	int rc = door_socket_group(name, &gid, err);
	if (rc != 0)
		return rc;
	if (chown(path, (uid_t)-1, gid) == 0)
		return 0;
	return weft_err_set(err, -errno, "%s: cannot be given to group %.60s: %s", path, name, strerror(errno));
}
