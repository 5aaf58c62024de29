/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "metric_int.h"

const struct metric *metric_at(uint32_t index)
{
	if (index < metrics_of_flows_count)
		return &metrics_of_flows[index];
	index -= metrics_of_flows_count;
	return index < metrics_of_fabric_count ? &metrics_of_fabric[index] : NULL;
}

const struct metric *metric_find(const char *name)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		if ((m->name && !strcmp(m->name, name)) || (m->json && !strcmp(m->json, name)))
			return m;
	}
	return NULL;
}

bool metric_is_count(const struct metric *m)
{
	return m->type == METRIC_U32 || m->type == METRIC_U64;
}

uint64_t metric_count(const struct metric *m, const struct run_record *record)
{
	const char *field = (const char *)record + m->offset;
	assert(metric_is_count(m));
	return m->type == METRIC_U32 ? *(const uint32_t *)field : *(const uint64_t *)field;
}

double metric_value(const struct metric *m, const struct run_record *record)
{
	const char *field = (const char *)record + m->offset;
	if (m->type == METRIC_REAL)
		return *(const double *)field;
	if (m->type == METRIC_PS)
		return (double)*(const weft_ps *)field / 1e6;
	return (double)metric_count(m, record);
}
