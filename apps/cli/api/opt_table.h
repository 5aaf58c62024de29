/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines from tables of options, for commands with or without the vocabulary of a run (options.h). */
#ifndef WEFT_OPT_TABLE_H
#define WEFT_OPT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weft/err.h"

/* One option `--name VALUE`; in YAML `name: VALUE`. An empty name takes the one argument without dashes. */
struct opt_desc {
	const char *name; /* NULL ends a table */
	const char *arg;  /* what the value is, for --help; NULL: a flag without value */
	const char *help; /* NULL: --help leaves it out */
	int (*set)(void *field, const char *value, struct weft_err *err); /* the opt_* functions below */
	size_t offset;   /* of the field in the struct the table describes */
	bool repeatable; /* its values add up, so it may be a list in files; --help says so, which weftlab reads */
};

int opt_string(void *field, const char *value, struct weft_err *err);   /* const char *, not copied */
int opt_flag(void *field, const char *value, struct weft_err *err);     /* bool, set to true */
int opt_u32(void *field, const char *value, struct weft_err *err);      /* uint32_t */
int opt_u64(void *field, const char *value, struct weft_err *err);      /* uint64_t, decimal or 0x... */
int opt_seed(void *field, const char *value, struct weft_err *err);     /* ... that JSON's readers take: below 2^63 */
int opt_gbps(void *field, const char *value, struct weft_err *err);     /* uint64_t bits per second from Gb/s, > 0 */
int opt_duration(void *field, const char *value, struct weft_err *err); /* weft_ns from 10ns, 5us, 2.5ms, 1s */
int opt_time(void *field, const char *value, struct weft_err *err);     /* ... and from 0us */

/* The option called so, in `len` characters; NULL: none. `table` may be NULL. */
const struct opt_desc *opt_find(const struct opt_desc *table, const char *name, size_t len);

/* An option's argument, with its value in it or behind it: *value is NULL for a flag alone. Returns the number of
 * arguments used; -EINVAL: a value is missing. */
int opt_value(const struct opt_desc *d, char **argv, const char **value, struct weft_err *err);

/* Sets the field in the struct at `base` and puts the option's name before a complaint. */
int opt_apply(const struct opt_desc *d, void *base, const char *value, struct weft_err *err);

/* Prints the options for --help, without those that `shadow` also has. */
void opt_print(FILE *out, const struct opt_desc *table, const struct opt_desc *shadow);

/* A command with no other options than those of its own table. */
struct opt_command {
	const char *name, *args; /* "usage: weft NAME [OPTION]...ARGS" */
	const char *about;
	const struct opt_desc *table;
	uint32_t positional_min, positional_max; /* how many arguments without dashes it takes */
};

/* Parses argv[1..] into the struct at `base`; positional arguments, those without dashes, are moved to
 * argv[1..*positionals]. A dash and a letter stand for the only option that begins with this letter. Prints help or
 * errors. True: go on. False: leave with *status. */
bool opt_main(const struct opt_command *c, void *base, int argc, char **argv, uint32_t *positionals, int *status);

#endif
