/* SPDX-License-Identifier: BSD-3-Clause */
/* The control connection: JSON objects, one a line, over TCP. */
#ifndef WEFT_PERF_CTL_H
#define WEFT_PERF_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "weft/err.h"

enum { PERF_CTL_LINE_MAX = 1 << 20, PERF_CTL_HOST_MAX = 64 };

struct perf_ctl {
	int fd;
	char peer[PERF_CTL_HOST_MAX];  /* address in text */
	char local[PERF_CTL_HOST_MAX]; /* ours on this connection */
	char *line;                    /* what has come of the next line; owned */
	size_t len;
};

/* Waits for a client on a TCP port of all addresses. Negative errno with a message. */
int perf_ctl_listen(uint16_t port, int *listener, struct weft_err *err);
int perf_ctl_accept(int listener, struct perf_ctl *c, struct weft_err *err);

/* Connects to a server, whose name or address is in text; tries for `wait_ms` while nobody listens there. */
int perf_ctl_connect(const char *host, uint16_t port, int wait_ms, struct perf_ctl *c, struct weft_err *err);
void perf_ctl_close(struct perf_ctl *c);

/* Sends an object, which is consumed. -EPIPE with a message naming the peer. */
int perf_ctl_send(struct perf_ctl *c, json_t *object, struct weft_err *err);

/* Takes the next object if it is there within `wait_ms`: 1 and *object is the caller's; 0: not yet; negative errno with
 * a message: the peer is gone, sends nonsense, or an "error", which is the message then. */
int perf_ctl_poll(struct perf_ctl *c, int wait_ms, json_t **object, struct weft_err *err);

/* The same, but what does not come in time is an error (-ETIMEDOUT). */
int perf_ctl_recv(struct perf_ctl *c, int wait_ms, json_t **object, struct weft_err *err);

#endif
