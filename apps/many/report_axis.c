/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_axis.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

static const char *axis_name(const struct data *d, size_t i)
{
	const char *name =
		json_string_value(json_object_get(json_array_get(json_object_get(d->sweep, "axes"), i), "name"));
	return name ? name : "";
}

static size_t axis_count(const struct data *d)
{
	return json_array_size(json_object_get(d->sweep, "axes"));
}

/* A value as a reader writes it, to be freed. */
static char *text_of(const json_t *value)
{
	if (!value)
		return strdup("");
	return json_is_string(value) ? strdup(json_string_value(value))
				     : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

/* Index of a text in a list, added when new; takes the text over. (size_t)-1: no memory. */
static size_t index_of(char ***list, size_t *count, size_t *room, char *text)
{
	for (size_t i = 0; text && i < *count; i++) {
		if (!strcmp((*list)[i], text)) {
			free(text);
			return i;
		}
	}
	if (!text || !array_reserve(list, *count, room, sizeof **list)) {
		free(text);
		return (size_t)-1;
	}
	(*list)[*count] = text;
	return (*count)++;
}

/* "case, axis=value, ..." without the first axis, to be freed. */
static char *series_text(const struct data *d, const struct data_combo *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		return NULL;
	fputs(c->case_name, f);
	for (size_t i = 1; i < axis_count(d); i++) {
		char *value = text_of(json_object_get(c->values, axis_name(d, i)));
		fprintf(f, "%s%s=%s", *c->case_name || i > 1 ? ", " : "", axis_name(d, i), value ? value : "");
		free(value);
	}
	fclose(f);
	return text;
}

/* Fills numbers when each cluster is one. */
static int find_numbers(struct axes *a, const struct data *d)
{
	if (axis_count(d) != 1 || a->cluster_count < 2)
		return 0;
	for (size_t i = 0; i < d->combo_count; i++) {
		if (!json_is_number(json_object_get(d->combos[i].values, a->name)))
			return 0;
	}
	a->numbers = calloc(a->cluster_count, sizeof *a->numbers);
	for (size_t i = 0; a->numbers && i < d->combo_count; i++) {
		const json_t *value = json_object_get(d->combos[i].values, a->name);
		a->numbers[a->of[i].cluster] = json_number_value(value);
	}
	return a->numbers ? 0 : -ENOMEM;
}

int axes_find(struct axes *a, const struct data *d)
{
	bool by_axis = axis_count(d) > 0;
	*a = (struct axes){.name = by_axis ? axis_name(d, 0) : "", .of = calloc(d->combo_count, sizeof *a->of)};
	int rc = a->of ? 0 : -ENOMEM;
	for (size_t i = 0; i < d->combo_count && !rc; i++) {
		const struct data_combo *c = &d->combos[i];
		char *cluster = by_axis ? text_of(json_object_get(c->values, a->name)) : strdup(c->name);
		char *series = by_axis ? series_text(d, c) : strdup("");
		a->of[i].cluster = index_of(&a->clusters, &a->cluster_count, &a->cluster_room, cluster);
		a->of[i].series = index_of(&a->series, &a->series_count, &a->series_room, series);
		if (a->of[i].cluster == (size_t)-1 || a->of[i].series == (size_t)-1)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = find_numbers(a, d);
	if (rc)
		axes_free(a);
	return rc;
}

void axes_free(struct axes *a)
{
	for (size_t i = 0; i < a->cluster_count; i++)
		free(a->clusters[i]);
	for (size_t i = 0; i < a->series_count; i++)
		free(a->series[i]);
	free(a->clusters);
	free(a->series);
	free(a->numbers);
	free(a->of);
	*a = (struct axes){0};
}
