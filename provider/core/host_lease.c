/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft host` answers each connection with a line, and the port is the process's as long as the connection is there. */
#include "host_lease.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define DIR_DEFAULT "/run/weft-host"

enum { LINE_BYTES = 256, PATIENCE_S = 5 };

/* Of this process; a forked child has its own. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* 0: none taken */
	int fd;    /* holds the port */
	char dir[sizeof((struct sockaddr_un *)0)->sun_path];
	struct prov_host_lease lease;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *prov_host_dir(const char *device)
{
	if (strcmp(device, "host") == 0)
		return DIR_DEFAULT;
	return strncmp(device, "host:", 5) == 0 ? device + 5 : NULL;
}

static int host_connect(const char *dir, struct weft_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	if ((size_t)snprintf(addr.sun_path, sizeof addr.sun_path, "%s/host", dir) >= sizeof addr.sun_path)
		return weft_err_set(err, -ENAMETOOLONG, "FI_WEFT_DEVICE: '%s' is too long for a socket's path", dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
	    connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
		return fd;
	int rc = -errno;
	if (fd >= 0)
		close(fd);
	return weft_err_set(err, rc, "%s: no weft host: %s", addr.sun_path, strerror(-rc));
}

/* A line without its end; -errno. */
static int line_read(int fd, char line[LINE_BYTES])
{
	size_t n = 0;
	while (n < LINE_BYTES - 1) {
		ssize_t got = recv(fd, line + n, 1, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EPROTO;
		if (line[n] == '\n') {
			line[n] = 0;
			return 0;
		}
		n++;
	}
	return -EPROTO;
}

static bool ip_read(const char *text, struct weft_ip *ip)
{
	struct in_addr v4;
	if (inet_pton(AF_INET, text, &v4) == 1)
		*ip = weft_ip_v4(ntohl(v4.s_addr));
	else
		return inet_pton(AF_INET6, text, ip->b) == 1;
	return true;
}

static int answer_read(int fd, const char *dir, struct prov_host_lease *lease, struct weft_err *err)
{
	char line[LINE_BYTES], address[INET6_ADDRSTRLEN];
	int ret = line_read(fd, line);
	if (ret)
		return weft_err_set(err, ret, "%s/host: no answer: %s", dir, strerror(-ret));
	if (strncmp(line, "no ", 3) == 0)
		return weft_err_set(err, -EBUSY, "%s: weft host gives no port: %s", dir, line + 3);
	if (sscanf(line, "port %107s %45s %u", lease->path, address, &lease->mtu_bytes) != 3 ||
	    !ip_read(address, &lease->ip))
		return weft_err_set(err, -EPROTO, "%s/host: what listens there is no weft host", dir);
	return 0;
}

static int take(const char *dir, struct weft_err *err)
{
	int fd = host_connect(dir, err);
	if (fd < 0)
		return fd;
	int ret = answer_read(fd, dir, &own.lease, err);
	if (ret) {
		close(fd);
		return ret;
	}
	own.fd = fd;
	own.pid = getpid();
	snprintf(own.dir, sizeof own.dir, "%s", dir);
	return 0;
}

int prov_host_lease_take(const char *dir, struct prov_host_lease *lease, struct weft_err *err)
{
	int ret = 0;
	pthread_mutex_lock(&own.lock);
	if (own.pid != getpid() || strcmp(own.dir, dir) != 0) {
		if (own.pid)
			close(own.fd); /* the parent keeps its own copy */
		own.pid = 0;
		ret = take(dir, err);
	}
	if (!ret)
		*lease = own.lease;
	pthread_mutex_unlock(&own.lock);
	return ret;
}
