/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TOP_CMD_H
#define WEFT_TOP_CMD_H

/* `weft top`: see cmd.h. */
int weft_cmd_top(int argc, char **argv);

#endif
