/* SPDX-License-Identifier: BSD-3-Clause */
/* From a member to what holds it, and the length of an array. libfabric's headers define both up to 1.x, and no longer
 * in 2.x. */
#ifndef BASE_MEMBER_H
#define BASE_MEMBER_H

#include <stddef.h>

/* The struct `type` whose member `field` is at `ptr`. */
#ifndef container_of
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#endif

/* Elements of array `x`; not for pointers. */
#ifndef count_of
#define count_of(x) (sizeof(x) / sizeof((x)[0]))
#endif

#endif
