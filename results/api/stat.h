/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics over a sample: what tables and plots say of several seeds, and of many flows. Units are the caller's. */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include <stddef.h>

/* A sample's mean and how sure of it one may be. */
struct stat_mean {
	size_t n;
	double mean; /* 0 when n is 0 */
	double sd;   /* of the sample (n - 1 in the denominator); 0 below two values */
	double half; /* half width of the 95 % confidence interval of the mean, Student's t; 0 below two values */
};

/* `x` needs no order. */
struct stat_mean stat_mean(const double *x, size_t n);

/* Student's t that 97.5 % lie below, at `freedom` degrees (values less one); 0 degrees: infinity. */
double stat_t975(size_t freedom);

/* Ascending, in place. */
void stat_sort(double *x, size_t n);

/* By nearest rank: the smallest value that at least `share` (0 < share <= 1) of the values do not exceed. `sorted`
 * ascending; 0 when n is 0. */
double stat_percentile(const double *sorted, size_t n, double share);

#endif
