/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up result.h. */
#ifndef WEFT_RESULT_INT_H
#define WEFT_RESULT_INT_H

#include <jansson.h>

#include "result.h"

/* Adds what is known of a run's origin to its JSON. -ENOMEM. */
int result_add_origin(json_t *json, const struct run_origin *origin);

/* Takes what the fabric counted by tier and direction. */
void result_set_hops(struct run_result *r, const struct weft_net_stats *stats);

/* Adds where packets waited to a run's JSON. -ENOMEM. */
int result_add_hops(json_t *json, const struct run_result *r);
void result_read_hops(const json_t *json, struct run_result *r);
void result_print_hops(const struct run_result *r, FILE *out);

#endif
