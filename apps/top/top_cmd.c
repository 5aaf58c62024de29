/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft top`: what processes are doing, live. */
#include "top_cmd.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "opt_table.h"
#include "top_counters.h"
#include "top_screen.h"
#include "top_snapshot.h"
#include "top_table.h"
#include "weft/time.h"

enum { ONCE_MS = 200 /* between two looks, for rates */ };

struct top_opts {
	bool once, json, help_counters;
	weft_ns interval_ns;
};

#define FIELD(name) offsetof(struct top_opts, name)

static const struct opt_desc options[] = {
	{"once", NULL, "print all tables once, and end", opt_flag, FIELD(once)},
	{"json", NULL, "print one snapshot as JSON, and end", opt_flag, FIELD(json)},
	{"interval", "TIME", "between two looks; default 1s", opt_duration, FIELD(interval_ns)},
	{"help-counters", NULL, "all counters of devices, and what they count", opt_flag, FIELD(help_counters)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command command = {
	.name = "top",
	.args = " [PID]",
	.about = "Shows what processes are doing: operations and what they wait for, connections, ports, neighbours,\n"
		 "channels between processes of a weft host.\n"
		 "All of this host's that you may ask, or the one with this PID. Processes that use the provider are\n"
		 "asked when FI_WEFT_TELEMETRY=1 is set for them.\n"
		 "\n"
		 "Keys: 1 to 5 or Tab choose the table, s the column that it is sorted by, r the order, / a filter,\n"
		 "f freezes, arrows and page keys scroll, q quits. Exits with 1 when there is nothing to show.",
	.table = options,
	.positional_max = 1,
};

static json_t *two_looks(uint32_t pid)
{
	json_t *before = top_snapshot_take(pid);
	nanosleep(&(struct timespec){.tv_nsec = ONCE_MS * 1000000L}, NULL);
	json_t *shot = top_snapshot_take(pid);
	top_snapshot_rates(shot, before);
	json_decref(before);
	return shot;
}

static void print_table(const json_t *shot, unsigned view)
{
	struct top_order order = top_view_order(view);
	struct top_table table;
	char line[TOP_LINE_BYTES];
	if (!top_table_make(&table, shot, &order))
		return;
	top_table_head(&table, line);
	if (table.count != 0)
		printf("\n%s\n%s\n", top_view_name(view), line);
	for (size_t i = 0; i < table.count; i++) {
		top_table_line(&table, i, line);
		printf("%s\n", line);
	}
	top_table_free(&table);
}

static void print_text(const json_t *shot)
{
	char line[TOP_LINE_BYTES];
	top_summary(shot, line);
	printf("%s\n", line);
	for (unsigned view = 0; view < TOP_VIEWS; view++)
		print_table(shot, view);
}

static int say_nothing_there(uint32_t pid)
{
	if (pid != 0)
		fprintf(stderr,
			"weft top: process %u does not answer: does it run, with FI_WEFT_TELEMETRY=1, as you?\n", pid);
	else
		fputs("weft top: nothing to show: no process runs with FI_WEFT_TELEMETRY=1 that you may ask\n", stderr);
	return 1;
}

static int print_once(uint32_t pid, bool json)
{
	json_t *shot = two_looks(pid);
	int status = 0;
	if (json) {
		json_dumpf(shot, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (json_array_size(json_object_get(shot, "processes")) != 0) {
		print_text(shot);
	}
	if (json_array_size(json_object_get(shot, "processes")) == 0)
		status = say_nothing_there(pid);
	json_decref(shot);
	return status;
}

int weft_cmd_top(int argc, char **argv)
{
	struct top_opts o = {.interval_ns = WEFT_S(1)};
	struct weft_err err = {""};
	uint32_t positionals, pid = 0;
	int status;
	if (!opt_main(&command, &o, argc, argv, &positionals, &status))
		return status;
	if (positionals == 1 && (opt_u32(&pid, argv[1], &err) != 0 || pid == 0)) {
		fprintf(stderr, "weft top: '%s' is no process id\n", argv[1]);
		return 2;
	}
	if (o.help_counters) {
		top_print_counters(stdout);
		return 0;
	}
	if (o.once || o.json)
		return print_once(pid, o.json);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fputs("weft top: no terminal: use --once or --json\n", stderr);
		return 2;
	}
	setlocale(LC_ALL, "");
	return top_screen_run(pid, (uint32_t)(o.interval_ns / WEFT_MS(1)));
}
