/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_STALL_GUARD_H
#define WEFT_HOST_STALL_GUARD_H

#include <time.h>

#include "weft/err.h"

/* A client can keep who writes to its event waiting for as long as it likes. While there is a guard, no system call of
 * the thread that made it waits for longer than STALL_MAX_MS: a signal ends it. */
enum { STALL_MAX_MS = 10 };

/* The system's error, with a message. */
int stall_guard_start(timer_t *guard, struct weft_err *err);
void stall_guard_stop(timer_t guard);

#endif
