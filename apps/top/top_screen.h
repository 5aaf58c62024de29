/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TOP_SCREEN_H
#define WEFT_TOP_SCREEN_H

#include <stdint.h>

/* Shows the processes (0: all, else the one) on the terminal until a key ends it. Returns the exit code. */
int top_screen_run(uint32_t pid, uint32_t interval_ms);

#endif
