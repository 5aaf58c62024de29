/* SPDX-License-Identifier: BSD-3-Clause */
/* One field of a row, as text and for sorting. */
#ifndef WEFT_TOP_CELL_H
#define WEFT_TOP_CELL_H

#include <jansson.h>

enum { TOP_CELL_BYTES = 160 };

enum top_cell {
	CELL_TEXT,
	CELL_COUNT,  /* all digits */
	CELL_NUMBER, /* three digits, with k, M, G */
	CELL_BYTES,  /* likewise, by 1,024 */
	CELL_TIME,   /* of ns */
	CELL_LINK,   /* a rate in b/s, or that the link is down */
	CELL_WAIT,   /* what an operation waits for */
	CELL_DROPS,  /* all drops of a port, by reason */
};

void top_cell_text(const json_t *row, const char *key, enum top_cell kind, char text[TOP_CELL_BYTES]);

/* < 0: `a` comes first. */
int top_cell_compare(const json_t *a, const json_t *b, const char *key, enum top_cell kind);

#endif
