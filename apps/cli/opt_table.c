/* SPDX-License-Identifier: BSD-3-Clause */
#include "opt_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weft/time.h"

int opt_string(void *field, const char *value, struct weft_err *err)
{
	(void)err;
	*(const char **)field = value;
	return 0;
}

int opt_flag(void *field, const char *value, struct weft_err *err)
{
	bool off = value && (!strcmp(value, "false") || !strcmp(value, "off"));
	if (value && !off && strcmp(value, "true") != 0 && strcmp(value, "on") != 0)
		return weft_err_set(err, -EINVAL, "'%s' is neither true nor false", value);
	*(bool *)field = !off;
	return 0;
}

int opt_u64(void *field, const char *value, struct weft_err *err)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(value, &end, strncasecmp(value, "0x", 2) == 0 ? 16 : 10);
	if (errno || *end || end == value || strchr(value, '-'))
		return weft_err_set(err, -EINVAL, "'%s' is not a number", value);
	*(uint64_t *)field = n;
	return 0;
}

static int up_to(uint64_t most, const char *value, uint64_t *n, struct weft_err *err)
{
	int rc = opt_u64(n, value, err);
	return rc || *n <= most ? rc : weft_err_set(err, -ERANGE, "%s is too large", value);
}

int opt_seed(void *field, const char *value, struct weft_err *err)
{
	uint64_t n = 0;
	int rc = up_to(INT64_MAX, value, &n, err);
	if (!rc)
		*(uint64_t *)field = n;
	return rc;
}

int opt_u32(void *field, const char *value, struct weft_err *err)
{
	uint64_t n = 0;
	int rc = up_to(UINT32_MAX, value, &n, err);
	if (!rc)
		*(uint32_t *)field = (uint32_t)n;
	return rc;
}

int opt_gbps(void *field, const char *value, struct weft_err *err)
{
	char *end;
	double gbps = strtod(value, &end);
	if (*end || end == value || !(gbps >= 0.001 && gbps <= 100000))
		return weft_err_set(err, -EINVAL, "'%s' is not a rate in Gb/s (0.001 to 100000)", value);
	*(uint64_t *)field = (uint64_t)(gbps * 1e9 + 0.5);
	return 0;
}

/* `least` 0: at once is a time, too; 1: it is not. */
static int read_time(weft_ns *field, const char *value, weft_ns least, struct weft_err *err)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end = NULL;
	double n = strtod(value, &end);
	for (unsigned i = 0; end != value && n >= 0 && i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].unit) != 0 || n * units[i].ns > 1e15 || n * units[i].ns < (double)least)
			continue;
		*field = (weft_ns)(n * units[i].ns);
		return 0;
	}
	return weft_err_set(err, -EINVAL, "'%s' is not a time such as 500us, 20ms or 1s", value);
}

int opt_duration(void *field, const char *value, struct weft_err *err)
{
	return read_time(field, value, 1, err);
}

int opt_time(void *field, const char *value, struct weft_err *err)
{
	return read_time(field, value, 0, err);
}

const struct opt_desc *opt_find(const struct opt_desc *table, const char *name, size_t len)
{
	for (; table && table->name; table++) {
		if (strlen(table->name) == len && !strncmp(table->name, name, len))
			return table;
	}
	return NULL;
}

int opt_value(const struct opt_desc *d, char **argv, const char **value, struct weft_err *err)
{
	const char *eq = strchr(argv[0], '=');
	*value = eq ? eq + 1 : d->arg ? argv[1] : NULL;
	if (d->arg && !*value)
		return weft_err_set(err, -EINVAL, "option '%s' needs a value: %s", argv[0], d->arg);
	return d->arg && !eq ? 2 : 1;
}

int opt_apply(const struct opt_desc *d, void *base, const char *value, struct weft_err *err)
{
	struct weft_err why = {""};
	int rc = d->set((char *)base + d->offset, value, &why);
	return rc ? weft_err_set(err, rc, "%s: %.200s", d->name, why.msg) : 0;
}

void opt_print(FILE *out, const struct opt_desc *table, const struct opt_desc *shadow)
{
	for (; table && table->name; table++) {
		char left[64];
		if (!*table->name || !table->help || opt_find(shadow, table->name, strlen(table->name)))
			continue;
		snprintf(left, sizeof left, "--%s %s", table->name, table->arg ? table->arg : "");
		fprintf(out, "  %-28s %s%s\n", left, table->help, table->repeatable ? "; repeatable" : "");
	}
}

/* The option an argument names: by its name, or by its first letter if no other begins with that. */
static const struct opt_desc *named_by(const struct opt_desc *table, const char *arg)
{
	const struct opt_desc *found = NULL;
	if (!strncmp(arg, "--", 2))
		return opt_find(table, arg + 2, strcspn(arg + 2, "="));
	for (; arg[1] && !arg[2] && table->name; table++) {
		if (table->name[0] == arg[1] && found)
			return NULL;
		found = table->name[0] == arg[1] ? table : found;
	}
	return found;
}

static void print_usage(const struct opt_command *c, FILE *out)
{
	static const struct opt_desc help[] = {{"help", NULL, "this text", NULL, 0}, {NULL, NULL, NULL, NULL, 0}};
	fprintf(out, "usage: weft %s%s [OPTION]...\n%s\n\n", c->name, c->args, c->about);
	opt_print(out, c->table, NULL);
	opt_print(out, help, NULL);
}

/* Returns 0 or a negative errno with a message; -ECANCELED: help is wanted. */
static int parse(const struct opt_command *c, void *base, int argc, char **argv, uint32_t *positionals,
		 struct weft_err *err)
{
	*positionals = 0;
	for (int i = 1, used; i < argc; i += used) {
		const char *value;
		used = 1;
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (*positionals == c->positional_max)
				return weft_err_set(err, -EINVAL, "unexpected argument '%s'", argv[i]);
			argv[++*positionals] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return -ECANCELED;
		const struct opt_desc *d = named_by(c->table, argv[i]);
		if (!d)
			return weft_err_set(err, -ENOENT, "unknown option '%s' (see --help)", argv[i]);
		struct weft_err why = {""};
		used = opt_value(d, argv + i, &value, err);
		int rc = used < 0 ? used : opt_apply(d, base, value, &why);
		if (rc)
			return used < 0 ? rc : weft_err_set(err, rc, "--%.250s", why.msg);
	}
	return 0;
}

bool opt_main(const struct opt_command *c, void *base, int argc, char **argv, uint32_t *positionals, int *status)
{
	struct weft_err err = {""};
	int rc = parse(c, base, argc, argv, positionals, &err);
	*status = rc == -ECANCELED ? 0 : 2;
	if (rc == -ECANCELED)
		print_usage(c, stdout);
	else if (rc)
		fprintf(stderr, "weft %s: %s\n", c->name, err.msg);
	else if (*positionals < c->positional_min)
		print_usage(c, stderr);
	return !rc && *positionals >= c->positional_min;
}
