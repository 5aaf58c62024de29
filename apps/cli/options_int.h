/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that implement options.h. */
#ifndef WEFT_OPTIONS_INT_H
#define WEFT_OPTIONS_INT_H

#include "options.h"

/* ---- options.c ---- */

/* The common options. */
extern const struct opt_desc options_table[];

/* The option called so, in `len` characters, and the struct it lives in; NULL: there is none. */
const struct opt_desc *options_lookup(struct options *o, const struct opt_desc *extra, void *extra_base,
				      const char *name, size_t len, void **base);

/* Sets it, and notes it unless it is of another struct than `o`. Errors as options_set. */
int options_apply(struct options *o, const struct opt_desc *d, void *base, const char *value, struct weft_err *err);

/* ---- options_resolve.c ---- */

/* Why `auto` stands for the congestion control that it stands for, in a few words. */
extern const char options_cc_auto_reason[];

/* ---- options_file.c ---- */

/* A name that looks like a path, or exists, is a file; everything else is a preset or pattern. */
bool options_is_file(const char *name);

/* The workload of --matrix and --background; the topology is known. */
int options_resolve_matrix(struct options *o, struct weft_err *err);

/* ---- options_params.c: parameters of the parts of this run, which are known ---- */

/* Sets all to their defaults. */
void options_default_params(struct options *o);

/* Sets the one that `s` names. -ENOENT: no part has it, -EINVAL, -ERANGE; with a message. */
int options_set_param(struct options *o, const struct opt_setting *s, struct weft_err *err);

/* Prints the names of all, for a user who gave an unknown one. */
void options_print_keys(const struct options *o, FILE *out);

/* options_refuse.c: whether a load balancer can count through all paths that digits name. */
bool options_paths_countable(const struct options *o);
/* options_refuse.c: -EINVAL with the reason when these algorithms make no sense together; all parameters are set. */
int options_refuse(const struct options *o, struct weft_err *err);

/* options_credit.c: whether a parameter whose name begins so was set. */
bool options_is_set(const struct options *o, const char *prefix);

/* options_credit.c: what algorithms that schedule credits need. */
/* Whether `o->lab.rcc` is one. */
bool options_credits_scheduled(const struct options *o);
/* The switches' choice: as given, or else the one `o->lab.rcc` needs. */
const char *options_credit_route(const struct options *o);
/* Credit queues, unless the user set them, once all parameters are; sets o->lab.warning. -EINVAL: the fabric lacks what
 * the algorithm needs, and that is strict. */
int options_credit_fabric(struct options *o, struct weft_err *err);

#endif
