/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers whose other end is a process repeat dozens of times that it is gone. Whoever uses the port is told once
 * (weft_ethdev_on_link) and says it in its own words. */
#ifndef ETHDEV_QUIET_H
#define ETHDEV_QUIET_H

#include <stdbool.h>

/* From now on these drivers say what is critical only, unless they were told to say more than usual; and later what
 * they said before. Returns whether they were quiet. */
bool quiet_set(bool quiet);

#endif
