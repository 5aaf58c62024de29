/* SPDX-License-Identifier: BSD-3-Clause */
#include "top_link.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BANNER_BYTES = 1024,
	ANSWER_BYTES_MAX = 1 << 20, /* that we make room for; DPDK's have 16 KiB */
	PAGES_MAX = 64,
	COMMAND_BYTES = 256,
};

static int connect_to(const char *path)
{
	const struct timeval patience = {.tv_sec = 1};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

/* Who answers, and how long an answer may be. */
static int read_banner(struct top_link *link)
{
	char text[BANNER_BYTES];
	ssize_t len = recv(link->fd, text, sizeof text, 0);
	json_t *banner = len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
	json_int_t pid = json_integer_value(json_object_get(banner, "pid"));
	json_int_t room = json_integer_value(json_object_get(banner, "max_output_len"));
	json_decref(banner);
	if (pid <= 0 || pid > INT32_MAX || room <= 0 || room > ANSWER_BYTES_MAX)
		return -EPROTO;
	link->pid = (uint32_t)pid;
	link->room = (size_t)room;
	link->answer = malloc(link->room);
	return link->answer != NULL ? 0 : -ENOMEM;
}

int top_link_open(struct top_link *link, const char *path)
{
	*link = (struct top_link){.fd = connect_to(path)};
	if (link->fd < 0)
		return link->fd;
	int rc = read_banner(link);
	if (rc != 0)
		top_link_close(link);
	return rc;
}

void top_link_close(struct top_link *link)
{
	close(link->fd);
	free(link->answer);
}

json_t *top_link_ask(struct top_link *link, const char *command)
{
	char name[COMMAND_BYTES];
	if (send(link->fd, command, strlen(command), MSG_NOSIGNAL) < 0)
		return NULL;
	ssize_t len = recv(link->fd, link->answer, link->room, 0);
	json_t *whole = len > 0 ? json_loadb(link->answer, (size_t)len, 0, NULL) : NULL;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(command, ","), command);
	json_t *value = json_incref(json_object_get(whole, name));
	json_decref(whole);
	return value;
}

/* Rows are named by their numbers. Returns the cursor of the next page; 0: there is none. */
static json_int_t take_rows(json_t *rows, const json_t *page)
{
	char name[16];
	json_t *row;
	snprintf(name, sizeof name, "0");
	for (unsigned i = 1; (row = json_object_get(page, name)) != NULL; i++) {
		json_array_append(rows, row);
		snprintf(name, sizeof name, "%u", i);
	}
	return json_integer_value(json_object_get(page, "next"));
}

json_t *top_link_pages(struct top_link *link, const char *command, const char *device, bool *more)
{
	char text[COMMAND_BYTES];
	json_t *rows = json_array();
	json_int_t next = 0;
	unsigned pages = 0;
	do {
		snprintf(text, sizeof text, "%s,%s,%lld", command, device, (long long)next);
		json_t *page = top_link_ask(link, text);
		next = take_rows(rows, page);
		json_decref(page);
	} while (next != 0 && ++pages < PAGES_MAX);
	*more |= next != 0;
	return rows;
}
