/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft perf`: what a provider of libfabric does between two hosts. A program of its own, weft-perf, for it needs
 * libfabric. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt_table.h"
#include "perf_report.h"
#include "perf_session.h"
#include "weft/time.h"

enum { PORT = 18515, WINDOW = 64, WARMUP = 100, CONNECT_MS = 10000, LARGEST_OF_ALL = 8 << 20 };

static const uint32_t usual_sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20};

struct perf_opts {
	struct perf_job job;
	struct perf_where where;
	const char *json;
	uint32_t port;
	weft_ns row_ns;
	uint64_t iterations;
	bool keep; /* the server goes on after a client */
};

/* The number of a name in a list; -EINVAL with what there is. */
static int find_name(const char *const *names, const char *value, size_t len, struct weft_err *err)
{
	char all[128] = "";
	for (int i = 0; names[i]; i++) {
		if (strncmp(names[i], value, len) == 0 && names[i][len] == '\0')
			return i;
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
	}
	return weft_err_set(err, -EINVAL, "'%.*s' is none of %s", (int)(len < 40 ? len : 40), value, all);
}

static int opt_op(void *field, const char *value, struct weft_err *err)
{
	int op = find_name(perf_op_names, value, strlen(value), err);
	if (op >= 0)
		*(enum perf_op *)field = (enum perf_op)op;
	return op < 0 ? op : 0;
}

static int opt_tests(void *field, const char *value, struct weft_err *err)
{
	bool *tests = field;
	memset(tests, 0, PERF_TESTS * sizeof *tests);
	for (;; value++) {
		size_t len = strcspn(value, ",");
		int test = find_name(perf_test_names, value, len, err);
		if (test < 0)
			return test;
		tests[test] = true;
		value += len;
		if (*value == '\0')
			return 0;
	}
}

static int add_size(struct perf_job *job, uint32_t bytes, struct weft_err *err)
{
	if (job->size_count == PERF_SIZES_MAX)
		return weft_err_set(err, -EINVAL, "more than %d sizes", PERF_SIZES_MAX);
	if (bytes > PERF_BYTES_MAX)
		return weft_err_set(err, -EINVAL, "%u bytes are more than %d", bytes, PERF_BYTES_MAX);
	job->sizes[job->size_count++] = bytes;
	return 0;
}

static int opt_sizes(void *field, const char *value, struct weft_err *err)
{
	struct perf_job *job = field;
	job->size_count = 0;
	for (;; value++) {
		char one[16];
		uint32_t bytes;
		size_t len = strcspn(value, ",");
		snprintf(one, sizeof one, "%.*s", (int)(len < 15 ? len : 15), value);
		int rc = opt_u32(&bytes, one, err);
		if (!rc)
			rc = add_size(job, bytes, err);
		value += len;
		if (rc || *value == '\0')
			return rc;
	}
}

static int opt_all_sizes(void *field, const char *value, struct weft_err *err)
{
	struct perf_job *job = field;
	int rc = 0;
	job->size_count = 0;
	for (uint32_t bytes = 1; bytes <= LARGEST_OF_ALL && !rc; bytes *= 2)
		rc = add_size(job, bytes, err);
	return rc;
}

#define FIELD(name) offsetof(struct perf_opts, name)
#define BELOW       "\n                               "

static const struct opt_desc perf_options[] = {
	{"provider", "NAME",
	 "provider of libfabric: weft, tcp, shm, 'tcp;ofi_rxm', ...; default weft." BELOW
	 "The server takes the client's",
	 opt_string, FIELD(where.provider)},
	{"address", "ADDRESS",
	 "local address for the provider; default: that of the control connection, if the" BELOW
	 "provider has it, else the provider's own choice",
	 opt_string, FIELD(where.address)},
	{"op", "NAME", "message, tagged, write, read or atomic (adds to 64-bit numbers); default tagged", opt_op,
	 FIELD(job.op)},
	{"test", "LIST", "latency, bandwidth (one way) and both-ways; default latency,bandwidth", opt_tests,
	 FIELD(job.tests)},
	{"size", "LIST", "bytes of an operation; default 8,64,512,4096,16384,65536,262144,1048576, of atomics 8",
	 opt_sizes, FIELD(job)},
	{"all-sizes", NULL, "powers of two from 1 byte to 8 MiB", opt_all_sizes, FIELD(job)},
	{"duration", "TIME", "of each row; default 500ms", opt_duration, FIELD(row_ns)},
	{"iterations", "N", "operations of a connection in each row, instead of a duration", opt_u64,
	 FIELD(iterations)},
	{"warmup", "N", "operations of a connection before each row; default 100", opt_u64, FIELD(job.warmup)},
	{"connections", "N", "endpoints on each side; default 1", opt_u32, FIELD(job.connections)},
	{"threads", "N", "threads on each side, each with a domain of its own; default 1", opt_u32, FIELD(job.threads)},
	{"window", "N", "operations of a connection that are outstanding, except for latency; default 64", opt_u32,
	 FIELD(job.window)},
	{"check", NULL, "compare every byte", opt_flag, FIELD(job.check)},
	{"port", "N", "TCP port of the control connection; default 18515", opt_u32, FIELD(port)},
	{"keep", NULL, "the server waits for the next client instead of leaving", opt_flag, FIELD(keep)},
	{"json", "FILE", "also write the table as JSON, schema weft.perf/1", opt_string, FIELD(json)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command perf_command = {
	.name = "perf",
	.args = " [SERVER]",
	.about = "Measures latency and bandwidth between two hosts over any provider of libfabric. Without SERVER it\n"
		 "waits for a client; with it, it measures against the `weft perf` that waits on that host.\n"
		 "Latency of messages is half a round trip, of writes, reads and atomics the time until they have\n"
		 "completed. The provider's own variables (FI_WEFT_DEVICE, ...) are set on each side.",
	.table = perf_options,
	.positional_max = 1,
};

/* The usual sizes, unless some were given. */
static void complete_sizes(struct perf_job *job)
{
	uint32_t count = job->op == PERF_ATOMIC ? 1 : sizeof usual_sizes / sizeof usual_sizes[0];
	if (job->size_count > 0)
		return;
	memcpy(job->sizes, usual_sizes, count * sizeof usual_sizes[0]);
	job->size_count = count;
}

static int check_opts(struct perf_opts *o, struct weft_err *err)
{
	struct perf_job *job = &o->job;
	job->row_ns = o->iterations ? 0 : o->row_ns;
	job->iterations = o->iterations;
	if (o->port == 0 || o->port > UINT16_MAX)
		return weft_err_set(err, -EINVAL, "--port %u: 1 to 65535", o->port);
	if (job->connections == 0 || job->connections > PERF_CONNECTIONS_MAX)
		return weft_err_set(err, -EINVAL, "--connections %u: 1 to %d", job->connections, PERF_CONNECTIONS_MAX);
	if (job->threads == 0 || job->threads > PERF_THREADS_MAX || job->threads > job->connections)
		return weft_err_set(err, -EINVAL, "--threads %u: 1 to %d, and no more than connections", job->threads,
				    PERF_THREADS_MAX);
	if (job->window == 0 || job->window > PERF_WINDOW_MAX)
		return weft_err_set(err, -EINVAL, "--window %u: 1 to %d", job->window, PERF_WINDOW_MAX);
	for (uint32_t i = 0; i < job->size_count && job->op == PERF_ATOMIC; i++)
		if (job->sizes[i] == 0 || job->sizes[i] % sizeof(uint64_t))
			return weft_err_set(err, -EINVAL, "--size %u: atomics take multiples of 8 bytes",
					    job->sizes[i]);
	return 0;
}

static int serve_one(const struct perf_opts *o, struct perf_ctl *ctl, struct weft_err *err)
{
	struct perf_where where = o->where;
	printf("weft perf: client %s\n", ctl->peer);
	fflush(stdout);
	int rc = perf_serve(ctl, &where, err);
	if (rc && o->keep)
		fprintf(stderr, "weft perf: %s: %s\n", ctl->peer, err->msg);
	perf_ctl_close(ctl);
	return rc;
}

static int serve(const struct perf_opts *o, struct weft_err *err)
{
	struct perf_ctl ctl;
	int listener, rc = perf_ctl_listen((uint16_t)o->port, &listener, err);
	if (rc)
		return rc;
	printf("weft perf: waiting for a client on TCP port %u\n", o->port);
	fflush(stdout);
	while (o->keep && (rc = perf_ctl_accept(listener, &ctl, err)) == 0)
		serve_one(o, &ctl, err);
	if (!o->keep)
		rc = perf_ctl_accept(listener, &ctl, err);
	close(listener);
	return rc || o->keep ? rc : serve_one(o, &ctl, err);
}

/* How far a measurement of many rows is. */
static void show_progress(const struct perf_job *job, uint32_t row, uint32_t rows)
{
	if (!isatty(STDERR_FILENO) || rows == 0)
		return;
	fprintf(stderr, "\r%u %%", 100 * row / rows);
	if (job->row_ns)
		fprintf(stderr, ", %.0f s left  ", (double)(rows - row) * (double)job->row_ns / 1e9);
	fputs("\r", stderr);
}

static int measure_row(struct perf_ctl *ctl, struct perf_side *side, enum perf_test test, uint32_t bytes, json_t *rows,
		       struct weft_err *err)
{
	struct perf_result r;
	int rc = side->job.warmup ? perf_client_row(ctl, side, test, bytes, true, &r, err) : 0;
	if (!rc)
		rc = perf_client_row(ctl, side, test, bytes, false, &r, err);
	if (rc)
		return rc;
	perf_print_row(&r);
	json_array_append_new(rows, perf_row_to_json(&r));
	return 0;
}

static int measure(struct perf_ctl *ctl, struct perf_side *side, json_t *rows, struct weft_err *err)
{
	const struct perf_job *job = &side->job;
	uint32_t row = 0, all = 0;
	int rc = 0;
	for (int test = 0; test < PERF_TESTS; test++)
		all += job->tests[test] ? job->size_count : 0;
	for (int test = 0; test < PERF_TESTS && !rc; test++) {
		if (job->tests[test])
			perf_print_head(side, (enum perf_test)test);
		for (uint32_t i = 0; i < job->size_count && job->tests[test] && !rc; i++) {
			show_progress(job, row++, all);
			rc = measure_row(ctl, side, (enum perf_test)test, job->sizes[i], rows, err);
		}
	}
	return rc;
}

static int write_json(const json_t *all, const char *file, struct weft_err *err)
{
	if (file && json_dump_file(all, file, JSON_INDENT(2)))
		return weft_err_set(err, -EIO, "%s: cannot be written", file);
	return 0;
}

static int client(const struct perf_opts *o, const char *server, struct weft_err *err)
{
	struct perf_ctl ctl;
	struct perf_side side = {.job = o->job};
	struct weft_err ignored;
	int rc = perf_ctl_connect(server, (uint16_t)o->port, CONNECT_MS, &ctl, err);
	if (rc)
		return rc;
	const struct perf_where where = {o->where.provider, o->where.address, ctl.local};
	rc = perf_client_open(&ctl, &side, &where, err);
	json_t *all = rc ? NULL : perf_about_to_json(&side, server);
	if (!rc) {
		perf_print_about(&side, server);
		rc = measure(&ctl, &side, json_object_get(all, "rows"), err);
	}
	if (!rc)
		rc = perf_ctl_send(&ctl, json_pack("{s:b}", "bye", 1), err);
	else
		perf_ctl_send(&ctl, json_pack("{s:s}", "error", err->msg), &ignored);
	if (!rc)
		rc = write_json(all, o->json, err);
	json_decref(all);
	perf_side_close(&side);
	perf_ctl_close(&ctl);
	return rc;
}

int main(int argc, char **argv)
{
	struct perf_opts o = {.where.provider = "weft",
			      .port = PORT,
			      .row_ns = WEFT_MS(500),
			      .job = {.op = PERF_TAGGED,
				      .tests = {[PERF_LATENCY] = true, [PERF_BANDWIDTH] = true},
				      .connections = 1,
				      .threads = 1,
				      .window = WINDOW,
				      .warmup = WARMUP}};
	struct weft_err err = {""};
	uint32_t positionals;
	int status;
	if (!opt_main(&perf_command, &o, argc, argv, &positionals, &status))
		return status;
	complete_sizes(&o.job);
	if (check_opts(&o, &err)) {
		fprintf(stderr, "weft perf: %s\n", err.msg);
		return 2;
	}
	if (positionals > 0 ? client(&o, argv[1], &err) : serve(&o, &err)) {
		fprintf(stderr, "weft perf: %s\n", err.msg);
		return 1;
	}
	return 0;
}
