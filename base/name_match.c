/* SPDX-License-Identifier: BSD-3-Clause */
#include "name_match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX = 256 };

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
