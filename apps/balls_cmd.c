/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft balls`: the models behind REPS, as tables and CSV. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "balls.h"
#include "cmd.h"
#include "file.h"
#include "options.h"

enum { DRAWS = 20 }; /* of a load imbalance */

static const char usage[] =
	"usage: weft balls [OPTION]...\n"
	"Balls into bins, the model behind REPS (section 5.1): output ports are bins that lose a ball in every round, "
	"packets\n"
	"are balls that go to a bin by chance (OPS), or to the one their color remembers from a ball that found it "
	"short.\n"
	"\n"
	"  --bins N         output ports; default: 8\n"
	"  --rounds N       default: 200\n"
	"  --load PERCENT   of one new ball per bin and round; default: 100\n"
	"  --threshold N    a color forgets bins with more balls; default: 4 ln bins\n"
	"  --colors N       per bin; default: 2.4 ln bins, at least 1\n"
	"  --recycle N      every N-th ball tells its color (ACK coalescing); default: 1\n"
	"  --seed N         default: 1\n"
	"  --csv FILE       balls per bin after every round\n"
	"  --entropies N    instead: throw N balls of every flow at once and tell the load imbalance (appendix B)\n"
	"  --flows N        default: 1\n"
	"  --help           this text\n";

struct wishes {
	struct balls_conf conf;
	uint32_t entropies, flows;
	const char *csv;
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

/* -1 to go on, or the exit code. */
static int parse(struct wishes *w, int argc, char **argv)
{
	static const struct option longs[] = {{"bins", required_argument, NULL, 'b'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"load", required_argument, NULL, 'l'},
					      {"threshold", required_argument, NULL, 't'},
					      {"colors", required_argument, NULL, 'c'},
					      {"recycle", required_argument, NULL, 'n'},
					      {"seed", required_argument, NULL, 's'},
					      {"csv", required_argument, NULL, 'o'},
					      {"entropies", required_argument, NULL, 'e'},
					      {"flows", required_argument, NULL, 'f'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	uint32_t *const numbers[128] = {['b'] = &w->conf.bins,      ['r'] = &w->conf.rounds, ['l'] = &w->conf.load_pct,
					['t'] = &w->conf.threshold, ['c'] = &w->conf.colors, ['n'] = &w->conf.recycle,
					['e'] = &w->entropies,      ['f'] = &w->flows};
	struct weft_err err = {""};
	for (int c, at; (c = getopt_long(argc, argv, "h", longs, &at)) != -1;) {
		int rc = 0;
		if (c == 'h' || c == '?') {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
		if (c == 'o')
			w->csv = optarg;
		else
			rc = c == 's' ? opt_u64(&w->conf.seed, optarg, &err) : opt_u32(numbers[c], optarg, &err);
		if (rc) {
			fprintf(stderr, "weft balls: %s: %s\n", longs[at].name, err.msg);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 2;
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
	int status = parse(&w, argc, argv);
	if (status >= 0)
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
