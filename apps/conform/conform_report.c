/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_report.h"

#include <jansson.h>
#include <stdio.h>

enum { VERDICT_FINE = 0, VERDICT_DEPARTS = 1, VERDICT_NOT_ASKED = 2, VERDICT_SILENT = 3 };

/* Whether any row of the column has another result than these two. */
static bool column_has_others(const struct conform_report *r, uint32_t column, enum conform_result a,
			      enum conform_result b)
{
	for (uint32_t i = 0; i < r->row_count; i++)
		if (r->rows[i].results[column] != a && r->rows[i].results[column] != b)
			return true;
	return false;
}

static bool column_answers(const struct conform_report *r, uint32_t column)
{
	return column_has_others(r, column, CONFORM_SILENT, CONFORM_SKIPPED);
}

/* Who was asked nothing was not silent. */
static bool column_asked(const struct conform_report *r, uint32_t column)
{
	return column_has_others(r, column, CONFORM_SKIPPED, CONFORM_SKIPPED);
}

/* Whether an endpoint of this profile may have this result. */
static bool is_fine(const struct conform_row *row, enum conform_result result)
{
	if (result == CONFORM_PASS || result == CONFORM_SKIPPED)
		return true;
	return row->need != CONFORM_AI_BASE && result == CONFORM_REFUSED;
}

static uint32_t count(const struct conform_report *r, uint32_t column, enum conform_need need, bool fine_only)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->row_count; i++)
		if (r->rows[i].row->need == need && r->rows[i].results[column] != CONFORM_SKIPPED)
			n += !fine_only || is_fine(r->rows[i].row, r->rows[i].results[column]);
	return n;
}

int conform_verdict(const struct conform_report *r)
{
	int verdict = VERDICT_NOT_ASKED;

	for (uint32_t column = 0; column < r->columns; column++) {
		if (verdict == VERDICT_NOT_ASKED && column_asked(r, column))
			verdict = VERDICT_SILENT;
		if (!column_answers(r, column))
			continue;
		bool fine = count(r, column, CONFORM_AI_BASE, true) == count(r, column, CONFORM_AI_BASE, false);
		if (!fine)
			return VERDICT_DEPARTS;
		verdict = VERDICT_FINE;
	}
	return verdict;
}

static void print_rows(const struct conform_report *r)
{
	printf("%-18s %-9s", "row", "profile");
	for (uint32_t k = 0; k < r->columns; k++)
		printf(" %-8s", r->column_names[k]);
	printf(" what is asked\n");
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct conform_row *row = r->rows[i].row;
		printf("%-18s %-9s", row->name, conform_need_name(row->need));
		for (uint32_t k = 0; k < r->columns; k++)
			printf(" %-8s", conform_result_name(r->rows[i].results[k]));
		printf(" %s\n", row->title);
	}
}

static void print_departures(const struct conform_report *r)
{
	bool first = true;

	for (uint32_t i = 0; i < r->row_count; i++)
		for (uint32_t k = 0; k < r->columns; k++) {
			if (!r->rows[i].why[k][0])
				continue;
			printf("%s  %s, %s: %s\n", first ? "\nDepartures:\n" : "", r->rows[i].row->name,
			       r->column_names[k], r->rows[i].why[k]);
			first = false;
		}
}

void conform_print(const struct conform_report *r)
{
	print_rows(r);
	print_departures(r);
	printf("\n");
	for (uint32_t k = 0; k < r->columns; k++) {
		if (!column_answers(r, k)) {
			printf("%s: %s\n", r->column_names[k],
			       column_asked(r, k) ? "no answer" : "nothing asked: all rows need a larger --region");
			continue;
		}
		printf("%s:", r->column_names[k]);
		for (enum conform_need need = CONFORM_AI_BASE; need <= CONFORM_HPC; need++)
			printf(" %s %u of %u%s", conform_need_name(need), count(r, k, need, true),
			       count(r, k, need, false), need == CONFORM_HPC ? "\n" : ",");
	}
}

static json_t *json_rows(const struct conform_report *r, uint32_t column)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < r->row_count; i++)
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "row", r->rows[i].row->name, "title",
						      r->rows[i].row->title, "profile",
						      conform_need_name(r->rows[i].row->need), "result",
						      conform_result_name(r->rows[i].results[column]), "why",
						      r->rows[i].why[column]));
	return rows;
}

bool conform_print_json(const struct conform_report *r)
{
	json_t *columns = json_array(), *open = json_array();

	for (uint32_t k = 0; k < r->columns; k++)
		json_array_append_new(columns, json_pack("{s:s, s:b, s:b, s:o}", "encapsulation", r->column_names[k],
							 "asked", column_asked(r, k), "answers", column_answers(r, k),
							 "rows", json_rows(r, k)));
	for (const struct conform_free *f = conform_free_fields; f->name; f++)
		json_array_append_new(open, json_pack("{s:s, s:s}", "name", f->name, "why", f->why));
	json_t *root = json_pack("{s:s, s:s, s:i, s:o, s:o}", "device", r->device, "peer", r->peer, "status",
				 conform_verdict(r), "encapsulations", columns, "not_compared", open);
	bool printed = root != NULL && json_dumpf(root, stdout, JSON_INDENT(2)) == 0;
	json_decref(root);
	putchar('\n');
	return printed;
}
