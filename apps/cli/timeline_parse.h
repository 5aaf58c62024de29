/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of `--fault`: TIME fail|degrade|renegotiate|ber|restore TARGET [VALUE] [until TIME]. doc/guide/faults.md has
 * the grammar. */
#ifndef WEFT_TIMELINE_PARSE_H
#define WEFT_TIMELINE_PARSE_H

#include "timeline.h"

/* Adds the fault `spec` says. -EINVAL with a message that names the spec and the word, -ENOMEM. */
int timeline_parse(struct timeline *t, const char *spec, struct weft_err *err);

#endif
