/* SPDX-License-Identifier: BSD-3-Clause */
/* gnuplot as a child process: a script in, SVG out. No shell is involved and no name of a file is made up. */
#ifndef WEFT_REPORT_GNUPLOT_H
#define WEFT_REPORT_GNUPLOT_H

#include <stdio.h>

#include "weft/err.h"

/* Writes a text of any content as a quoted string of a script; gnuplot_run turns it back into the same text. */
void gnuplot_string(FILE *script, const char *text);

/* As gnuplot_string, for the labels of tics, which gnuplot takes for formats; shortened when very long. */
void gnuplot_tic(FILE *script, const char *text);

/* Runs `script` (written, at any position) and gives the SVG element it drew, without XML declaration, its internal
 * names made unique by `id`. The caller frees it. NULL with a message. */
char *gnuplot_run(FILE *script, unsigned id, struct weft_err *err);

#endif
