/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for the processes of a host: %n in FI_WEFT_DEVICE and FI_WEFT_ADDR. */
#ifndef PROV_PROC_NUMBER_H
#define PROV_PROC_NUMBER_H

#include "weft/err.h"

/* Takes the first number that no other living process of this host, user and setting has. The process keeps it until it
 * ends or asks for another setting. -EADDRINUSE: all are taken; errors of socket(2) and bind(2). */
int prov_proc_number_take(const char *setting, unsigned *number, struct weft_err *err);

#endif
