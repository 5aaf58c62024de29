/* SPDX-License-Identifier: BSD-3-Clause */
/* The live view: the terminal's lines are the summary, the views, the heads of the columns, rows, and the keys. */
#include "top_screen.h"

#include <curses.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "top_snapshot.h"
#include "top_table.h"

enum {
	FILTER_BYTES = 40,
	HEAD_LINES = 3,
	KEY_ESCAPE = 27,
	KEY_DELETE = 127,
};

struct screen {
	uint32_t pid;
	int64_t interval_ms, due_ms; /* when the next snapshot is taken */
	json_t *shot;
	struct top_order orders[TOP_VIEWS]; /* each view keeps its own */
	unsigned view;
	char filter[FILTER_BYTES];
	size_t first; /* row at the top */
	bool frozen, typing, ended;
};

static int64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void refresh_shot(struct screen *s)
{
	json_t *shot = top_snapshot_take(s->pid);
	if (s->shot != NULL)
		top_snapshot_rates(shot, s->shot);
	json_decref(s->shot);
	s->shot = shot;
	s->due_ms = now_ms() + s->interval_ms;
}

/* ---- drawing ---- */

/* What does not fit is cut off. */
static void put_line(int y, const char *text, attr_t attr)
{
	if (y < 0 || y >= LINES)
		return;
	move(y, 0);
	clrtoeol();
	attron(attr);
	addnstr(text, COLS);
	attroff(attr);
}

static void put_views(const struct screen *s, const struct top_table *table)
{
	char line[TOP_LINE_BYTES];
	size_t len = 0;
	for (unsigned i = 0; i < TOP_VIEWS; i++)
		len += (size_t)snprintf(line + len, sizeof line - len, i == s->view ? "[%u %s] " : " %u %s  ", i + 1,
					top_view_name(i));
	snprintf(line + len, sizeof line - len, "%zu rows by %s%s%s%s%s", table->count,
		 top_column_title(s->view, table->order.column), table->order.descending ? ", largest first" : "",
		 s->filter[0] != '\0' || s->typing ? ", filter: " : "", s->filter, s->frozen ? ", frozen" : "");
	put_line(1, line, A_NORMAL);
}

static void put_rows(struct screen *s, const struct top_table *table)
{
	char line[TOP_LINE_BYTES];
	int room = LINES - HEAD_LINES - 1;
	if (s->first >= table->count)
		s->first = table->count != 0 ? table->count - 1 : 0;
	for (int i = 0; i < room; i++) {
		line[0] = '\0';
		if (s->first + (size_t)i < table->count)
			top_table_line(table, s->first + (size_t)i, line);
		put_line(HEAD_LINES + i, line, A_NORMAL);
	}
}

static const char *hint(const struct screen *s)
{
	if (s->typing)
		return "filter: type a text; Enter keeps it, Esc drops it";
	if (json_array_size(json_object_get(s->shot, "processes")) == 0)
		return "nothing to show: no process with FI_WEFT_TELEMETRY=1 that you may ask; q quits";
	return "1-5 view  s sort  r reverse  / filter  f freeze  arrows scroll  q quit";
}

static void draw(struct screen *s)
{
	struct top_table table;
	struct top_order order = s->orders[s->view];
	char line[TOP_LINE_BYTES];
	order.filter = s->filter;
	if (!top_table_make(&table, s->shot, &order))
		return;
	top_summary(s->shot, line);
	put_line(0, line, A_BOLD);
	put_views(s, &table);
	top_table_head(&table, line);
	put_line(2, line, A_REVERSE);
	put_rows(s, &table);
	put_line(LINES - 1, hint(s), A_DIM);
	top_table_free(&table);
	refresh();
}

/* ---- keys ---- */

static void type_key(struct screen *s, int key)
{
	size_t len = strlen(s->filter);
	if (key == KEY_ESCAPE)
		s->filter[0] = '\0';
	if (key == KEY_ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER)
		s->typing = false;
	else if ((key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') && len > 0)
		s->filter[len - 1] = '\0';
	else if (key >= ' ' && key <= '~' && len + 1 < FILTER_BYTES)
		snprintf(s->filter + len, FILTER_BYTES - len, "%c", key);
}

static void scroll_key(struct screen *s, int key)
{
	size_t page = LINES > HEAD_LINES + 1 ? (size_t)(LINES - HEAD_LINES - 1) : 1;
	size_t step = key == KEY_NPAGE || key == KEY_PPAGE ? page : 1;
	if (key == KEY_DOWN || key == KEY_NPAGE)
		s->first += step;
	else if (key == KEY_UP || key == KEY_PPAGE)
		s->first -= s->first < step ? s->first : step;
}

static void command_key(struct screen *s, int key)
{
	struct top_order *order = &s->orders[s->view];
	if (key >= '1' && key < '1' + TOP_VIEWS) {
		s->view = (unsigned)(key - '1');
		s->first = 0;
	} else if (key == '\t') {
		s->view = (s->view + 1) % TOP_VIEWS;
		s->first = 0;
	} else if (key == 's') {
		order->column = (order->column + 1) % top_view_columns(s->view);
	} else if (key == 'r') {
		order->descending = !order->descending;
	} else if (key == '/') {
		s->typing = true;
	} else if (key == 'f') {
		s->frozen = !s->frozen;
	} else if (key == 'q') {
		s->ended = true;
	} else {
		scroll_key(s, key);
	}
}

static void handle_key(struct screen *s, int key)
{
	if (key == ERR || key == KEY_RESIZE)
		return;
	if (s->typing)
		type_key(s, key);
	else
		command_key(s, key);
}

static void run(struct screen *s)
{
	while (!s->ended) {
		int64_t left_ms = s->due_ms - now_ms();
		if (left_ms <= 0 && !s->frozen) {
			refresh_shot(s);
			left_ms = s->interval_ms;
		}
		draw(s);
		timeout(s->frozen ? -1 : (int)(left_ms > 0 ? left_ms : 0));
		handle_key(s, getch());
	}
}

int top_screen_run(uint32_t pid, uint32_t interval_ms)
{
	struct screen s = {.pid = pid, .interval_ms = interval_ms};
	for (unsigned i = 0; i < TOP_VIEWS; i++)
		s.orders[i] = top_view_order(i);
	SCREEN *terminal = newterm(NULL, stdout, stdin);
	if (terminal == NULL) {
		fputs("weft top: the terminal is not known: set TERM, or use --once\n", stderr);
		return 1;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(100);
	curs_set(0);
	refresh_shot(&s);
	run(&s);
	endwin();
	delscreen(terminal);
	json_decref(s.shot);
	return 0;
}
