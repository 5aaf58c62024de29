/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sweep_int.h"

double sweep_wall_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void sweep_progress_start(struct sweep_progress *p, const struct sweep *w, bool quiet)
{
	*p = (struct sweep_progress){.quiet = quiet, .bar = isatty(STDERR_FILENO), .start_s = sweep_wall_s()};
	for (uint32_t i = 0; i < w->count; i++)
		p->before += w->runs[i].before;
	if (p->before && !quiet)
		fprintf(stderr, "%u of %u runs were done before\n", p->before, w->count);
}

void sweep_progress_clear(const struct sweep_progress *p)
{
	if (p->bar && !p->quiet)
		fputs("\r\033[K", stderr);
}

void sweep_progress_ended(struct sweep_progress *p, const struct sweep *w, const struct sweep_worker *worker)
{
	const struct sweep_run *r = &w->runs[worker->id];
	double took_s = sweep_wall_s() - worker->start_s;
	p->ended++;
	p->worked_s += took_s;
	p->worked_weight += r->weight;
	if (p->quiet || (p->bar && r->status == SWEEP_DONE))
		return;
	sweep_progress_clear(p);
	fprintf(stderr, "%u/%u  %s, seed %llu: ", p->before + p->ended, w->count, r->label,
		(unsigned long long)r->seed);
	if (r->status == SWEEP_DONE)
		fprintf(stderr, "tail FCT %.1f us, %.2f s\n", r->record.summary.fct_us.max, took_s);
	else
		fprintf(stderr, "%s\n", r->error);
}

/* Seconds until the end as far as one can tell: the time per weight so far, for what is left, shared by the workers. */
static double left_s(const struct sweep_progress *p, const struct sweep *w, const struct sweep_worker *workers,
		     uint32_t jobs, double now)
{
	double weight = 0;
	for (uint32_t i = 0; i < w->count; i++)
		weight += w->runs[i].before ? 0 : w->runs[i].weight;
	double left = (weight - p->worked_weight) * p->worked_s / p->worked_weight;
	for (uint32_t i = 0; i < jobs; i++)
		left -= workers[i].pid ? now - workers[i].start_s : 0;
	return left > 0 ? left / jobs : 0;
}

static void print_time(const char *what, double seconds)
{
	unsigned s = (unsigned)(seconds + 0.5);
	if (s >= 3600)
		fprintf(stderr, "  %s %u:%02u:%02u", what, s / 3600, s / 60 % 60, s % 60);
	else
		fprintf(stderr, "  %s %u:%02u", what, s / 60, s % 60);
}

void sweep_progress_show(const struct sweep_progress *p, const struct sweep *w, const struct sweep_worker *workers,
			 uint32_t jobs)
{
	enum { WIDTH = 30 };
	double now = sweep_wall_s();
	uint32_t done = p->before + p->ended, full = done * WIDTH / w->count, running = 0;
	if (p->quiet || !p->bar)
		return;
	for (uint32_t i = 0; i < jobs; i++)
		running += workers[i].pid != 0;
	fputs("\r[", stderr);
	for (uint32_t i = 0; i < WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %u/%u, %u running", done, w->count, running);
	print_time("elapsed", now - p->start_s);
	if (p->worked_weight > 0)
		print_time("left", left_s(p, w, workers, jobs, now));
	fputs("\033[K", stderr);
	fflush(stderr);
}
