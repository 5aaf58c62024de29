/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the command that are programs of their own, so that `weft sim` needs neither their libraries nor the time
 * that those take to load. */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H

enum { LAUNCH_MISSING = 3 }; /* exit code: a program or package is not installed */

/* Become the program `weft-` + argv[0] or the Python package weftlab with argv[0] as its command. They return only when
 * that is not possible: LAUNCH_MISSING, after a message that says what to install. */
int launch_program(int argc, char **argv);
int launch_weftlab(int argc, char **argv);

#endif
