/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka with the headers it wants before it. */
#ifndef WEFT_TEST_CMOCKA_ALL_H
#define WEFT_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
