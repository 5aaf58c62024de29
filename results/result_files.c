/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's directory. */
#include <errno.h>
#include <inttypes.h>

#include "file.h"
#include "result.h"

/* One row of flows.csv. */
struct flow_row {
	uint32_t index;
	const struct weft_flow *flow;
	const struct run_flow *run;
};

/* A time in microseconds, or nothing when it has not come. */
static void put_us(FILE *out, weft_ps from, weft_ps to)
{
	if (from != WEFT_NEVER && to != WEFT_NEVER)
		fprintf(out, "%.6f", (double)(to - from) / 1e6);
}

static void put_index(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->index);
}

static void put_src(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->flow->src);
}

static void put_dst(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->flow->dst);
}

static void put_bytes(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%" PRIu64, f->run->bytes);
}

static void put_start(FILE *out, const struct flow_row *f)
{
	put_us(out, 0, f->run->start);
}

static void put_fct(FILE *out, const struct flow_row *f)
{
	put_us(out, f->run->start, f->run->acked);
}

static void put_delivered(FILE *out, const struct flow_row *f)
{
	put_us(out, f->run->start, f->run->delivered);
}

static void put_ideal(FILE *out, const struct flow_row *f)
{
	put_us(out, 0, f->run->ideal ? f->run->ideal : WEFT_NEVER);
}

static void put_verified(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%d", f->run->verified);
}

static void put_background(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%d", f->run->background);
}

static void put_reordered(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->run->order.reordered);
}

static void put_dup_acks(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->run->order.dup_acks);
}

static void put_reorder_dup_acks(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->run->order.reorder_dup_acks);
}

static void put_ooo_max(FILE *out, const struct flow_row *f)
{
	fprintf(out, "%u", f->run->order.ooo_max);
}

/* The columns of flows.csv, in order. */
static const struct flow_column {
	const char *name;
	void (*put)(FILE *out, const struct flow_row *f);
} flow_columns[] = {
	{"flow", put_index},
	{"src", put_src},
	{"dst", put_dst},
	{"bytes", put_bytes},
	{"start_us", put_start},
	{"fct_us", put_fct},
	{"delivered_us", put_delivered},
	{"ideal_us", put_ideal},
	{"verified", put_verified},
	{"background", put_background},
	{"reordered", put_reordered},
	{"dup_acks", put_dup_acks},
	{"reorder_dup_acks", put_reorder_dup_acks},
	{"ooo_max", put_ooo_max},
};

enum { FLOW_COLUMNS = sizeof flow_columns / sizeof *flow_columns };

static void write_flow(FILE *out, const struct flow_row *f)
{
	for (uint32_t c = 0; c < FLOW_COLUMNS; c++) {
		if (c)
			fputc(',', out);
		flow_columns[c].put(out, f);
	}
	fputc('\n', out);
}

static int write_flows(const struct run_result *r, const struct weft_workload *w, const char *path,
		       struct weft_err *err)
{
	FILE *out = file_create(path, err);
	if (!out)
		return -EIO;
	for (uint32_t c = 0; c < FLOW_COLUMNS; c++)
		fprintf(out, "%s%s", c ? "," : "", flow_columns[c].name);
	fputc('\n', out);
	for (uint32_t i = 0; i < r->flow_count; i++)
		write_flow(out, &(struct flow_row){.index = i, .flow = &w->flows[i], .run = &r->flows[i]});
	return file_finish(out, path, err);
}

static int write_table(const struct run_result *r, const char *path, struct weft_err *err)
{
	FILE *out = file_create(path, err);
	int rc = out ? result_print(r, out, err) : -EIO;
	int closed = out ? file_finish(out, path, rc ? NULL : err) : 0;
	return rc ? rc : closed;
}

int result_write_dir(const struct run_result *r, const struct weft_workload *w, const char *dir, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_make_dir(dir, err);
	if (!rc)
		rc = file_path(path, dir, "flows.csv", err);
	if (!rc)
		rc = write_flows(r, w, path, err);
	if (!rc)
		rc = file_path(path, dir, "table.txt", err);
	if (!rc)
		rc = write_table(r, path, err);
	if (!rc)
		rc = file_path(path, dir, "run.json", err);
	return rc ? rc : result_write_json(r, path, err);
}
