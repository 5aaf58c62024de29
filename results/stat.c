/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat.h"

#include <math.h>
#include <stdlib.h>

/* Quantile 0.975 at 1 to 30 degrees of freedom. */
static const double t975[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
			      2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
			      2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};

double stat_t975(size_t freedom)
{
	const double z = 1.959964; /* the normal distribution's quantile */
	double f = (double)freedom;
	if (!freedom)
		return INFINITY;
	if (freedom <= sizeof t975 / sizeof *t975)
		return t975[freedom - 1];
	/* Cornish-Fisher expansion; beyond the table right to 1e-5 */
	return z + (pow(z, 3) + z) / (4 * f) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * f * f);
}

struct stat_mean stat_mean(const double *x, size_t n)
{
	struct stat_mean m = {.n = n};
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	m.mean = n ? sum / (double)n : 0;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - m.mean) * (x[i] - m.mean);
	if (n >= 2) {
		m.sd = sqrt(squares / (double)(n - 1));
		m.half = stat_t975(n - 1) * m.sd / sqrt((double)n);
	}
	return m;
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
