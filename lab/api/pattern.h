/* SPDX-License-Identifier: BSD-3-Clause */
/* Payload that can be recognised: every flow sends a stretch of one pseudo-random pattern, so a receiver can tell right
 * bytes from wrong ones without storing any. */
#ifndef WEFT_PATTERN_H
#define WEFT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"

/* A readable region of at least the size asked for, with little memory behind it: about 1 MiB mapped again and again.
 * The period is no multiple of any packet size, so a chunk at a wrong offset is noticed. */
struct pattern {
	uint8_t *base;
	size_t mapped_bytes;
};

/* Room for flows of up to `max_bytes`. -ENOMEM and other errno values with a message. */
int pattern_create(struct pattern *p, uint64_t max_bytes, struct weft_err *err);
void pattern_destroy(struct pattern *p);

/* The bytes that flow `index` sends. */
const uint8_t *pattern_of(const struct pattern *p, uint32_t index);

/* Checks the payload of one flow as it arrives. */
struct pattern_check {
	const uint8_t *expect;
	uint64_t bytes; /* of the flow */
	uint64_t salt;
	uint64_t arrived; /* bytes seen so far */
	uint64_t chain; /* starts cancel ends of pieces: 0 for the empty set, hash(size) - hash(0) for an exact cover */
	bool wrong;     /* some byte differed or could not be seen */
};

void pattern_check_init(struct pattern_check *c, const struct pattern *p, uint32_t index, uint64_t bytes);

/* As a weft_sink_fn gets them: bytes of the flow that `arg`, a struct pattern_check, is about. */
void pattern_check_sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len);

/* Every byte of the flow arrived exactly once, with the right value. */
bool pattern_check_ok(const struct pattern_check *c);

#endif
