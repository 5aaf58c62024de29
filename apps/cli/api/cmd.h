/* SPDX-License-Identifier: BSD-3-Clause */
/* Subcommands of `weft`. Each gets its own name as argv[0] and returns the process's exit code: 0 success, 1 the run
 * failed, 2 wrong usage. */
#ifndef WEFT_CMD_H
#define WEFT_CMD_H

int weft_cmd_sim(int argc, char **argv);
int weft_cmd_bench(int argc, char **argv);
int weft_cmd_switch(int argc, char **argv);

#endif
