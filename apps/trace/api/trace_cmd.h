/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TRACE_CMD_H
#define WEFT_TRACE_CMD_H

/* `weft trace`. Returns 0, 1 when there is nothing to read or it could not be written, 2 wrong usage. */
int weft_cmd_trace(int argc, char **argv);

#endif
