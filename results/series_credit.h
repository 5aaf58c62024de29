/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of credits.csv: what receivers that schedule credits know of their senders. */
#ifndef WEFT_SERIES_CREDIT_H
#define WEFT_SERIES_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "csv.h"
#include "u64map.h"
#include "weft/engine.h"

/* Last states of all senders seen; the file is made with the first. */
struct series_credits {
	const char *dir; /* the caller's */
	struct csv csv;
	struct u64map last; /* by receiver and sender: struct weft_rcc_view, ours */
	struct weft_err broken;
	weft_ps now;
	uint32_t host; /* whose senders are looked at */
	bool active;   /* a row was written in this sample */
};

void series_credits_open(struct series_credits *s, const char *dir);

/* Begins a sample. */
void series_credits_begin(struct series_credits *s, weft_ps now);

/* A row for each sender of `host` that differs from its row before. `engine` NULL: none. */
void series_credits_host(struct series_credits *s, uint32_t host, const struct weft_engine *engine);

/* -ENOMEM, or -EIO when rows could not be written; with a message. */
int series_credits_check(const struct series_credits *s, struct weft_err *err);

/* Errors as csv_close. */
int series_credits_close(struct series_credits *s, struct weft_err *err);

#endif
