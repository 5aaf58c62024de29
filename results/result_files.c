/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's directory. */
#include <errno.h>
#include <inttypes.h>

#include "file.h"
#include "result.h"

/* A time in microseconds, or nothing where it has not come. */
static void put_us(FILE *out, weft_ps from, weft_ps to)
{
	if (from == WEFT_NEVER || to == WEFT_NEVER)
		fputc(',', out);
	else
		fprintf(out, ",%.6f", (double)(to - from) / 1e6);
}

static int write_flows(const struct run_result *r, const struct weft_workload *w, const char *path,
		       struct weft_err *err)
{
	FILE *out = file_create(path, err);
	if (!out)
		return -EIO;
	fputs("flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background,reordered,dup_acks,reorder_"
	      "dup_acks,ooo_max\n",
	      out);
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct run_flow *f = &r->flows[i];
		fprintf(out, "%u,%u,%u,%" PRIu64, i, w->flows[i].src, w->flows[i].dst, f->bytes);
		put_us(out, 0, f->start);
		put_us(out, f->start, f->acked);
		put_us(out, f->start, f->delivered);
		put_us(out, 0, f->ideal ? f->ideal : WEFT_NEVER);
		fprintf(out, ",%d,%d,%u,%u,%u,%u\n", f->verified, f->background, f->order.reordered, f->order.dup_acks,
			f->order.reorder_dup_acks, f->order.ooo_max);
	}
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
