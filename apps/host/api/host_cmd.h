/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_CMD_H
#define WEFT_HOST_CMD_H

/* The subcommand `host`: as those of cmd.h. */
int weft_cmd_host(int argc, char **argv);

#endif
