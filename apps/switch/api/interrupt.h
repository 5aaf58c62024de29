/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the waiting of threads that a library has begun and offers no other way to wake. */
#ifndef WEFT_INTERRUPT_H
#define WEFT_INTERRUPT_H

#include <stdint.h>

/* Every thread of this process with that name gets a signal (SIGURG, which is taken over and does nothing), so that a
 * poll() it waits in ends with EINTR; reads and writes go on. Returns how many there are. */
uint32_t interrupt_threads(const char *name);

#endif
