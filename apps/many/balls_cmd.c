/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft balls`: the models behind REPS, as tables and CSV. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "balls.h"
#include "cmd.h"
#include "file.h"
#include "opt_table.h"

enum { DRAWS = 20 }; /* of a load imbalance */

struct wishes {
	struct balls_conf conf;
	uint32_t entropies, flows;
	const char *csv;
};

#define FIELD(name) offsetof(struct wishes, name)

static const struct opt_desc balls_options[] = {
	{"bins", "N", "output ports; default: 8", opt_u32, FIELD(conf.bins)},
	{"rounds", "N", "default: 200", opt_u32, FIELD(conf.rounds)},
	{"load", "PERCENT", "of one new ball per bin and round; default: 100", opt_u32, FIELD(conf.load_pct)},
	{"threshold", "N", "a color forgets bins with more balls; default: 4 ln bins", opt_u32, FIELD(conf.threshold)},
	{"colors", "N", "per bin; default: 2.4 ln bins, at least 1", opt_u32, FIELD(conf.colors)},
	{"recycle", "N", "every N-th ball tells its color (ACK coalescing); default: 1", opt_u32, FIELD(conf.recycle)},
	{"seed", "N", "default: 1", opt_u64, FIELD(conf.seed)},
	{"csv", "FILE", "balls per bin after every round", opt_string, FIELD(csv)},
	{"entropies", "N", "instead: throw N balls of every flow at once and tell the load imbalance (appendix B)",
	 opt_u32, FIELD(entropies)},
	{"flows", "N", "default: 1", opt_u32, FIELD(flows)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command balls_command = {
	.name = "balls",
	.args = "",
	.about = "Balls into bins, the model behind REPS (section 5.1): output ports are bins that lose a ball in "
		 "every round, packets\n"
		 "are balls that go to a bin by chance (OPS), or to the one their color remembers from a ball that "
		 "found it short.",
	.table = balls_options,
};

struct writer {
	FILE *out; /* NULL: no CSV */
	const char *model;
};

static void write_round(void *arg, uint32_t round, const uint32_t *counts, uint32_t bins)
{
	const struct writer *w = arg;
	for (uint32_t i = 0; i < bins && w->out; i++)
		fprintf(w->out, "%s,%u,%u,%u\n", w->model, round, i, counts[i]);
}

static int run_model(const struct balls_conf *conf, const char *model, FILE *csv, struct weft_err *err)
{
	struct balls_result r;
	struct writer w = {csv, model};
	char settled[16] = "never";
	int rc = balls_run(conf, write_round, &w, &r, err);
	if (rc)
		return rc;
	if (r.settled < conf->rounds)
		snprintf(settled, sizeof settled, "%u", r.settled);
	printf("%-10s %8u %10.1f %8u %14s\n", model, r.max, r.mean_max, r.last, settled);
	return 0;
}

static int run_both(const struct wishes *w, struct weft_err *err)
{
	struct balls_conf ops = w->conf;
	int rc = 0;
	FILE *csv = w->csv ? file_create(w->csv, err) : NULL;
	if (w->csv && !csv)
		return -EIO;
	if (csv)
		fprintf(csv, "model,round,bin,balls\n");
	ops.recycle = 0;
	printf("%u bins, threshold %u, %u colors per bin\n", ops.bins, ops.threshold, ops.colors);
	printf("%-10s %8s %10s %8s %14s\n", "", "max", "mean max", "last max", "settled after");
	rc = run_model(&ops, "ops", csv, err);
	if (!rc)
		rc = run_model(&w->conf, "recycled", csv, err);
	int finished = csv ? file_finish(csv, w->csv, err) : 0;
	return rc ? rc : finished;
}

static int run_imbalance(const struct wishes *w, struct weft_err *err)
{
	double sum = 0, least = INFINITY, most = 0;
	for (uint32_t i = 0; i < DRAWS; i++) {
		double one = balls_imbalance(w->conf.bins, w->flows, w->entropies, w->conf.seed + i, err);
		if (isnan(one))
			return -ENOMEM;
		sum += one;
		least = fmin(least, one);
		most = fmax(most, one);
	}
	printf("%u bins, %u flows, %u entropies: fullest bin %.2f %% above the mean (%.2f to %.2f in %d draws)\n",
	       w->conf.bins, w->flows, w->entropies, 100 * sum / DRAWS, 100 * least, 100 * most, DRAWS);
	return 0;
}

/* The bounds of Theorem 5.1. */
static void derive(struct balls_conf *c)
{
	double ln = c->bins > 1 ? log(c->bins) : 1;
	c->threshold = c->threshold ? c->threshold : (uint32_t)ceil(4 * ln);
	c->colors = c->colors ? c->colors : (uint32_t)ceil(2.4 * ln);
}

int weft_cmd_balls(int argc, char **argv)
{
	struct wishes w = {.conf = {.bins = 8, .rounds = 200, .load_pct = 100, .recycle = 1, .seed = 1}, .flows = 1};
	struct weft_err err = {""};
	uint32_t none;
	int status;
	if (!opt_main(&balls_command, &w, argc, argv, &none, &status))
		return status;
	if (!w.conf.bins || !w.conf.recycle || !w.flows) {
		fputs("weft balls: bins, recycle, flows: at least 1\n", stderr);
		return 2;
	}
	derive(&w.conf);
	int rc = w.entropies ? run_imbalance(&w, &err) : run_both(&w, &err);
	if (rc)
		fprintf(stderr, "weft balls: %s\n", err.msg);
	return rc ? 1 : 0;
}
