/* SPDX-License-Identifier: BSD-3-Clause */
/* Options in YAML: what option files and scenarios have in common. */
#ifndef WEFT_CONFIG_H
#define WEFT_CONFIG_H

#include "yamldoc.h"

/* Takes one option of a file: `name` without dashes and the value as on the command line; `at` is where it stands. A
 * value other than 0 means refused, and the message is set. */
typedef int (*config_put_fn)(void *arg, const char *name, const char *value, const yaml_node_t *at);

/* One pair of a mapping of options: `name: value`, `set: {parameter: value}` (as option `set`), `faults: [...]` (as
 * option `fault`, for each) or `name: [...]` of an option that is repeatable. Returns what `put` did, or -EINVAL. */
int config_pair(struct yamldoc *y, const char *name, const yaml_node_t *value, config_put_fn put, void *arg);

#endif
