/* SPDX-License-Identifier: BSD-3-Clause */
#include "top_cell.h"

#include <stdio.h>
#include <string.h>

#define DROP "drop_"

/* Three significant digits and the unit. */
static void scaled(double value, double step, const char *const *units, char text[TOP_CELL_BYTES])
{
	unsigned i = 0;
	for (; value >= step * 0.9995 && units[i + 1] != NULL; i++)
		value /= step;
	snprintf(text, TOP_CELL_BYTES,
		 i == 0 || value >= 99.95 ? "%.0f%s"
		 : value >= 9.995         ? "%.1f%s"
					  : "%.2f%s",
		 value, units[i]);
}

static void number_text(double value, char text[TOP_CELL_BYTES])
{
	static const char *const units[] = {"", "k", "M", "G", "T", NULL};
	scaled(value, 1000, units, text);
}

static void bytes_text(double value, char text[TOP_CELL_BYTES])
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", NULL};
	scaled(value, 1024, units, text);
}

static void time_text(double ns, char text[TOP_CELL_BYTES])
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	if (ns >= 1e11)
		snprintf(text, TOP_CELL_BYTES, "%.0fs", ns / 1e9);
	else
		scaled(ns, 1000, units, text);
}

static void wait_text(const char *wait, char text[TOP_CELL_BYTES])
{
	static const struct {
		const char *wait, *text;
	} texts[] = {
		{"port", "port: the next poll, or room in the device"},
		{"turn", "turn: operations before it"},
		{"fence", "fence: operations before it to complete"},
		{"cwnd", "cwnd: congestion window"},
		{"pace", "pace: its time to leave"},
		{"window", "window: earlier packets at the peer"},
		{"credit", "credit from the peer"},
		{"resources", "resources: memory at the peer"},
		{"close", "close: a new connection"},
		{"ack", "ack: acknowledgement by the peer"},
		{"address", "address: next hop's MAC address"},
		{"route", "route to the peer"},
		{"answer", "answer: data from the peer"},
		{"receive", "receive: none posted at the peer"},
		{"fetch", "fetch by the peer"},
		{"message", "message: none came"},
		{"data", "data: the rest of the message"},
		{"match", "match: no receive posted here"},
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(texts[i].wait, wait) == 0)
			wait = texts[i].text;
	snprintf(text, TOP_CELL_BYTES, "%s", wait);
}

static json_int_t drops_of(const json_t *row)
{
	const char *key;
	json_t *value;
	json_int_t sum = 0;
	json_object_foreach((json_t *)row, key, value) sum +=
		strncmp(key, DROP, strlen(DROP)) == 0 ? json_integer_value(value) : 0;
	return sum;
}

static void drops_text(const json_t *row, char text[TOP_CELL_BYTES])
{
	const char *key;
	json_t *value;
	size_t len = (size_t)snprintf(text, TOP_CELL_BYTES, "%lld", (long long)drops_of(row));
	json_object_foreach((json_t *)row, key, value) if (strncmp(key, DROP, strlen(DROP)) == 0 &&
							   json_integer_value(value) != 0 && len < TOP_CELL_BYTES)
		len += (size_t)snprintf(text + len, TOP_CELL_BYTES - len, " %s %lld", key + strlen(DROP),
					(long long)json_integer_value(value));
}

static void integer_text(const json_t *row, json_int_t value, enum top_cell kind, char text[TOP_CELL_BYTES])
{
	if (kind == CELL_COUNT)
		snprintf(text, TOP_CELL_BYTES, "%lld", (long long)value);
	else if (kind == CELL_BYTES)
		bytes_text((double)value, text);
	else if (kind == CELL_TIME && value != 0)
		time_text((double)value, text);
	else if (kind == CELL_TIME)
		snprintf(text, TOP_CELL_BYTES, "-");
	else if (kind == CELL_LINK && json_integer_value(json_object_get(row, "up")) == 0)
		snprintf(text, TOP_CELL_BYTES, "down");
	else if (kind == CELL_LINK && value == 0)
		snprintf(text, TOP_CELL_BYTES, "up");
	else
		number_text((double)value, text);
}

void top_cell_text(const json_t *row, const char *key, enum top_cell kind, char text[TOP_CELL_BYTES])
{
	const json_t *value = json_object_get(row, key);
	snprintf(text, TOP_CELL_BYTES, "-");
	if (kind == CELL_DROPS)
		drops_text(row, text);
	else if (json_is_string(value) && kind == CELL_WAIT)
		wait_text(json_string_value(value), text);
	else if (json_is_string(value))
		snprintf(text, TOP_CELL_BYTES, "%s", json_string_value(value));
	else if (json_is_integer(value))
		integer_text(row, json_integer_value(value), kind, text);
}

int top_cell_compare(const json_t *a, const json_t *b, const char *key, enum top_cell kind)
{
	char text_a[TOP_CELL_BYTES], text_b[TOP_CELL_BYTES];
	json_int_t x = json_integer_value(json_object_get(a, key)), y = json_integer_value(json_object_get(b, key));
	if (kind == CELL_DROPS) {
		x = drops_of(a);
		y = drops_of(b);
	}
	if (kind != CELL_TEXT && kind != CELL_WAIT)
		return (x > y) - (x < y);
	top_cell_text(a, key, kind, text_a);
	top_cell_text(b, key, kind, text_b);
	return strverscmp(text_a, text_b);
}
