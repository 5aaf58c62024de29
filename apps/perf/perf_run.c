/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LATENCY_WINDOW 4 /* an answer may end after the next message has come */

/* A thread in a phase. */
struct worker {
	struct perf_phase_run *run;
	struct perf_lane *lane;
	pthread_t id;
	bool started;
	int rc;
};

struct perf_phase_run {
	struct perf_side *side;
	enum perf_phase phase;
	uint64_t until_ns; /* RUN: when the client stops; UINT64_MAX: after `iterations` */
	uint64_t iterations;
	atomic_bool stop, abort;
	atomic_uint working; /* threads that have something to do */
	atomic_uint there;   /* ... and those that have not ended */
	atomic_ullong end_ns;
	int over_fd;
	uint32_t count;
	struct worker workers[];
};

int perf_side_open(struct perf_side *side, const struct perf_where *where, struct weft_err *err)
{
	int rc = 0;
	side->lanes = calloc(side->job.threads, sizeof *side->lanes);
	if (!side->lanes)
		return weft_err_set(err, -ENOMEM, "no memory");
	while (side->open < side->job.threads && !rc) {
		rc = perf_lane_open(&side->lanes[side->open], &side->job, where, side->open, err);
		side->open++;
	}
	for (uint32_t i = 0; i < side->open; i++) {
		side->lanes[i].all = side->lanes;
		side->lanes[i].all_count = side->open;
	}
	return rc;
}

void perf_side_close(struct perf_side *side)
{
	for (uint32_t i = 0; i < side->open; i++)
		perf_lane_close(&side->lanes[i]);
	free(side->lanes);
	side->lanes = NULL;
	side->open = 0;
}

struct perf_conn *perf_side_conn(const struct perf_side *side, uint32_t number, struct perf_lane **lane)
{
	*lane = &side->lanes[number % side->job.threads];
	return &(*lane)->conns[number / side->job.threads];
}

bool perf_side_sends(const struct perf_side *side, enum perf_test test)
{
	return !side->is_server || test == PERF_BOTH_WAYS;
}

bool perf_side_receives(const struct perf_side *side, enum perf_test test)
{
	return perf_has_receiver(side->job.op) && (side->is_server || test != PERF_BANDWIDTH);
}

static int take_over(struct perf_side *side, const struct perf_lane *lane, int rc)
{
	if (rc < 0)
		side->err = lane->err;
	return rc;
}

int perf_side_row(struct perf_side *side, enum perf_test test, uint32_t bytes)
{
	uint32_t window = perf_window(&side->job, bytes);
	if (test == PERF_LATENCY && window > LATENCY_WINDOW)
		window = LATENCY_WINDOW;
	const struct perf_row row = {.test = test, .bytes = bytes, .window = window, .is_server = side->is_server};
	for (uint32_t i = 0; i < side->open; i++) {
		int rc = perf_lane_row(&side->lanes[i], &row, perf_side_receives(side, test));
		if (rc < 0)
			return take_over(side, &side->lanes[i], rc);
	}
	return 0;
}

int perf_side_poll(struct perf_side *side)
{
	for (uint32_t i = 0; i < side->open; i++) {
		int rc = perf_lane_poll(&side->lanes[i]);
		if (rc < 0)
			return take_over(side, &side->lanes[i], rc);
	}
	return 0;
}

/* Polls until all operations that were begun have ended. */
static int drain(const struct worker *w)
{
	struct perf_lane *lane = w->lane;
	int rc = 0;
	for (uint32_t i = 0; i < lane->count; i++)
		while (lane->conns[i].completed < lane->conns[i].sent && rc >= 0 && !w->run->abort)
			rc = perf_lane_poll(lane);
	return rc;
}

static bool is_time(const struct worker *w)
{
	return w->run->stop || w->run->abort || perf_now_ns() >= w->run->until_ns;
}

/* One operation after the other; where messages are answered, until the answer has come. */
static int latency_one(const struct worker *w, struct perf_conn *c)
{
	struct perf_lane *lane = w->lane;
	bool answered = perf_has_receiver(lane->job->op);
	uint64_t from = perf_now_ns(), goal = c->sent + 1;
	int rc = perf_conn_post(lane, c);
	while (rc >= 0 && (c->sent < goal || (answered ? c->received : c->completed) < goal) && !w->run->abort) {
		rc = perf_lane_poll(lane);
		if (rc >= 0 && c->sent < goal)
			rc = perf_conn_post(lane, c);
	}
	perf_samples_add(&lane->samples, perf_now_ns() - from);
	return rc < 0 ? rc : 0;
}

static int run_latency(const struct worker *w)
{
	int rc = 0;
	for (uint64_t n = 0; n < w->run->iterations && !rc && !is_time(w); n++)
		for (uint32_t i = 0; i < w->lane->count && !rc; i++)
			rc = latency_one(w, &w->lane->conns[i]);
	return rc ? rc : drain(w);
}

/* As many as there is room for. Returns how many connections have begun all they shall; negative: failed. */
static int begin_more(const struct worker *w, uint64_t limit)
{
	struct perf_lane *lane = w->lane;
	int over = 0;
	for (uint32_t i = 0; i < lane->count; i++) {
		struct perf_conn *c = &lane->conns[i];
		int rc = 1;
		while (c->sent < limit && rc > 0)
			rc = perf_conn_post(lane, c);
		if (rc < 0)
			return rc;
		over += c->sent >= limit;
	}
	return over;
}

static int run_bandwidth(const struct worker *w)
{
	struct perf_lane *lane = w->lane;
	int rc = 0;
	while (rc >= 0 && rc < (int)lane->count && !is_time(w)) {
		rc = begin_more(w, w->run->iterations);
		if (rc >= 0) {
			int polled = perf_lane_poll(lane);
			rc = polled < 0 ? polled : rc;
		}
	}
	return rc < 0 ? rc : drain(w);
}

/* A server that begins nothing works until it is told to stop. */
static int run_answers(const struct worker *w)
{
	int rc = 0;
	while (rc >= 0 && !w->run->stop && !w->run->abort)
		rc = perf_lane_poll(w->lane);
	return rc < 0 ? rc : drain(w);
}

static int run(const struct worker *w)
{
	if (!perf_side_sends(w->run->side, w->lane->row.test))
		return run_answers(w);
	return w->lane->row.test == PERF_LATENCY ? run_latency(w) : run_bandwidth(w);
}

static int settle(const struct worker *w)
{
	struct perf_lane *lane = w->lane;
	int rc = 0;
	for (uint32_t i = 0; i < lane->count; i++)
		while (lane->conns[i].received < lane->conns[i].expected && rc >= 0 && !w->run->abort)
			rc = perf_lane_poll(lane);
	rc = rc < 0 ? rc : drain(w);
	lane->cleaning = true;
	return rc;
}

static int clean_one(const struct worker *w, struct perf_conn *c, uint32_t receives_of_peer)
{
	int rc = 0;
	for (uint32_t n = 0; n < receives_of_peer && rc >= 0 && !w->run->abort; n += rc > 0) {
		rc = perf_conn_post_empty(w->lane, c);
		int polled = perf_lane_poll(w->lane);
		rc = polled < 0 ? polled : rc;
	}
	while (c->posted > 0 && rc >= 0 && !w->run->abort)
		rc = perf_lane_poll(w->lane);
	return rc;
}

static int clean(const struct worker *w)
{
	struct perf_lane *lane = w->lane;
	struct perf_side peer = {.job.op = lane->job->op, .is_server = !w->run->side->is_server};
	uint32_t receives = perf_side_receives(&peer, lane->row.test) ? lane->row.window : 0;
	int rc = 0;
	for (uint32_t i = 0; i < lane->count && rc >= 0; i++)
		rc = clean_one(w, &lane->conns[i], receives);
	return rc < 0 ? rc : drain(w);
}

/* Of a thread that has done its part, or never began. */
static void be_done(struct perf_phase_run *r)
{
	r->end_ns = perf_now_ns();
	r->working--;
}

static void leave(struct perf_phase_run *r)
{
	if (--r->there == 0)
		eventfd_write(r->over_fd, 1);
}

/* The peer's lane may have more to do than ours: who is done goes on answering it while others work. */
static int linger(const struct worker *w)
{
	int rc = 0;
	while (rc >= 0 && w->run->working > 0 && !w->run->abort)
		rc = perf_lane_poll(w->lane);
	return rc;
}

static void *work(void *arg)
{
	static int (*const phases[])(const struct worker *w) = {run, settle, clean};
	struct worker *w = arg;
	w->rc = phases[w->run->phase](w);
	be_done(w->run);
	if (w->rc >= 0)
		w->rc = linger(w);
	leave(w->run);
	return NULL;
}

static void set_goal(struct perf_phase_run *r, bool warmup)
{
	const struct perf_job *job = &r->side->job;
	r->until_ns = UINT64_MAX;
	r->iterations = warmup ? job->warmup : job->row_ns ? UINT64_MAX : job->iterations;
	if (!warmup && job->row_ns)
		r->until_ns = perf_now_ns() + job->row_ns;
	if (r->side->is_server) { /* the client says when it is over */
		r->until_ns = UINT64_MAX;
		r->iterations = warmup || !job->row_ns ? r->iterations : UINT64_MAX;
	}
}

int perf_phase_start(struct perf_side *side, enum perf_phase phase, bool warmup, struct perf_phase_run **run)
{
	struct perf_phase_run *r = calloc(1, sizeof *r + side->open * sizeof r->workers[0]);
	if (!r)
		return weft_err_set(&side->err, -ENOMEM, "no memory");
	*r = (struct perf_phase_run){
		.side = side, .phase = phase, .count = side->open, .working = side->open, .there = side->open};
	r->over_fd = eventfd(0, EFD_CLOEXEC);
	set_goal(r, warmup);
	for (uint32_t i = 0; i < r->count; i++) /* a lane may have been done with the phase before long ago */
		side->lanes[i].moved_ns = perf_now_ns();
	for (uint32_t i = 0; i < r->count; i++) {
		struct worker *w = &r->workers[i];
		*w = (struct worker){.run = r, .lane = &side->lanes[i]};
		w->started = pthread_create(&w->id, NULL, work, w) == 0;
		if (!w->started) {
			w->rc = weft_err_set(&w->lane->err, -EAGAIN, "no thread");
			be_done(r);
			leave(r);
		}
	}
	*run = r;
	return 0;
}

bool perf_phase_is_over(const struct perf_phase_run *run)
{
	return run->there == 0;
}

int perf_phase_fd(const struct perf_phase_run *run)
{
	return run->over_fd;
}

void perf_phase_stop(struct perf_phase_run *run, bool abort)
{
	run->stop = true;
	if (abort)
		run->abort = true;
}

int perf_phase_join(struct perf_phase_run *run)
{
	int rc = 0;
	for (uint32_t i = 0; i < run->count; i++) {
		struct worker *w = &run->workers[i];
		if (w->started)
			pthread_join(w->id, NULL);
		if (w->rc < 0 && rc == 0)
			rc = take_over(run->side, w->lane, w->rc);
	}
	run->side->end_ns = run->end_ns;
	close(run->over_fd);
	free(run);
	return rc;
}
