/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a branch mostly goes, where the compiler guesses wrong and it shows: on the way of every packet, where a
 * row of checks that all pass looks to it like a place hardly ever reached. */
#ifndef WEFT_LIKELY_H
#define WEFT_LIKELY_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
