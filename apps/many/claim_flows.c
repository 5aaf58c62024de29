/* SPDX-License-Identifier: BSD-3-Clause */
#include "claim_flows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "report_csv.h"
#include "stat.h"

static const char *const columns[] = {"flow", "bytes", "fct_us", "background"};
enum column { FLOW, BYTES, FCT_US, BACKGROUND, COLUMNS };

enum kind { ALL, FOREGROUND, BACKGROUND_ONLY };

static const struct {
	enum kind kind;
	double share; /* percentile; 0: mean rate instead */
} whats[] = {
	[CLAIM_FLOWS_P999] = {ALL, 0.999},
	[CLAIM_FLOWS_P9999] = {ALL, 0.9999},
	[CLAIM_FLOWS_FOREGROUND_P99] = {FOREGROUND, 0.99},
	[CLAIM_FLOWS_FOREGROUND_P9999] = {FOREGROUND, 0.9999},
	[CLAIM_FLOWS_BACKGROUND_P99] = {BACKGROUND_ONLY, 0.99},
	[CLAIM_FLOWS_BACKGROUND_P9999] = {BACKGROUND_ONLY, 0.9999},
	[CLAIM_FLOWS_FOREGROUND_GBPS] = {FOREGROUND, 0},
};

struct collected {
	double *x;
	size_t n, room;
	bool open; /* one has not completed */
};

static bool is_meant(enum kind kind, const struct claim_scope *scope, const double *v)
{
	bool of_kind = kind == ALL || (v[BACKGROUND] != 0) == (kind == BACKGROUND_ONLY);

	return of_kind && v[FLOW] >= scope->first_flow && v[FLOW] <= scope->last_flow;
}

static int collect(struct collected *c, enum claim_flows what, const double *v, struct weft_err *err)
{
	c->open |= isnan(v[FCT_US]);
	if (c->open)
		return 0;
	if (!array_reserve(&c->x, c->n, &c->room, sizeof *c->x))
		return weft_err_set(err, -ENOMEM, "no memory for the flows' times");
	c->x[c->n++] = whats[what].share > 0 ? v[FCT_US] : v[BYTES] * 8 / 1e3 / v[FCT_US];
	return 0;
}

static int read_flows(struct collected *c, enum claim_flows what, const struct claim_scope *scope, const char *path,
		      struct weft_err *err)
{
	struct table table;
	int rc = table_open(&table, path, columns, COLUMNS, err);
	while (!rc && (rc = table_next(&table, err)) == 1) {
		double v[COLUMNS];
		rc = 0;
		for (unsigned i = 0; i < COLUMNS && !rc; i++)
			rc = table_number(&table, i, &v[i], err);
		if (!rc && is_meant(whats[what].kind, scope, v))
			rc = collect(c, what, v, err);
	}
	table_close(&table);
	return rc;
}

int claim_flows(enum claim_flows what, const struct claim_scope *scope, const char *dir, double *value,
		struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	struct collected c = {0};
	int rc = file_path(path, dir, "flows.csv", err);
	if (!rc)
		rc = read_flows(&c, what, scope, path, err);
	if (!rc && whats[what].share > 0) {
		stat_sort(c.x, c.n);
		*value = stat_percentile(c.x, c.n, whats[what].share);
	} else if (!rc) {
		*value = stat_mean(c.x, c.n).mean;
	}
	if (c.open)
		*value = NAN;
	free(c.x);
	return rc;
}
