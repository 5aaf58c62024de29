/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload_cdf.h"

#include <errno.h>

#include "lines.h"

/* The longest message a flow can be (weft/engine.h); it also keeps cdf_mean() within 64 bits. */
static const uint64_t bytes_max = UINT32_MAX - 1;

static int read_point(const struct lines *l, struct cdf *cdf)
{
	uint64_t bytes, below;

	if (cdf->count == CDF_POINTS_MAX)
		return lines_error(l, "more than %d points", CDF_POINTS_MAX);
	if (l->count != 2)
		return lines_error(l, "a line is 'BYTES PROBABILITY'");
	int rc = lines_u64(l, 0, "bytes", 0, bytes_max, &bytes);
	if (rc)
		return rc;
	if (!token_nano(l->tok[1], &below, NULL) || below > CDF_ONE)
		return lines_error(l, "the probability is not a number from 0 to 1 with at most nine decimals");
	const struct cdf_point *last = cdf->count ? &cdf->point[cdf->count - 1] : NULL;
	if (last && (bytes < last->bytes || below < last->below))
		return lines_error(l, "%s must not be below the line before",
				   bytes < last->bytes ? "the size" : "the probability");
	cdf->point[cdf->count++] = (struct cdf_point){bytes, (uint32_t)below};
	return 0;
}

int cdf_parse(const char *text, size_t len, const char *name, struct cdf *cdf, struct weft_err *err)
{
	struct lines l;
	int rc;

	cdf->count = 0;
	lines_init(&l, text, len, name, err);
	while ((rc = lines_next(&l)) > 0) {
		rc = read_point(&l, cdf);
		if (rc)
			return rc;
	}
	if (rc)
		return rc;
	if (!cdf->count || cdf->point[cdf->count - 1].below != CDF_ONE)
		return lines_error(&l, "the last probability must be 1");
	if (!cdf->point[cdf->count - 1].bytes)
		return lines_error(&l, "all flows are empty");
	return 0;
}

uint64_t cdf_mean(const struct cdf *cdf)
{
	const struct cdf_point *p = cdf->point;
	uint64_t sum = 2 * p[0].bytes * p[0].below;

	for (uint32_t i = 1; i < cdf->count; i++)
		sum += (p[i - 1].bytes + p[i].bytes) * (p[i].below - p[i - 1].below);
	return sum;
}

/* The quantile at a random probability with 32 bits behind 1 / CDF_ONE, rounded to the nearest byte. */
uint64_t cdf_draw(const struct cdf *cdf, struct rng *rng)
{
	typedef unsigned __int128 wide;
	const struct cdf_point *p = cdf->point;
	uint64_t u = (uint64_t)((wide)rng_next(rng) * ((uint64_t)CDF_ONE << 32) >> 64);
	uint32_t i = 0;

	while (((uint64_t)p[i].below << 32) <= u)
		i++;
	uint64_t bytes = p[i].bytes;
	if (i > 0) {
		uint64_t width = (uint64_t)(p[i].below - p[i - 1].below) << 32;
		uint64_t in = u - ((uint64_t)p[i - 1].below << 32);
		bytes = p[i - 1].bytes + (uint64_t)(((wide)(p[i].bytes - p[i - 1].bytes) * in + width / 2) / width);
	}
	return bytes ? bytes : 1;
}
