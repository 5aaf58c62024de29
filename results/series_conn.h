/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of conns.csv. */
#ifndef WEFT_SERIES_CONN_H
#define WEFT_SERIES_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "csv.h"
#include "u64map.h"
#include "weft/engine.h"

/* Last states of all connections seen. */
struct series_conns {
	struct csv csv;
	struct u64map last; /* by both ends: struct conn_state, ours */
	struct weft_err broken;
	uint32_t host; /* whose connections are looked at */
	weft_ps since, now;
	bool active; /* a row was written in this sample */
};

int series_conns_open(struct series_conns *c, const char *dir, struct weft_err *err);

/* Begins a sample at `now`, the one before was at `since`. */
void series_conns_begin(struct series_conns *c, weft_ps since, weft_ps now);

/* A row for each connection of `host`, but for those of background messages, that differs from its row before. `engine`
 * NULL: none. */
void series_conns_host(struct series_conns *c, uint32_t host, const struct weft_engine *engine);

/* -ENOMEM, or -EIO when rows could not be written; with a message. */
int series_conns_check(const struct series_conns *c, struct weft_err *err);

/* Errors as csv_close. */
int series_conns_close(struct series_conns *c, struct weft_err *err);

#endif
