/* SPDX-License-Identifier: BSD-3-Clause */
/* What client and server tell each other. */
#ifndef WEFT_PERF_SESSION_H
#define WEFT_PERF_SESSION_H

#include "perf_ctl.h"
#include "perf_run.h"

/* Agrees upon `side->job` with the server and joins all connections.
 * -errno with a message, as all below. */
int perf_client_open(struct perf_ctl *ctl, struct perf_side *side, const struct perf_where *where,
		     struct weft_err *err);

/* Measures a row. */
int perf_client_row(struct perf_ctl *ctl, struct perf_side *side, enum perf_test test, uint32_t bytes, bool warmup,
		    struct perf_result *result, struct weft_err *err);

/* Serves one client until it leaves. */
int perf_serve(struct perf_ctl *ctl, struct perf_where *where, struct weft_err *err);

#endif
