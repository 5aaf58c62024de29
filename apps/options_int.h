/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up options.h. */
#ifndef WEFT_OPTIONS_INT_H
#define WEFT_OPTIONS_INT_H

#include "options.h"

/* Names of all parameters these options can set, for the user who named another. */
void options_print_keys(const struct options *o, FILE *out);

#endif
