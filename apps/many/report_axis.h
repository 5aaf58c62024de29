/* SPDX-License-Identifier: BSD-3-Clause */
/* How the combinations of a sweep are laid out in a comparison: clusters by the first axis, series by the rest. */
#ifndef WEFT_REPORT_AXIS_H
#define WEFT_REPORT_AXIS_H

#include <stddef.h>

#include "report_data.h"

/* Where a combination stands. */
struct axes_place {
	size_t cluster, series;
};

struct axes {
	const char *name; /* of the first axis; "" without axes. Belongs to the sweep */
	char **clusters;  /* values of the first axis; without axes: the combinations' names */
	size_t cluster_count, cluster_room;
	char **series; /* case and values of the other axes; one "" when there is nothing to tell apart */
	size_t series_count, series_room;
	double *numbers;       /* clusters' values, when the only axis is numeric with several values; NULL otherwise */
	struct axes_place *of; /* of each combination */
};

/* -ENOMEM, and then there is nothing to free. */
int axes_find(struct axes *a, const struct data *d);
void axes_free(struct axes *a);

#endif
