/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of what was found. */
#ifndef WEFT_CONFORM_REPORT_H
#define WEFT_CONFORM_REPORT_H

#include "conform.h"

enum { REPORT_ROWS_MAX = 96, REPORT_COLUMNS = 2 };

struct conform_report {
	const char *device;
	char peer[64];
	uint32_t columns;
	const char *column_names[REPORT_COLUMNS];
	struct {
		const struct conform_row *row;
		enum conform_result results[REPORT_COLUMNS];
		char why[REPORT_COLUMNS][256];
	} rows[REPORT_ROWS_MAX];
	uint32_t row_count;
};

/* 0: nothing mandatory in AI Base departs or is silent in a column that answers; 1: something does; 2: nothing was
 * asked, for all rows need a region; 3: nobody answers. */
int conform_verdict(const struct conform_report *r);

void conform_print(const struct conform_report *r);

/* False: it could not be written. */
bool conform_print_json(const struct conform_report *r);

#endif
