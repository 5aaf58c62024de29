/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_ctl.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 100 };

static void host_text(int (*name_of)(int, struct sockaddr *, socklen_t *), int fd, char text[PERF_CTL_HOST_MAX])
{
	struct sockaddr_storage addr = {0};
	socklen_t len = sizeof addr;
	text[0] = '\0';
	if (name_of(fd, (struct sockaddr *)&addr, &len) == 0)
		getnameinfo((struct sockaddr *)&addr, len, text, PERF_CTL_HOST_MAX, NULL, 0, NI_NUMERICHOST);
	if (strncmp(text, "::ffff:", 7) == 0) /* an IPv4 address seen through an IPv6 socket */
		memmove(text, text + 7, strlen(text + 7) + 1);
}

static int ctl_begin(struct perf_ctl *c, int fd, struct weft_err *err)
{
	static const int on = 1;
	*c = (struct perf_ctl){.fd = fd, .line = malloc(PERF_CTL_LINE_MAX)};
	if (!c->line) {
		close(fd);
		return weft_err_set(err, -ENOMEM, "no memory");
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	host_text(getpeername, fd, c->peer);
	host_text(getsockname, fd, c->local);
	return 0;
}

int perf_ctl_listen(uint16_t port, int *listener, struct weft_err *err)
{
	static const int on = 1, off = 0;
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_v6 = fd >= 0;
	if (!is_v6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return weft_err_set(err, -errno, "no socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (is_v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	const struct sockaddr *addr = is_v6 ? (struct sockaddr *)&any : (struct sockaddr *)&any4;
	if (bind(fd, addr, is_v6 ? sizeof any : sizeof any4) || listen(fd, 1)) {
		int rc = weft_err_set(err, -errno, "cannot listen on TCP port %u: %s", port, strerror(errno));
		close(fd);
		return rc;
	}
	*listener = fd;
	return 0;
}

int perf_ctl_accept(int listener, struct perf_ctl *c, struct weft_err *err)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return weft_err_set(err, -errno, "cannot accept a client: %s", strerror(errno));
	return ctl_begin(c, fd, err);
}

/* The first of the addresses that answers; -1 with errno. */
static int connect_any(const struct addrinfo *list)
{
	for (; list; list = list->ai_next) {
		int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0)
			return fd;
		int error = errno;
		if (fd >= 0)
			close(fd);
		errno = error;
	}
	return -1;
}

int perf_ctl_connect(const char *host, uint16_t port, int wait_ms, struct perf_ctl *c, struct weft_err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	char service[8];
	snprintf(service, sizeof service, "%u", port);
	int rc = getaddrinfo(host, service, &hints, &list), fd;
	if (rc)
		return weft_err_set(err, -EINVAL, "%s: %s", host, gai_strerror(rc));
	while ((fd = connect_any(list)) < 0 && errno == ECONNREFUSED && wait_ms > 0) {
		nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
		wait_ms -= RETRY_MS;
	}
	rc = fd < 0 ? weft_err_set(err, -errno, "%s port %u: %s; is `weft perf` running there?", host, port,
				   strerror(errno))
		    : ctl_begin(c, fd, err);
	freeaddrinfo(list);
	return rc;
}

void perf_ctl_close(struct perf_ctl *c)
{
	if (c->line)
		close(c->fd);
	free(c->line);
	*c = (struct perf_ctl){.fd = -1};
}

int perf_ctl_send(struct perf_ctl *c, json_t *object, struct weft_err *err)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0, sent = 0;
	json_decref(object);
	if (!text)
		return weft_err_set(err, -ENOMEM, "no memory");
	text[len++] = '\n'; /* in place of the zero */
	while (sent < len) {
		ssize_t n = send(c->fd, text + sent, len - sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	free(text);
	return sent == len ? 0 : weft_err_set(err, -EPIPE, "%s: control connection: %s", c->peer, strerror(errno));
}

/* Parses the first line; what is behind it stays. */
static int take_line(struct perf_ctl *c, size_t line_len, json_t **object, struct weft_err *err)
{
	json_error_t why;
	json_t *o = json_loadb(c->line, line_len, 0, &why);
	c->len -= line_len + 1;
	memmove(c->line, c->line + line_len + 1, c->len);
	if (!json_is_object(o)) {
		json_decref(o);
		return weft_err_set(err, -EPROTO, "%s: control connection: not what weft perf says", c->peer);
	}
	const char *error = json_string_value(json_object_get(o, "error"));
	if (error) {
		int rc = weft_err_set(err, -EREMOTEIO, "%s says: %s", c->peer, error);
		json_decref(o);
		return rc;
	}
	*object = o;
	return 1;
}

static int receive_more(struct perf_ctl *c, struct weft_err *err)
{
	if (c->len == PERF_CTL_LINE_MAX)
		return weft_err_set(err, -EPROTO, "%s: control connection: a line of more than %d bytes", c->peer,
				    PERF_CTL_LINE_MAX);
	ssize_t n = recv(c->fd, c->line + c->len, PERF_CTL_LINE_MAX - c->len, 0);
	if (n < 0 && errno != EINTR)
		return weft_err_set(err, -errno, "%s: control connection: %s", c->peer, strerror(errno));
	if (n == 0)
		return weft_err_set(err, -ECONNRESET, "%s has closed the control connection", c->peer);
	c->len += n > 0 ? (size_t)n : 0;
	return 0;
}

int perf_ctl_poll(struct perf_ctl *c, int wait_ms, json_t **object, struct weft_err *err)
{
	for (;;) {
		const char *end = memchr(c->line, '\n', c->len);
		if (end)
			return take_line(c, (size_t)(end - c->line), object, err);
		struct pollfd fd = {.fd = c->fd, .events = POLLIN};
		int ready = poll(&fd, 1, wait_ms);
		if (ready == 0)
			return 0;
		int rc = ready > 0 ? receive_more(c, err) : 0;
		if (rc)
			return rc;
	}
}

int perf_ctl_recv(struct perf_ctl *c, int wait_ms, json_t **object, struct weft_err *err)
{
	int rc = perf_ctl_poll(c, wait_ms, object, err);
	return rc ? (rc > 0 ? 0 : rc)
		  : weft_err_set(err, -ETIMEDOUT, "%s has said nothing for %d s", c->peer, wait_ms / 1000);
}
