/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "dpdk_telemetry.v2" /* that of a process which does not share its directory */

/* Whether there is a socket and nobody listens. The process may be one of another PID namespace: the socket tells. */
static bool is_refused(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof at.sun_path)
		return false;
	strcpy(at.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	bool refused = connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* "weft-PID" of a process that is not there. */
static bool has_dead_name(const char *name)
{
	int pid, len = 0;
	if (sscanf(name, "weft-%d%n", &pid, &len) != 1 || name[len] != '\0' || pid <= 0)
		return false;
	return kill(pid, 0) != 0 && errno == ESRCH;
}

static bool dir_remove(const char *parent, const char *name)
{
	char dir[sizeof((struct sockaddr_un *)NULL)->sun_path], path[sizeof dir + sizeof SOCKET];
	if ((size_t)snprintf(dir, sizeof dir, "%s/%s", parent, name) >= sizeof dir)
		return false;
	snprintf(path, sizeof path, "%s/" SOCKET, dir);
	return is_refused(path) && unlink(path) == 0 && rmdir(dir) == 0;
}

unsigned ethdev_dirs_tidy(const char *parent)
{
	unsigned removed = 0;
	DIR *dir = opendir(parent);
	if (dir == NULL)
		return 0;
	for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
		removed += has_dead_name(e->d_name) && dir_remove(parent, e->d_name);
	closedir(dir);
	return removed;
}
