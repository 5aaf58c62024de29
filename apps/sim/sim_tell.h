/* SPDX-License-Identifier: BSD-3-Clause */
/* What `weft sim` tells programs about itself, as JSON on standard output. */
#ifndef WEFT_SIM_TELL_H
#define WEFT_SIM_TELL_H

#include "options.h"

/* What a run with these options, which are resolved, consists of: schema weft.config/1. -ENOMEM; -EIO: it could not be
 * written. With a message. */
int sim_tell_config(const struct options *o, struct weft_err *err);

/* The metrics of a run: a list of objects with name, json (place in run.json), unit and help; null: it has none. Errors
 * as above. */
int sim_tell_metrics(struct weft_err *err);

#endif
