/* SPDX-License-Identifier: BSD-3-Clause */
/* One page about a publication: all claims first, then each figure redrawn. */
#include <errno.h>
#include <stdio.h>

#include "file.h"
#include "report_html.h"
#include "report_runs.h"
#include "reproduce.h"

static void put_claim(struct report *r, const struct figure *f, uint32_t index)
{
	const struct claim *c = &f->claims.all[index];
	const struct claim_verdict *v = &f->verdicts[index];
	char bound[64];
	reproduce_bound(c, bound, sizeof bound);
	report_row(r);
	report_cell(r, false, "%s", f->name);
	report_cell(r, false, "%s%s%s", c->text, !v->holds && *c->note ? "\n" : "", v->holds ? "" : c->note);
	report_cell(r, false, "%s", *c->paper ? c->paper : "-");
	report_cell(r, false, "%s", v->ours);
	report_cell(r, false, "%s", bound);
	report_cell(r, !v->holds && (claim_judges(c) || !v->known), "%s%s",
		    v->holds          ? "holds"
		    : !v->known       ? "unknown"
		    : claim_judges(c) ? "breaks"
				      : "told",
		    reproduce_doubt(v));
}

static void put_claims(struct report *r, const struct reproduction *p)
{
	static const char *const heads[] = {"figure", "claim", "paper", "ours", "bound", "verdict"};
	report_section(r, "Claims");
	report_table(r, heads, sizeof heads / sizeof *heads);
	for (uint32_t i = 0; i < p->count; i++) {
		for (uint32_t k = 0; k < p->figures[i].claims.count; k++)
			put_claim(r, &p->figures[i], k);
	}
}

static int put_figure(struct report *r, const struct figure *f, struct weft_err *err)
{
	char heading[256];
	struct data d = {0};
	snprintf(heading, sizeof heading, "%s: %.150s", f->name, f->scenario.title);
	report_section(r, heading);
	report_text(r, "%s", f->scenario.about);
	int rc = data_add(&d, f->scenario.out, err);
	if (!rc)
		rc = data_finish(&d, err);
	if (rc == -ENOENT) {
		report_note(r, "No run of this figure has a result.");
		rc = 0;
	} else if (!rc) {
		rc = report_runs(r, &d, err);
	}
	data_free(&d);
	return rc;
}

int reproduce_page(const struct reproduction *p, struct weft_err *err)
{
	char path[FILE_PATH_MAX], title[128];
	size_t size;
	snprintf(title, sizeof title, "Weft reproduces: %.80s", p->paper);
	int rc = file_path(path, p->out, "report.html", err);
	struct report *r = rc ? NULL : report_begin(title, err);
	if (!r)
		return rc ? rc : -ENOMEM;
	put_claims(r, p);
	for (uint32_t i = 0; i < p->count && !rc; i++)
		rc = put_figure(r, &p->figures[i], err);
	report_definitions(r);
	if (rc) {
		report_end(r, NULL, &size, NULL);
		return rc;
	}
	rc = report_end(r, path, &size, err);
	if (!rc)
		printf("%s: %zu KiB\n", path, (size + 1023) / 1024);
	return rc;
}
