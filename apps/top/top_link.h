/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking one process over its telemetry socket. */
#ifndef WEFT_TOP_LINK_H
#define WEFT_TOP_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_link {
	int fd;
	uint32_t pid;
	char *answer; /* room for one; ours */
	size_t room;
};

/* A negative errno when nobody answers there. A process that hangs is waited for at most a second. */
int top_link_open(struct top_link *link, const char *path);
void top_link_close(struct top_link *link);

/* What a command is answered with, the caller's; NULL: nothing, or no JSON. */
json_t *top_link_ask(struct top_link *link, const char *command);

/* All rows of a command that answers page by page, up to a number of pages that no small process has: then *more is
 * set. The caller's; empty when the device has nothing of the kind. */
json_t *top_link_pages(struct top_link *link, const char *command, const char *device, bool *more);

#endif
