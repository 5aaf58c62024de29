/* SPDX-License-Identifier: BSD-3-Clause */
#include "top_table.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plural.h"
#include "top_cell.h"

static const struct column {
	const char *title, *key;
	enum top_cell kind;
	int width; /* at least; negative: to the left */
} columns[TOP_VIEWS][14] = {
	{
		{"PID", "pid", CELL_COUNT, 8},
		{"OPERATION", "kind", CELL_TEXT, -12},
		{"PEER", "peer", CELL_TEXT, -22},
		{"BYTES", "bytes", CELL_BYTES, 7},
		{"DONE", "done_bytes", CELL_BYTES, 7},
		{"AGE", "age_ns", CELL_TIME, 7},
		{"SILENT", "silent_ns", CELL_TIME, 7},
		{"WAITS FOR", "wait", CELL_WAIT, -42},
		{"TAG", "tag", CELL_TEXT, -18},
	},
	{
		{"PID", "pid", CELL_COUNT, 8},
		{"PEER", "peer", CELL_TEXT, -16},
		{"STATE", "state", CELL_TEXT, -10},
		{"CWND", "cwnd_bytes", CELL_BYTES, 7},
		{"FLIGHT", "inflight_bytes", CELL_BYTES, 7},
		{"RTT", "srtt_ns", CELL_TIME, 7},
		{"BASE", "brtt_ns", CELL_TIME, 7},
		{"PATHS", "cached_evs", CELL_COUNT, 5},
		{"MARKS", "marked_acks", CELL_COUNT, 7},
		{"TRIMS", "trimmed_pkts", CELL_COUNT, 7},
		{"RETX", "retx_pkts", CELL_COUNT, 7},
		{"RECEIVED", "received_bytes", CELL_BYTES, 8},
		{"HEARD", "silent_ns", CELL_TIME, 7},
	},
	{
		{"PID", "pid", CELL_COUNT, 8},
		{"PORT", "name", CELL_TEXT, -18},
		{"LINK", "bps", CELL_LINK, 7},
		{"RX b/s", "rx_bps", CELL_NUMBER, 7},
		{"TX b/s", "tx_bps", CELL_NUMBER, 7},
		{"RX pkt/s", "rx_pps", CELL_NUMBER, 8},
		{"TX pkt/s", "tx_pps", CELL_NUMBER, 8},
		{"QUEUE", "queue_bytes", CELL_BYTES, 7},
		{"MARKED", "marked", CELL_COUNT, 7},
		{"TRIMMED", "trimmed", CELL_COUNT, 7},
		{"DROPS", "", CELL_DROPS, -5},
	},
	{
		{"PID", "pid", CELL_COUNT, 8},
		{"DEVICE", "on", CELL_TEXT, -20},
		{"NEIGHBOUR", "ip", CELL_TEXT, -16},
		{"MAC", "mac", CELL_TEXT, -17},
		{"STATE", "state", CELL_TEXT, -9},
		{"AGE", "age_ns", CELL_TIME, 7},
		{"WAITING", "waiting_pkts", CELL_COUNT, 7},
	},
	{
		{"PID", "pid", CELL_COUNT, 8},
		{"DEVICE", "on", CELL_TEXT, -20},
		{"RX pkt/s", "local_rx_pps", CELL_NUMBER, 8},
		{"TX pkt/s", "local_tx_pps", CELL_NUMBER, 8},
		{"RX pkts", "local_rx_pkts", CELL_NUMBER, 8},
		{"TX pkts", "local_tx_pkts", CELL_NUMBER, 8},
		{"LATE", "local_late", CELL_COUNT, 7},
		{"FULL", "local_full", CELL_COUNT, 7},
		{"MARKED", "local_marked", CELL_COUNT, 7},
		{"DROPPED", "local_dropped", CELL_COUNT, 7},
		{"REFUSED", "local_refused", CELL_COUNT, 7},
		{"WAKES", "local_wakes", CELL_COUNT, 7},
		{"OPENED", "local_channels", CELL_COUNT, 6},
	},
};

static const struct view {
	const char *name, *list;
	unsigned sorted_by;
	bool descending;
} views[TOP_VIEWS] = {
	{"operations", "ops", 5, true},    {"connections", "conns", 12, true},    {"ports", "ports", 1, false},
	{"neighbours", "neigh", 2, false}, {"local channels", "local", 1, false},
};

const char *top_view_name(unsigned view)
{
	assert(view < TOP_VIEWS);
	return views[view].name;
}

struct top_order top_view_order(unsigned view)
{
	assert(view < TOP_VIEWS);
	return (struct top_order){view, views[view].sorted_by, views[view].descending, ""};
}

unsigned top_view_columns(unsigned view)
{
	unsigned n = 0;
	while (columns[view][n].title != NULL)
		n++;
	return n;
}

const char *top_column_title(unsigned view, unsigned column)
{
	return columns[view][column].title;
}

static bool passes(const json_t *row, const struct top_order *order)
{
	char text[TOP_CELL_BYTES];
	if (order->filter[0] == '\0')
		return true;
	for (const struct column *c = columns[order->view]; c->title != NULL; c++) {
		top_cell_text(row, c->key, c->kind, text);
		if (strcasestr(text, order->filter) != NULL)
			return true;
	}
	return false;
}

/* Rows that are alike stay in the order in which they were told. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct top_order *order = arg;
	const struct column *c = &columns[order->view][order->column];
	int d = top_cell_compare(*(const json_t *const *)a, *(const json_t *const *)b, c->key, c->kind);
	return order->descending ? -d : d;
}

bool top_table_make(struct top_table *table, const json_t *shot, const struct top_order *order)
{
	const json_t *list = json_object_get(shot, views[order->view].list), *row;
	size_t n;
	*table = (struct top_table){.order = *order};
	table->rows = calloc(json_array_size(list) + 1, sizeof(json_t *));
	if (table->rows == NULL)
		return false;
	json_array_foreach(list, n, row) if (passes(row, order)) table->rows[table->count++] = row;
	qsort_r((void *)table->rows, table->count, sizeof(json_t *), compare, &table->order);
	return true;
}

void top_table_free(struct top_table *table)
{
	free((void *)table->rows);
}

/* What another process tells may hold anything: none of it reaches the terminal but printable ASCII. */
static void append(char line[TOP_LINE_BYTES], const char *text, int width)
{
	size_t len = strlen(line);
	snprintf(line + len, TOP_LINE_BYTES - len, "%s%*s", len != 0 ? " " : "", width, text);
	for (char *c = line + len; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void cut_blanks(char line[TOP_LINE_BYTES])
{
	for (size_t len = strlen(line); len > 0 && line[len - 1] == ' '; len--)
		line[len - 1] = '\0';
}

void top_table_head(const struct top_table *table, char line[TOP_LINE_BYTES])
{
	line[0] = '\0';
	for (const struct column *c = columns[table->order.view]; c->title != NULL; c++)
		append(line, c->title, c->width);
	cut_blanks(line);
}

void top_table_line(const struct top_table *table, size_t row, char line[TOP_LINE_BYTES])
{
	char text[TOP_CELL_BYTES];
	assert(row < table->count);
	line[0] = '\0';
	for (const struct column *c = columns[table->order.view]; c->title != NULL; c++) {
		top_cell_text(table->rows[row], c->key, c->kind, text);
		append(line, text, c->width);
	}
	cut_blanks(line);
}

static size_t list_size(const json_t *shot, const char *name)
{
	return json_array_size(json_object_get(shot, name));
}

void top_summary(const json_t *shot, char line[TOP_LINE_BYTES])
{
	size_t processes = list_size(shot, "processes"), conns = list_size(shot, "conns"), ops = list_size(shot, "ops"),
	       ports = list_size(shot, "ports");
	snprintf(line, TOP_LINE_BYTES, "%zu process%s, %zu connection%s, %zu operation%s, %zu port%s%s", processes,
		 processes == 1 ? "" : "es", conns, plural_s(conns), ops, plural_s(ops), ports, plural_s(ports),
		 json_is_true(json_object_get(shot, "more")) ? ", and more" : "");
}
