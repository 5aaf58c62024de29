/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings in the formats of others. */
#ifndef WEFT_TRACE_WRITE_H
#define WEFT_TRACE_WRITE_H

#include <stdio.h>

#include "trace_file.h"

/* Writes all recordings; false: no memory, or the file could not be written. */
typedef bool (*trace_writer)(FILE *to, const struct trace_files *all);

/* "csv", "json" or "chrome"; NULL: no such format. */
trace_writer trace_writer_named(const char *name);

/* What the detail of an event means: "timeout" of one that was lost, for example. NULL: its number says it, or it has
 * none. */
const char *trace_detail_name(const struct weft_event *e);

#endif
