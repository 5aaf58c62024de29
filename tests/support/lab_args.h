/* SPDX-License-Identifier: BSD-3-Clause */
/* A lab as `weft sim` makes it of its arguments, which are given without argv[0] and end with NULL. */
#ifndef WEFT_TEST_LAB_ARGS_H
#define WEFT_TEST_LAB_ARGS_H

#include "options.h"

/* options_parse of these arguments. */
int args_parse(struct options *o, const char *const *args, const struct opt_desc *extra, void *extra_base,
	       struct weft_err *err);

/* args_parse and then lab_create. */
int args_lab(struct options *o, const char *const *args, struct lab **lab, struct weft_err *err);

/* The same, which must work: otherwise the test fails with the message. */
void args_lab_made(struct options *o, const char *const *args, struct lab **lab, struct weft_err *err);

/* args_lab and then outputs_open. */
int args_outputs(struct options *o, const char *const *args, struct lab **lab, struct outputs **outputs,
		 struct weft_err *err);

#endif
