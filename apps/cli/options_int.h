/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up options.h. */
#ifndef WEFT_OPTIONS_INT_H
#define WEFT_OPTIONS_INT_H

#include "options.h"

/* A name that looks like a path, or exists, is a file; everything else is a preset or pattern. */
bool options_is_file(const char *name);

/* The workload of --matrix and --background; the topology is known. */
int options_resolve_matrix(struct options *o, struct weft_err *err);

/* Names of all parameters these options can set, for the user who named another. */
void options_print_keys(const struct options *o, FILE *out);

/* options_refuse.c: -EINVAL with the reason when these algorithms make no sense together; all parameters are set. */
int options_refuse(const struct options *o, struct weft_err *err);

/* options_credit.c: what algorithms that schedule credits need. */
/* The switches' choice: as given, or else the one `o->rcc` needs. */
const char *options_credit_route(const struct options *o);
/* Credit queues, unless the user set them, once all parameters are; sets o->warning. -EINVAL: the fabric lacks what the
 * algorithm needs, and that is strict. */
int options_credit_fabric(struct options *o, struct weft_err *err);

#endif
