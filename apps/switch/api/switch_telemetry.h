/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a running switch, for others to read over DPDK's telemetry (/weft/ports). */
#ifndef WEFT_SWITCH_TELEMETRY_H
#define WEFT_SWITCH_TELEMETRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "rtnet.h"
#include "switch_port.h"
#include "weft/telemetry.h"

/* The thread that polls the switch answers: nothing else may look at it. */
struct switch_telemetry {
	/* Set before the start; the caller's until the stop. */
	const char *name; /* of the device */
	struct rtnet *rtnet;
	const struct switch_ports *ports;
	void (*more)(void *arg, uint32_t port, struct weft_port_row *row); /* adds values; NULL: there are none */
	void *more_arg;
	/* Ours. */
	struct weft_telemetry device;
	bool is_there; /* telemetry knows it */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	_Atomic bool asked;
	/* under `lock`: what is asked for, until `asked` is false again */
	uint32_t *cursor;
	struct weft_port_row *rows;
	unsigned room, count;
};

/* Begins to answer; without telemetry the switch runs as well. */
void switch_telemetry_start(struct switch_telemetry *t);
/* While the switch is not polled any more. */
void switch_telemetry_stop(struct switch_telemetry *t);
/* By the thread that polls, between polls: cheap when nobody asks. */
void switch_telemetry_answer(struct switch_telemetry *t);

#endif
