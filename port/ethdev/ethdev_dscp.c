/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_dscp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ITEM_MAX = 64 };

_Static_assert(DSCP_CLASSES == 7, "a byte for each class");

/* doc/reference/protocol.md */
const uint8_t dscp_ours[DSCP_CLASSES] = {8, 10, 12, 16, 18, 40, 46};
static const char *const names[DSCP_CLASSES] = {"data",   "ordered", "unscheduled", "trimmed", "trimmed_lasthop",
						"credit", "control"};

/* A refusal: `what` is the first of its arguments. */
#define REFUSE(err, what, format, ...)                                                                                 \
	weft_err_set(err, -EINVAL, "%s%s" format, (what) ? (what) : "", (what) ? ": " : "", __VA_ARGS__)

int dscp_check(const char *what, const struct weft_dscp *dscp, struct weft_err *err)
{
	uint8_t theirs[DSCP_CLASSES];
	memcpy(theirs, dscp, sizeof theirs);
	for (int i = 0; i < DSCP_CLASSES; i++) {
		if (theirs[i] >= DSCPS)
			return REFUSE(err, what, "code point %u of %s is not below %d", theirs[i], names[i], DSCPS);
		for (int j = 0; j < i; j++)
			if (theirs[i] == theirs[j])
				return REFUSE(err, what, "%s and %s have the same code point %u", names[j], names[i],
					      theirs[i]);
	}
	return 0;
}

static int item_parse(const char *what, const char *item, uint8_t *theirs, struct weft_err *err)
{
	char name[ITEM_MAX], rest[2];
	unsigned code;
	if (sscanf(item, " %63[a-z_]:%2u %1s", name, &code, rest) != 2 || code >= DSCPS)
		return REFUSE(err, what, "'%s' is not CLASS:CODE with a code from 0 to %d", item, DSCPS - 1);
	for (int i = 0; i < DSCP_CLASSES; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		theirs[i] = (uint8_t)code;
		return 0;
	}
	return REFUSE(
		err, what,
		"no class '%s': there are data, ordered, unscheduled, trimmed, trimmed_lasthop, credit and control",
		name);
}

int weft_dscp_parse(const char *what, const char *text, struct weft_dscp *dscp, struct weft_err *err)
{
	uint8_t theirs[DSCP_CLASSES];
	char item[ITEM_MAX];
	int rc = 0;
	memcpy(theirs, dscp_ours, sizeof theirs);
	for (size_t len; rc == 0 && *text != '\0'; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		snprintf(item, sizeof item, "%.*s", (int)len, text);
		rc = item_parse(what, item, theirs, err);
	}
	memcpy(dscp, theirs, sizeof theirs);
	return rc != 0 ? rc : dscp_check(what, dscp, err);
}
