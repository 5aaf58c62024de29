/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/spi/param.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void store(const struct weft_param *p, void *base, uint64_t value)
{
	uint8_t *field = (uint8_t *)base + p->offset;
	uint32_t value32 = (uint32_t)value;

	switch (p->type) {
	case WEFT_PARAM_BOOL:
		*field = value != 0;
		break;
	case WEFT_PARAM_U32:
		memcpy(field, &value32, sizeof value32);
		break;
	default:
		memcpy(field, &value, sizeof value);
	}
}

void weft_param_defaults(const struct weft_param *table, void *base)
{
	for (const struct weft_param *p = table; p && p->key; p++)
		store(p, base, p->def);
}

/* Multiplier of a suffix, 0 when it is none. */
static uint64_t suffix_factor(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} suffixes[] = {{"", 1},          {"k", 1000},      {"M", 1000000},  {"G", 1000000000},
			{"Ki", 1u << 10}, {"Mi", 1u << 20}, {"Gi", 1u << 30}};

	for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
		if (strcmp(suffix, suffixes[i].suffix) == 0)
			return suffixes[i].factor;
	}
	return 0;
}

/* 0, -EINVAL (not a number) or -ERANGE (above 64 bits). */
static int parse_number(const char *text, uint64_t *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	/* strtoull would take blanks and signs, and wrap negative numbers. */
	if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return -EINVAL;
	errno = 0;
	uint64_t number = strtoull(digits, &end, hex ? 16 : 10);
	uint64_t factor = suffix_factor(end);
	if (factor == 0)
		return -EINVAL;
	if (errno == ERANGE || __builtin_mul_overflow(number, factor, value))
		return -ERANGE;
	return 0;
}

/* As parse_number, also -EINVAL for words that are neither true nor false. */
static int parse_bool(const char *text, uint64_t *value)
{
	static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*value = i & 1;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct weft_param *find(const struct weft_param *table, const char *key)
{
	for (const struct weft_param *p = table; p && p->key; p++) {
		if (strcmp(p->key, key) == 0)
			return p;
	}
	return NULL;
}

/* Tells all valid keys; a list too long for the message is cut by it. */
static int unknown_key(const struct weft_param *table, const char *key, struct weft_err *err)
{
	char keys[sizeof err->msg] = "";
	size_t used = 0;

	for (const struct weft_param *p = table; p && p->key && used < sizeof keys; p++)
		used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", p->key);
	return weft_err_set(err, -ENOENT, "no parameter '%s'; valid:%s", key, used ? keys : " none");
}

int weft_param_set(const struct weft_param *table, void *base, const char *key, const char *value, struct weft_err *err)
{
	const struct weft_param *p = find(table, key);
	uint64_t number = 0;

	if (!p)
		return unknown_key(table, key, err);
	if (p->type == WEFT_PARAM_BOOL) {
		if (parse_bool(value, &number))
			return weft_err_set(err, -EINVAL, "%s: '%s' is neither on nor off", key, value);
		store(p, base, number);
		return 0;
	}
	int rc = parse_number(value, &number);
	if (rc == -EINVAL)
		return weft_err_set(err, rc, "%s: '%s' is not a number (digits or 0x, then k, M, G, Ki, Mi or Gi)", key,
				    value);
	if (rc || number < p->min || number > p->max)
		return weft_err_set(err, -ERANGE, "%s: %s is outside %" PRIu64 "..%" PRIu64, key, value, p->min,
				    p->max);
	store(p, base, number);
	return 0;
}
