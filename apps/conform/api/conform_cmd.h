/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONFORM_CMD_H
#define WEFT_CONFORM_CMD_H

/* `weft conform`. Returns 0 all that AI Base asks for passes, 1 something departs, 2 wrong usage, 3 nobody answers. */
int weft_cmd_conform(int argc, char **argv);

#endif
