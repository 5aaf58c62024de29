/* SPDX-License-Identifier: BSD-3-Clause */
/* Time is an argument everywhere: nanoseconds since an origin the caller chooses (boot, start of a virtual run). */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <stdint.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

typedef uint64_t weft_ns; /* nanoseconds */
typedef uint64_t weft_ps; /* picoseconds: the fabric's unit; 2^64 ps are 213 days */

#define WEFT_NEVER UINT64_MAX
#define WEFT_US(n) ((weft_ns)(n)*1000u)
#define WEFT_MS(n) ((weft_ns)(n)*1000000u)
#define WEFT_S(n)  ((weft_ns)(n)*1000000000u)

WEFT_END_DECLS

#endif
