/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up result.h. */
#ifndef WEFT_RESULT_INT_H
#define WEFT_RESULT_INT_H

#include <jansson.h>

#include "result.h"

/* Adds what is known of a run's origin to its JSON. -ENOMEM. */
int result_add_origin(json_t *json, const struct run_origin *origin);

#endif
