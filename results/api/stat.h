/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics over a sample: what a result says of many flows. Units are the caller's. */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include <stddef.h>

/* `x` needs no order; 0 when n is 0. */
double stat_mean(const double *x, size_t n);

/* Ascending, in place. */
void stat_sort(double *x, size_t n);

/* By nearest rank: the smallest value that at least `share` (0 < share <= 1) of the values do not exceed. `sorted`
 * ascending; 0 when n is 0. */
double stat_percentile(const double *sorted, size_t n, double share);

#endif
