/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario file that describes one run. Files with cases, a sweep or seeds are weftlab's. */
#ifndef WEFT_SIM_FILE_H
#define WEFT_SIM_FILE_H

#include "options.h"

/* Whether the file describes more than one run, in *many; nothing else is looked at. An errno of reading, or -EINVAL
 * with file and line. */
int sim_file_is_many(const char *path, bool *many, struct weft_err *err);

/* Reads the options of a file and then those of the command line, which win, and resolves them. Results go into the
 * directory that the command line or the file says, or weft-out/ and the file's name; a capture lies beside them.
 * Messages as file:line: key: reason. Errors of options_parse. `given` outlives *o, which is for options_free in any
 * case. */
int sim_file_read(struct options *o, const char *path, const struct options *given, struct weft_err *err);

#endif
