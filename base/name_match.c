/* SPDX-License-Identifier: BSD-3-Clause */
#include "name_match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "weft/spi/param.h"

enum { PATTERN_MAX = 256, NAME_MAX_BYTES = 64, LETTERS_PER_MISTAKE = 4 };

bool match_any(const char *list, const char *name)
{
	char pattern[PATTERN_MAX];
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		snprintf(pattern, sizeof pattern, "%.*s", (int)len, list);
		if (len < sizeof pattern && !fnmatch(pattern, name, 0))
			return true;
	}
	return false;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* Levenshtein's distance, a row of its matrix for each letter of `a`. */
static unsigned distance(const char *a, const char *b, size_t b_len)
{
	unsigned row[NAME_MAX_BYTES + 1];
	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (; *a; a++) {
		unsigned diagonal = row[0]++;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned changed = diagonal + (*a != b[j - 1]);
			diagonal = row[j];
			row[j] = least(changed, row[j] + 1, row[j - 1] + 1);
		}
	}
	return row[b_len];
}

unsigned name_misspelt(const char *typed, const char *name)
{
	size_t len = strlen(name);
	if (len > NAME_MAX_BYTES || strlen(typed) > NAME_MAX_BYTES)
		return NAME_FAR;
	unsigned letters = distance(typed, name, len);
	return letters <= len / LETTERS_PER_MISTAKE ? letters : NAME_FAR;
}

void name_guess_param(struct name_guess *guess, const struct weft_param *table)
{
	for (const struct weft_param *p = table; p && p->key; p++) {
		unsigned letters = name_misspelt(guess->typed, p->key);
		if (letters >= guess->letters)
			continue;
		guess->letters = letters;
		guess->nearest = p->key;
	}
}
