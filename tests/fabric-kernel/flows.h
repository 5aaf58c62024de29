/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows between network namespaces, by the provider or by TCP, from one polling thread: a machine with few CPUs carries
 * many hosts this way, and their clocks are one. */
#ifndef FLOWS_H
#define FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fi_side.h"
#include "weft/stats.h"

enum { FLOWS_MAX = 64, HOSTS_MAX = 16 };

/* One host: a network namespace with one interface. */
struct host {
	char netns[128]; /* path */
	char device[64]; /* FI_WEFT_DEVICE */
	char ip[64];     /* the address alone, for TCP */
	struct fi_side fi;
	fi_addr_t peers[HOSTS_MAX];
};

/* One message, or one connection that exists before the clock starts. */
struct flow {
	int src, dst; /* indices of hosts */
	size_t bytes;
	uint8_t *sent, *received;
	bool send_done, receive_done;
	int error;    /* errno of either side, 0: none */
	double fct_s; /* weft: when the sender knows that all arrived; TCP: when the last byte arrived */
	struct fi_context send_context, receive_context;
	int send_fd, receive_fd; /* TCP */
	size_t send_bytes, receive_bytes;
};

struct flows {
	struct host hosts[HOSTS_MAX];
	struct flow flows[FLOWS_MAX];
	int host_count, flow_count;
	double limit_s;            /* then the round ends, with flows that are not done */
	double event_s;            /* when `event` is run, from the start of the first round */
	const char *event;         /* a command for the shell, or NULL */
	const char *tcp_algorithm; /* TCP_CONGESTION; NULL: the provider carries the flows */
	double start_s;            /* of the round, CLOCK_MONOTONIC */
};

double flows_now_s(const struct flows *f); /* since the round began */
void flows_enter(const struct host *host); /* this thread's network namespace */

void weft_open(struct flows *f);
void weft_begin(struct flows *f);
void weft_poll(struct flows *f);
void weft_count(struct flows *f, struct weft_stats *sum);
void weft_close(struct flows *f);

void tcp_open(struct flows *f);
void tcp_poll(struct flows *f);
void tcp_close(struct flows *f);

#endif
