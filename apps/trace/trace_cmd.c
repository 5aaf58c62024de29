/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft trace`: what a process did with its last packets, while it runs or after it ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt_table.h"
#include "trace_cmd.h"
#include "trace_write.h"

enum { EXIT_USAGE = 2 };

struct trace_opts {
	const char *output, *format, *dir;
	bool list;
};

#define FIELD(name) offsetof(struct trace_opts, name)

static const struct opt_desc trace_options[] = {
	{"output", "FILE", "write this file instead of standard output; -o FILE is the same", opt_string,
	 FIELD(output)},
	{"format", "NAME", "csv (default), json, or chrome for Perfetto and chrome://tracing", opt_string,
	 FIELD(format)},
	{"list", NULL, "print which recordings there are", opt_flag, FIELD(list)},
	{"directory", "DIR", "look for recordings there; default " WEFT_RECORDER_DIR, opt_string, FIELD(dir)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command trace_command = {
	.name = "trace",
	.args = " [PID|FILE]",
	.about = "Saves what the flight recorders of a process hold: the last packets that its devices sent and "
		 "received, with\n"
		 "PSN, entropy, window and round trip, and what was lost. The process may run on, or have ended "
		 "without closing\n"
		 "its devices, as by a signal; recordings of the last 16 such processes are kept for a day. FILE is a "
		 "copy of one.\n"
		 "FI_WEFT_RECORD_EVENTS says how many events a device keeps.\n"
		 "\n"
		 "Exit status: 0, 1 nothing to read or it cannot be written, 2 wrong usage.",
	.table = trace_options,
	.positional_max = 1,
};

static void print_list(const struct trace_files *all)
{
	char ip[INET6_ADDRSTRLEN] = "";
	printf("%-8s %-8s %-16s %-24s %-16s %12s\n", "pid", "state", "program", "device", "address", "events");
	for (size_t i = 0; i < all->count; i++) {
		const struct trace_file *f = &all->files[i];
		const struct weft_recording *about = &f->about;
		bool v4 = weft_ip_is_v4(&about->ip);
		inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? about->ip.b + 12 : about->ip.b, ip, sizeof ip);
		printf("%-8" PRIu32 " %-8s %-16s %-24s %-16s %12" PRIu64 "\n", about->owner.pid,
		       f->runs ? "runs" : "ended", about->owner.program, about->owner.device, ip, about->events);
	}
}

/* The recordings of a process, or in a file. */
static int load(const struct trace_opts *o, const char *what, struct trace_files *all, struct weft_err *err)
{
	char *end;
	unsigned long pid = what ? strtoul(what, &end, 10) : 0;
	if (!what || (!*end && pid && pid <= UINT32_MAX))
		return trace_files_find(o->dir, (uint32_t)pid, all, err);
	all->files = calloc(1, sizeof *all->files);
	all->count = all->files != NULL;
	return all->files ? trace_file_read(what, all->files, err) : weft_err_set(err, -ENOMEM, "out of memory");
}

static int save(const char *path, trace_writer writer, const struct trace_files *all)
{
	FILE *to = path ? fopen(path, "w") : stdout;
	bool ok = to && writer(to, all);
	if (to)
		ok &= !(path ? fclose(to) : fflush(to));
	if (!ok)
		fprintf(stderr, "weft trace: %s: %s\n", path ? path : "standard output", strerror(errno));
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int weft_cmd_trace(int argc, char **argv)
{
	struct trace_opts o = {.dir = WEFT_RECORDER_DIR, .format = "csv"};
	struct trace_files all = {0};
	struct weft_err err = {""};
	uint32_t count;
	int status;

	if (!opt_main(&trace_command, &o, argc, argv, &count, &status))
		return status;
	trace_writer writer = trace_writer_named(o.format);
	if (!writer || (!o.list && !count)) {
		fprintf(stderr, writer ? "weft trace: name a process, or use --list\n"
				       : "weft trace: formats are csv, json and chrome\n");
		return EXIT_USAGE;
	}
	if (load(&o, count ? argv[1] : NULL, &all, &err)) {
		fprintf(stderr, "weft trace: %s\n", err.msg);
		status = EXIT_FAILURE;
	} else if (o.list) {
		print_list(&all);
		status = EXIT_SUCCESS;
	} else {
		status = save(o.output, writer, &all);
	}
	trace_files_free(&all);
	return status;
}
