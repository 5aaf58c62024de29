/* SPDX-License-Identifier: BSD-3-Clause */
#include "series_flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int series_flows_open(struct series_flows *s, const struct lab *lab, const char *dir, struct weft_err *err)
{
	s->count = lab_flow_count(lab);
	s->arrived = calloc(s->count + 1, sizeof *s->arrived);
	if (!s->arrived)
		return weft_err_set(err, -ENOMEM, "no memory for a time series of %u flows", s->count);
	return csv_open(&s->csv, dir, "arrivals.csv", "time_us,interval_us,flow,bytes", err);
}

bool series_flows_sample(struct series_flows *s, const struct lab *lab, weft_ps since, weft_ps now)
{
	bool any = false;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t arrived = lab_flow_arrived(lab, i);
		if (arrived == s->arrived[i])
			continue;
		fprintf(s->csv.file, "%.3f,%.3f,%u,%" PRIu64 "\n", csv_us(now), csv_us(now - since), i,
			arrived - s->arrived[i]);
		s->arrived[i] = arrived;
		any = true;
	}
	return any;
}

int series_flows_close(struct series_flows *s, struct weft_err *err)
{
	free(s->arrived);
	return csv_close(&s->csv, err);
}
