/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat.h"

#include <math.h>
#include <stdlib.h>

double stat_mean(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void stat_sort(double *x, size_t n)
{
	if (n) /* otherwise x may be NULL */
		qsort(x, n, sizeof *x, by_value);
}

double stat_percentile(const double *sorted, size_t n, double share)
{
	size_t rank = (size_t)ceil(share * (double)n);
	if (!n)
		return 0;
	return sorted[rank < 1 ? 0 : rank > n ? n - 1 : rank - 1];
}
