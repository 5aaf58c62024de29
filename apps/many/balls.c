/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "balls.h"
#include "rng.h"

enum { NO_BIN = UINT32_MAX };

/* Colors of the balls in a bin, oldest first. */
struct bin {
	uint32_t *colors; /* owned; a ring of `room` entries, a power of two or 0 */
	uint32_t room, head, count;
};

struct process {
	const struct balls_conf *conf;
	struct bin *bins;
	uint32_t *remembered; /* bin by color, or NO_BIN */
	uint32_t *counts;     /* balls by bin, for the observer */
	uint32_t turn;        /* color of the next ball */
	uint32_t told;        /* balls removed since one told its color */
	struct rng rng;
};

static int bin_grow(struct bin *b)
{
	uint32_t room = b->room ? 2 * b->room : 16;
	uint32_t *colors = malloc(room * sizeof *colors);
	if (!colors)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		colors[i] = b->colors[(b->head + i) & (b->room - 1)];
	free(b->colors);
	*b = (struct bin){.colors = colors, .room = room, .count = b->count};
	return 0;
}

static int bin_put(struct bin *b, uint32_t color)
{
	int rc = b->count == b->room ? bin_grow(b) : 0;
	if (!rc)
		b->colors[(b->head + b->count++) & (b->room - 1)] = color;
	return rc;
}

static uint32_t bin_take(struct bin *b)
{
	uint32_t color = b->colors[b->head];
	b->head = (b->head + 1) & (b->room - 1);
	b->count--;
	return color;
}

/* What the ball's ACK brings: the bin is remembered unless it was too full, when it is forgotten. A ball without an ACK
 * of its own takes its color's memory of this bin along: an entropy that is sent and not acknowledged is not cached. */
static void learn(struct process *p, uint32_t color, uint32_t bin, uint32_t count)
{
	uint32_t *memory = &p->remembered[color];
	p->told = (p->told + 1) % p->conf->recycle;
	bool good = p->told == 0 && count <= p->conf->threshold;
	if (good && *memory == NO_BIN)
		*memory = bin;
	else if (!good && *memory == bin)
		*memory = NO_BIN;
}

static void remove_balls(struct process *p)
{
	for (uint32_t i = 0; i < p->conf->bins; i++) {
		uint32_t count = p->bins[i].count;
		if (!count)
			continue;
		uint32_t color = bin_take(&p->bins[i]);
		if (p->conf->recycle)
			learn(p, color, i, count);
	}
}

static int throw_balls(struct process *p)
{
	const struct balls_conf *c = p->conf;
	int rc = 0;
	for (uint32_t i = 0; i < c->bins && !rc; i++) {
		uint32_t color = p->turn;
		p->turn = (p->turn + 1) % (c->bins * c->colors);
		if (c->load_pct < 100 && rng_below(&p->rng, 100) >= c->load_pct)
			continue;
		uint32_t bin = p->remembered[color];
		rc = bin_put(&p->bins[bin == NO_BIN ? rng_below(&p->rng, c->bins) : bin], color);
	}
	return rc;
}

/* The fullest bin; notes all. */
static uint32_t count_balls(struct process *p)
{
	uint32_t max = 0;
	for (uint32_t i = 0; i < p->conf->bins; i++) {
		p->counts[i] = p->bins[i].count;
		max = p->counts[i] > max ? p->counts[i] : max;
	}
	return max;
}

static int run_rounds(struct process *p, balls_observe observe, void *arg, struct balls_result *result)
{
	const struct balls_conf *c = p->conf;
	double sum = 0;
	for (uint32_t round = 0; round < c->rounds; round++) {
		remove_balls(p);
		int rc = throw_balls(p);
		if (rc)
			return rc;
		uint32_t max = count_balls(p);
		sum += max;
		result->last = max;
		result->max = max > result->max ? max : result->max;
		if (max > c->threshold)
			result->settled = round + 1;
		if (observe)
			observe(arg, round, p->counts, c->bins);
	}
	result->mean_max = sum / c->rounds;
	return 0;
}

static void process_free(struct process *p)
{
	for (uint32_t i = 0; p->bins && i < p->conf->bins; i++)
		free(p->bins[i].colors);
	free(p->bins);
	free(p->remembered);
	free(p->counts);
}

int balls_run(const struct balls_conf *conf, balls_observe observe, void *arg, struct balls_result *result,
	      struct weft_err *err)
{
	struct process p = {.conf = conf, .rng = {rng_mix(conf->seed)}};
	*result = (struct balls_result){0};
	if (!conf->bins || !conf->rounds || !conf->colors || !conf->load_pct || conf->load_pct > 100 ||
	    (uint64_t)conf->bins * conf->colors >= NO_BIN)
		return weft_err_set(err, -EINVAL, "bins, rounds, colors: at least 1; load: 1 to 100 %%");
	uint32_t colors = conf->bins * conf->colors;
	p.bins = calloc(conf->bins, sizeof *p.bins);
	p.counts = calloc(conf->bins, sizeof *p.counts);
	p.remembered = malloc(colors * sizeof *p.remembered);
	int rc = p.bins && p.counts && p.remembered ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < colors && !rc; i++)
		p.remembered[i] = NO_BIN;
	if (!rc)
		rc = run_rounds(&p, observe, arg, result);
	process_free(&p);
	return rc ? weft_err_set(err, rc, "no memory") : 0;
}

double balls_imbalance(uint32_t bins, uint32_t flows, uint32_t entropies, uint64_t seed, struct weft_err *err)
{
	struct rng rng = {rng_mix(seed)};
	uint32_t *counts = calloc(bins, sizeof *counts), max = 0;
	if (!counts) {
		weft_err_set(err, -ENOMEM, "no memory");
		return NAN;
	}
	uint64_t balls = (uint64_t)flows * entropies;
	for (uint64_t i = 0; i < balls; i++) {
		uint32_t count = ++counts[rng_below(&rng, bins)];
		max = count > max ? count : max;
	}
	free(counts);
	return (double)max * bins / (double)balls - 1;
}
