/* SPDX-License-Identifier: BSD-3-Clause */
/* Labs made by calls, without a command line. All of these fail the test with the message when something does not work.
 */
#ifndef WEFT_TEST_LAB_RUN_H
#define WEFT_TEST_LAB_RUN_H

#include "lab.h"

/* Four leaves, four spines, 16 hosts at 50 Gb/s, and this workload; the workload is the caller's to free. */
void lab_run_configure(struct lab_config *c, const char *pattern);

/* lab_create. */
struct lab *lab_run_make(const struct lab_config *c);

/* lab_run. */
void lab_run_finish(struct lab *lab);

/* Both runs had the same flows, times and digest, and every payload was right. */
void lab_run_assert_same(struct lab *a, struct lab *b);

#endif
