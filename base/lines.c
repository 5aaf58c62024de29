/* SPDX-License-Identifier: BSD-3-Clause */
#include "lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void lines_init(struct lines *l, const char *text, size_t len, const char *name, struct weft_err *err)
{
	*l = (struct lines){.pos = text, .end = text + len, .name = name, .err = err};
}

static int lines_verror(const struct lines *l, uint32_t line, const char *fmt, va_list ap)
{
	char reason[192];

	vsnprintf(reason, sizeof reason, fmt, ap);
	return weft_err_set(l->err, -EINVAL, "%s:%u: %s", l->name, line, reason);
}

int lines_error(const struct lines *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = lines_verror(l, l->line, fmt, ap);
	va_end(ap);
	return rc;
}

int lines_error_at(const struct lines *l, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = lines_verror(l, line, fmt, ap);
	va_end(ap);
	return rc;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts [s, end) into l->tok. */
static int split(struct lines *l, const char *s, const char *end)
{
	l->count = 0;
	while (s < end) {
		if (is_blank(*s)) {
			s++;
			continue;
		}
		const char *start = s;
		while (s < end && !is_blank(*s))
			s++;
		if (l->count == LINES_TOKENS_MAX)
			return lines_error(l, "more than %d words in a line", LINES_TOKENS_MAX);
		l->tok[l->count++] = (struct token){start, (size_t)(s - start)};
	}
	return 0;
}

int lines_next(struct lines *l)
{
	while (l->pos < l->end) {
		const char *start = l->pos;
		const char *eol = memchr(start, '\n', (size_t)(l->end - start));
		if (!eol)
			eol = l->end;
		const char *hash = memchr(start, '#', (size_t)(eol - start));
		l->pos = eol < l->end ? eol + 1 : eol;
		l->line++;
		int rc = split(l, start, hash ? hash : eol);
		if (rc)
			return rc;
		if (l->count)
			return 1;
	}
	return 0;
}

bool token_is(struct token t, const char *word)
{
	return strlen(word) == t.len && strncasecmp(t.s, word, t.len) == 0;
}

bool lines_is(const struct lines *l, uint32_t i, const char *word)
{
	return i < l->count && token_is(l->tok[i], word);
}

bool token_u64(struct token t, uint64_t *out, struct token *rest)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < t.len && t.s[i] >= '0' && t.s[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(t.s[i] - '0'), &v))
			return false;
	if (rest)
		*rest = (struct token){t.s + i, t.len - i};
	*out = v;
	return i > 0 && (rest || i == t.len);
}

bool token_nano(struct token t, uint64_t *out, struct token *rest)
{
	uint64_t whole, unit = 1000000000;
	struct token tail;

	if (!token_u64(t, &whole, &tail) || whole >= unit)
		return false;
	*out = whole * unit;
	if (tail.len && tail.s[0] == '.') {
		size_t i = 1;
		for (; i < tail.len && tail.s[i] >= '0' && tail.s[i] <= '9'; i++) {
			unit /= 10;
			if (!unit)
				return false;
			*out += unit * (uint64_t)(tail.s[i] - '0');
		}
		if (i == 1)
			return false;
		tail = (struct token){tail.s + i, tail.len - i};
	}
	if (rest)
		*rest = tail;
	return rest || !tail.len;
}

/* How much of a token a message shows. */
static int shown(struct token t)
{
	return t.len < 40 ? (int)t.len : 40;
}

int lines_u64(const struct lines *l, uint32_t i, const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	if (i >= l->count)
		return lines_error(l, "%s: a number is missing", what);
	struct token t = l->tok[i];
	if (!token_u64(t, out, NULL))
		return lines_error(l, "%s: '%.*s' is not a number", what, shown(t), t.s);
	if (*out < min || *out > max)
		return lines_error(l, "%s: %llu is not in %llu..%llu", what, (unsigned long long)*out,
				   (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int lines_u32(const struct lines *l, uint32_t i, const char *what, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	int rc = lines_u64(l, i, what, min, max, &v);

	*out = (uint32_t)v;
	return rc;
}

uint32_t spec_split(const char *spec, struct token *tok, uint32_t max)
{
	uint32_t n = 0;

	for (const char *s = spec;; s++) {
		const char *end = strchrnul(s, ':');
		if (n < max)
			tok[n] = (struct token){s, (size_t)(end - s)};
		n++;
		if (!*end)
			return n;
		s = end;
	}
}

int spec_u32(const char *spec, struct token t, const char *what, uint32_t min, uint32_t max, uint32_t *out,
	     struct weft_err *err)
{
	uint64_t v;

	if (!token_u64(t, &v, NULL) || v < min || v > max)
		return weft_err_set(err, -EINVAL, "%s: %s must be a number in %u..%u", spec, what, min, max);
	*out = (uint32_t)v;
	return 0;
}
