/* SPDX-License-Identifier: BSD-3-Clause */
/* What alloc_fail.so offers the program that it is loaded into; NULL where it is not. */
#ifndef WEFT_TEST_ALLOC_FAIL_H
#define WEFT_TEST_ALLOC_FAIL_H

/* Memory is back: nothing is counted or refused until alloc_fail_resume. */
extern void alloc_fail_stop(void) __attribute__((weak));
extern void alloc_fail_resume(void) __attribute__((weak));

/* How many allocations were refused. */
extern unsigned long alloc_fail_refused(void) __attribute__((weak));

#endif
