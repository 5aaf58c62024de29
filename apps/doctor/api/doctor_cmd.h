/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DOCTOR_CMD_H
#define WEFT_DOCTOR_CMD_H

/* `weft doctor`. Returns 0 everything is fine, 1 something will not work, 2 wrong usage, 3 it works, with warnings. */
int weft_cmd_doctor(int argc, char **argv);

#endif
