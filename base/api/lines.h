/* SPDX-License-Identifier: BSD-3-Clause */
/* Line by line reading of the blank separated text formats (.topo, .cm): tokens, comments from '#' on, numbers. */
#ifndef WEFT_LINES_H
#define WEFT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"

enum { LINES_TOKENS_MAX = 32 };

/* A piece of the text, not terminated. */
struct token {
	const char *s;
	size_t len;
};

struct lines {
	const char *pos, *end;
	const char *name; /* for messages */
	uint32_t line;    /* number of the current line, from 1 */
	uint32_t count;   /* tokens in it */
	struct token tok[LINES_TOKENS_MAX];
	struct weft_err *err; /* where lines_error writes; may be NULL */
};

void lines_init(struct lines *l, const char *text, size_t len, const char *name, struct weft_err *err);

/* Moves to the next line that has tokens. 1: there is one, 0: end of the text, -EINVAL: too many tokens. */
int lines_next(struct lines *l);

/* True when token `i` is there and equals `word`, in any case. */
bool lines_is(const struct lines *l, uint32_t i, const char *word);

/* Token `i` as a decimal number in min..max. -EINVAL with a message that names `what`. */
int lines_u64(const struct lines *l, uint32_t i, const char *what, uint64_t min, uint64_t max, uint64_t *out);
int lines_u32(const struct lines *l, uint32_t i, const char *what, uint32_t min, uint32_t max, uint32_t *out);

/* Formats "name:line: reason" for the current line, or another one; returns -EINVAL. */
int lines_error(const struct lines *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int lines_error_at(const struct lines *l, uint32_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* True when the token equals `word`, in any case. */
bool token_is(struct token t, const char *word);

/* The decimal number at the start of the token; false when there is none or it does not fit. *rest (if not NULL) gets
 * what follows it, otherwise nothing may follow. */
bool token_u64(struct token t, uint64_t *out, struct token *rest);

/* The same for a decimal number with at most nine places, below 10^9, in billionths: "0.6" is 600000000. */
bool token_nano(struct token t, uint64_t *out, struct token *rest);

/* Cuts "a:b:c" at the colons into at most `max` tokens; returns how many there are (more than `max` are not stored). */
uint32_t spec_split(const char *spec, struct token *tok, uint32_t max);

/* Field `i` of a cut spec as a number in min..max; the message names `what` and shows the whole spec. -EINVAL. */
int spec_u32(const char *spec, struct token t, const char *what, uint32_t min, uint32_t max, uint32_t *out,
	     struct weft_err *err);

#endif
