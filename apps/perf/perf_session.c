/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	VERSION = 1,
	ANSWER_MS = 60000,     /* opening a domain takes a while */
	IDLE_MS = 3600 * 1000, /* a client that says nothing for so long is gone */
	CLOSE_MS = 5000,       /* between looks at the endpoints while nothing is measured */
	ECHO_MS = 40000,       /* longer than an operation is waited for */
};

/* ---- names and memory of all connections ---- */

static json_t *hex(const uint8_t *bytes, size_t len)
{
	char text[2 * PERF_NAME_MAX + 1] = "";
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(text);
}

static bool unhex(const char *text, uint8_t bytes[PERF_NAME_MAX])
{
	size_t len = text ? strlen(text) : 0;
	unsigned value;
	memset(bytes, 0, PERF_NAME_MAX);
	for (size_t i = 0; i + 1 < len && i / 2 < PERF_NAME_MAX; i += 2) {
		if (sscanf(text + i, "%2x", &value) != 1)
			return false;
		bytes[i / 2] = (uint8_t)value;
	}
	return len > 0 && len % 2 == 0 && len / 2 <= PERF_NAME_MAX;
}

static json_t *describe(const struct perf_side *side, struct weft_err *err)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < side->job.connections; i++) {
		struct perf_lane *lane;
		const struct perf_conn *c = perf_side_conn(side, i, &lane);
		uint8_t name[PERF_NAME_MAX];
		size_t len;
		if (perf_conn_name(c, name, &len, err)) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "name", hex(name, len), "addr",
						      (json_int_t)perf_conn_addr(lane, c), "key",
						      (json_int_t)perf_conn_key(c)));
	}
	return list;
}

static int join_one(const struct perf_side *side, uint32_t number, const json_t *of, struct weft_err *err)
{
	struct perf_lane *lane;
	struct perf_conn *c = perf_side_conn(side, number, &lane);
	uint8_t name[PERF_NAME_MAX];
	if (!unhex(json_string_value(json_object_get(of, "name")), name))
		return weft_err_set(err, -EPROTO, "connection %u: no name", number);
	c->remote_addr = (uint64_t)json_integer_value(json_object_get(of, "addr"));
	c->remote_key = (uint64_t)json_integer_value(json_object_get(of, "key"));
	return perf_conn_join(lane, c, name, err);
}

static int join_all(const struct perf_side *side, const json_t *list, struct weft_err *err)
{
	int rc = 0;
	if (json_array_size(list) != side->job.connections)
		return weft_err_set(err, -EPROTO, "%zu connections, not %u", json_array_size(list),
				    side->job.connections);
	for (uint32_t i = 0; i < side->job.connections && !rc; i++)
		rc = join_one(side, i, json_array_get(list, i), err);
	return rc;
}

/* ---- the job ---- */

static json_t *job_to_json(const struct perf_job *job, const char *provider)
{
	json_t *sizes = json_array();
	for (uint32_t i = 0; i < job->size_count; i++)
		json_array_append_new(sizes, json_integer(job->sizes[i]));
	return json_pack("{s:i, s:s, s:i, s:o, s:i, s:i, s:i, s:b, s:I, s:I, s:I}", "weft_perf", VERSION, "provider",
			 provider, "op", job->op, "sizes", sizes, "connections", (int)job->connections, "threads",
			 (int)job->threads, "window", (int)job->window, "check", job->check, "row_ns",
			 (json_int_t)job->row_ns, "iterations", (json_int_t)job->iterations, "warmup",
			 (json_int_t)job->warmup);
}

static bool is_within(json_int_t value, json_int_t least, json_int_t most)
{
	return value >= least && value <= most;
}

static bool sizes_from_json(struct perf_job *job, const json_t *list)
{
	job->size_count = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < job->size_count && i < PERF_SIZES_MAX; i++) {
		json_int_t bytes = json_integer_value(json_array_get(list, i));
		if (!is_within(bytes, 0, PERF_BYTES_MAX))
			return false;
		job->sizes[i] = (uint32_t)bytes;
	}
	return is_within(job->size_count, 1, PERF_SIZES_MAX);
}

static int job_from_json(struct perf_job *job, const char **provider, json_t *o, struct weft_err *err)
{
	int version = 0, op = -1, connections = 0, threads = 0, window = 0, check = 0;
	json_int_t row_ns = 0, iterations = 0, warmup = 0;
	json_t *sizes = NULL;
	if (json_unpack(o, "{s:i, s:s, s:i, s:o, s:i, s:i, s:i, s:b, s:I, s:I, s:I}", "weft_perf", &version, "provider",
			provider, "op", &op, "sizes", &sizes, "connections", &connections, "threads", &threads,
			"window", &window, "check", &check, "row_ns", &row_ns, "iterations", &iterations, "warmup",
			&warmup))
		return weft_err_set(err, -EPROTO, "not a job of weft perf");
	if (version != VERSION)
		return weft_err_set(err, -EPROTO, "version %d of weft perf, not %d", version, VERSION);
	*job = (struct perf_job){.op = (enum perf_op)op,
				 .connections = (uint32_t)connections,
				 .threads = (uint32_t)threads,
				 .window = (uint32_t)window,
				 .check = check,
				 .row_ns = (uint64_t)row_ns,
				 .iterations = (uint64_t)iterations,
				 .warmup = (uint64_t)warmup};
	if (!is_within(op, 0, PERF_OPS - 1) || !is_within(connections, 1, PERF_CONNECTIONS_MAX) ||
	    !is_within(threads, 1, PERF_THREADS_MAX) || threads > connections ||
	    !is_within(window, 1, PERF_WINDOW_MAX) || row_ns < 0 || iterations < 0 || warmup < 0 ||
	    !sizes_from_json(job, sizes))
		return weft_err_set(err, -EPROTO, "a job out of range");
	return 0;
}

/* ---- waiting ---- */

/* Takes what the peer says next, and keeps our endpoints going meanwhile. A peer whose operations reach us is there. */
static int hear(struct perf_ctl *ctl, struct perf_side *side, int wait_ms, json_t **object, struct weft_err *err)
{
	const uint64_t wait_ns = (uint64_t)wait_ms * 1000000, until = perf_now_ns() + wait_ns;
	for (uint64_t now = until - wait_ns;
	     now < until || now < perf_lanes_moved_ns(side->lanes, side->open) + wait_ns; now = perf_now_ns()) {
		int rc = perf_ctl_poll(ctl, 0, object, err);
		if (rc)
			return rc > 0 ? 0 : rc;
		rc = perf_side_poll(side);
		if (rc < 0) {
			*err = side->err;
			return rc;
		}
	}
	return weft_err_set(err, -ETIMEDOUT, "%s has said nothing for %d s", ctl->peer, wait_ms / 1000);
}

/* Until the threads are done or, with `object`, the peer has said something. */
static int watch(struct perf_ctl *ctl, struct perf_phase_run *run, json_t **object, struct weft_err *err)
{
	json_t *said = NULL;
	for (;;) {
		int rc = perf_ctl_poll(ctl, 0, &said, err);
		if (rc < 0)
			return rc;
		if (rc > 0 && !object) {
			json_decref(said);
			return weft_err_set(err, -EPROTO, "%s says something between", ctl->peer);
		}
		if (rc > 0)
			*object = said;
		if (rc > 0 || perf_phase_is_over(run))
			return 0;
		struct pollfd fds[] = {{.fd = ctl->fd, .events = POLLIN}, {.fd = perf_phase_fd(run), .events = POLLIN}};
		poll(fds, 2, -1);
	}
}

/* One phase from start to end. *said: what the peer says meanwhile, the caller's; NULL: it has nothing to say. */
static int go_through(struct perf_ctl *ctl, struct perf_side *side, enum perf_phase phase, bool warmup, json_t **said,
		      struct weft_err *err)
{
	struct perf_phase_run *run;
	int rc = perf_phase_start(side, phase, warmup, &run);
	if (rc) {
		*err = side->err;
		return rc;
	}
	rc = watch(ctl, run, said, err);
	if (rc)
		perf_phase_stop(run, true);
	int joined = perf_phase_join(run);
	if (!rc && joined)
		*err = side->err;
	return rc ? rc : joined;
}

/* ---- counts ---- */

static json_t *sent_counts(const struct perf_side *side)
{
	json_t *list = json_array();
	struct perf_lane *lane;
	for (uint32_t i = 0; i < side->job.connections; i++)
		json_array_append_new(list, json_integer((json_int_t)perf_side_conn(side, i, &lane)->sent));
	return list;
}

/* What the peer has begun, all together; and how many messages of it are to come. */
static uint64_t expect(const struct perf_side *side, enum perf_test test, const json_t *counts)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < side->job.connections; i++) {
		struct perf_lane *lane;
		struct perf_conn *c = perf_side_conn(side, i, &lane);
		uint64_t sent = (uint64_t)json_integer_value(json_array_get(counts, i));
		c->expected = perf_side_receives(side, test) ? sent : 0;
		sum += sent;
	}
	return sum;
}

/* Messages, and parts of memory that the peer wrote, with wrong bytes. */
static uint64_t wrong_bytes(const struct perf_side *side, const json_t *counts)
{
	uint64_t wrong = 0;
	for (uint32_t i = 0; i < side->job.connections && side->job.check; i++) {
		struct perf_lane *lane;
		struct perf_conn *c = perf_side_conn(side, i, &lane);
		wrong += c->wrong + perf_conn_compare(lane, c, (uint64_t)json_integer_value(json_array_get(counts, i)));
	}
	return wrong;
}

static uint64_t begun_here(const struct perf_side *side)
{
	uint64_t sum = 0;
	struct perf_lane *lane;
	for (uint32_t i = 0; i < side->job.connections; i++)
		sum += perf_side_conn(side, i, &lane)->sent;
	return sum;
}

/* ---- client ---- */

int perf_client_open(struct perf_ctl *ctl, struct perf_side *side, const struct perf_where *where, struct weft_err *err)
{
	json_t *answer;
	int rc = perf_ctl_send(ctl, job_to_json(&side->job, where->provider), err);
	if (!rc)
		rc = perf_side_open(side, where, err);
	if (!rc)
		rc = hear(ctl, side, ANSWER_MS, &answer, err);
	if (rc)
		return rc;
	rc = join_all(side, json_object_get(answer, "connections"), err);
	json_decref(answer);
	json_t *own = rc ? NULL : describe(side, err);
	if (!own)
		return rc ? rc : -EIO;
	rc = perf_ctl_send(ctl, json_pack("{s:o}", "connections", own), err);
	if (!rc)
		rc = hear(ctl, side, ANSWER_MS, &answer, err);
	if (!rc)
		json_decref(answer);
	return rc;
}

/* Asks, and waits for the answer, which is the caller's. */
static int ask(struct perf_ctl *ctl, struct perf_side *side, json_t *question, json_t **answer, struct weft_err *err)
{
	int rc = perf_ctl_send(ctl, question, err);
	return rc ? rc : hear(ctl, side, ECHO_MS, answer, err);
}

static int begin_row(struct perf_ctl *ctl, struct perf_side *side, enum perf_test test, uint32_t bytes, bool warmup,
		     struct weft_err *err)
{
	json_t *answer;
	int rc = perf_side_row(side, test, bytes);
	if (rc < 0) {
		*err = side->err;
		return rc;
	}
	rc = ask(ctl, side, json_pack("{s:i, s:i, s:b}", "row", test, "bytes", (int)bytes, "warmup", warmup), &answer,
		 err);
	if (!rc)
		json_decref(answer);
	return rc;
}

/* Both sides have all their messages, and no receive waits any more. */
static int end_row(struct perf_ctl *ctl, struct perf_side *side, const json_t *done, struct weft_err *err)
{
	int rc = go_through(ctl, side, PERF_SETTLE, false, NULL, err);
	if (rc)
		return rc;
	uint64_t wrong = wrong_bytes(side, json_object_get(done, "sent")) +
			 (uint64_t)json_integer_value(json_object_get(done, "wrong"));
	if (wrong)
		return weft_err_set(err, -EBADMSG, "%llu operations brought wrong bytes", (unsigned long long)wrong);
	rc = perf_ctl_send(ctl, json_pack("{s:b}", "clean", 1), err);
	json_t *answer = NULL; /* the server may be ready before us */
	if (!rc)
		rc = go_through(ctl, side, PERF_CLEAN, false, &answer, err);
	if (!rc && !answer)
		rc = hear(ctl, side, ECHO_MS, &answer, err);
	json_decref(answer);
	return rc;
}

static int summarize(const struct perf_side *side, struct perf_result *result)
{
	struct perf_samples *sets[PERF_THREADS_MAX];
	for (uint32_t i = 0; i < side->open; i++)
		sets[i] = &side->lanes[i].samples;
	return perf_samples_summary(sets, side->open, perf_has_receiver(side->job.op) ? 2 : 1, &result->latency);
}

int perf_client_row(struct perf_ctl *ctl, struct perf_side *side, enum perf_test test, uint32_t bytes, bool warmup,
		    struct perf_result *result, struct weft_err *err)
{
	json_t *done;
	int rc = begin_row(ctl, side, test, bytes, warmup, err);
	uint64_t from = perf_now_ns();
	if (!rc)
		rc = go_through(ctl, side, PERF_RUN, warmup, NULL, err);
	uint64_t sent = begun_here(side);
	if (!rc)
		rc = ask(ctl, side, json_pack("{s:o}", "end", sent_counts(side)), &done, err);
	if (rc)
		return rc;
	if (perf_has_receiver(side->job.op))
		side->end_ns = perf_now_ns(); /* the last message has come */
	uint64_t theirs = expect(side, test, json_object_get(done, "sent"));
	*result = (struct perf_result){.test = test,
				       .bytes = bytes,
				       .operations = sent + (test == PERF_BOTH_WAYS ? theirs : 0),
				       .seconds = (double)(side->end_ns - from) / 1e9};
	rc = end_row(ctl, side, done, err);
	json_decref(done);
	return rc ? rc : summarize(side, result);
}

/* ---- server ---- */

/* Until the client says that it has ended; *end is the caller's. Our own operations may have ended long before, and of
 * what is done to our memory nothing is seen: the client is trusted to give up by itself. */
static int serve_run(struct perf_ctl *ctl, struct perf_side *side, bool warmup, json_t **end, struct weft_err *err)
{
	struct perf_phase_run *run;
	int rc = perf_phase_start(side, PERF_RUN, warmup, &run);
	if (rc) {
		*err = side->err;
		return rc;
	}
	*end = NULL;
	rc = perf_ctl_send(ctl, json_pack("{s:b}", "go", 1), err);
	if (!rc)
		rc = watch(ctl, run, end, err);
	while (!rc && !*end) /* our threads have ended before */
		rc = hear(ctl, side, IDLE_MS, end, err);
	perf_phase_stop(run, rc != 0);
	int joined = perf_phase_join(run);
	if (joined && !rc)
		*err = side->err;
	return rc ? rc : joined;
}

/* Memory is as large as the job's largest size needs. */
static bool has_size(const struct perf_job *job, json_int_t bytes)
{
	for (uint32_t i = 0; i < job->size_count; i++)
		if (job->sizes[i] == bytes)
			return true;
	return false;
}

static int serve_row(struct perf_ctl *ctl, struct perf_side *side, const json_t *row, struct weft_err *err)
{
	json_int_t test = json_integer_value(json_object_get(row, "row")),
		   bytes = json_integer_value(json_object_get(row, "bytes"));
	bool warmup = json_is_true(json_object_get(row, "warmup"));
	json_t *end, *answer;
	if (!is_within(test, 0, PERF_TESTS - 1) || !has_size(&side->job, bytes))
		return weft_err_set(err, -EPROTO, "a row out of range");
	int rc = perf_side_row(side, (enum perf_test)test, (uint32_t)bytes);
	if (rc < 0) {
		*err = side->err;
		return rc;
	}
	rc = serve_run(ctl, side, warmup, &end, err);
	if (rc)
		return rc;
	const json_t *counts = json_object_get(end, "end");
	expect(side, (enum perf_test)test, counts);
	rc = go_through(ctl, side, PERF_SETTLE, false, NULL, err);
	if (!rc)
		rc = ask(ctl, side,
			 json_pack("{s:o, s:I}", "sent", sent_counts(side), "wrong",
				   (json_int_t)wrong_bytes(side, counts)),
			 &answer, err);
	json_decref(end);
	if (rc)
		return rc;
	json_decref(answer);
	rc = go_through(ctl, side, PERF_CLEAN, false, NULL, err);
	return rc ? rc : perf_ctl_send(ctl, json_pack("{s:b}", "cleaned", 1), err);
}

static int serve_open(struct perf_ctl *ctl, struct perf_side *side, struct perf_where *where, json_t *job,
		      struct weft_err *err)
{
	json_t *peer = NULL;
	int rc = job_from_json(&side->job, &where->provider, job, err);
	if (!rc)
		rc = perf_side_open(side, where, err);
	json_t *own = rc ? NULL : describe(side, err);
	if (!own)
		return rc ? rc : -EIO;
	rc = ask(ctl, side, json_pack("{s:o}", "connections", own), &peer, err);
	if (rc)
		return rc;
	rc = join_all(side, json_object_get(peer, "connections"), err);
	json_decref(peer);
	return rc ? rc : perf_ctl_send(ctl, json_pack("{s:b}", "ready", 1), err);
}

/* The client closes its endpoints first: it may use our device. */
static void await_end(struct perf_ctl *ctl, struct perf_side *side)
{
	struct weft_err closed;
	json_t *more = NULL;
	hear(ctl, side, CLOSE_MS, &more, &closed);
	json_decref(more);
}

/* Rows until the client says that it has all. */
static int serve_rows(struct perf_ctl *ctl, struct perf_side *side, struct weft_err *err)
{
	for (;;) {
		json_t *row;
		int rc = hear(ctl, side, IDLE_MS, &row, err);
		if (rc)
			return rc;
		bool bye = json_object_get(row, "bye") != NULL;
		rc = bye ? 0 : serve_row(ctl, side, row, err);
		json_decref(row);
		if (bye)
			await_end(ctl, side);
		if (rc || bye)
			return rc;
	}
}

int perf_serve(struct perf_ctl *ctl, struct perf_where *where, struct weft_err *err)
{
	struct perf_side side = {.is_server = true};
	struct weft_err ignored;
	json_t *job;
	int rc = perf_ctl_recv(ctl, ANSWER_MS, &job, err);
	if (rc)
		return rc;
	where->near = ctl->local;
	rc = serve_open(ctl, &side, where, job, err);
	if (!rc)
		rc = serve_rows(ctl, &side, err);
	if (rc && rc != -EREMOTEIO && rc != -ECONNRESET)
		perf_ctl_send(ctl, json_pack("{s:s}", "error", err->msg), &ignored);
	perf_side_close(&side);
	json_decref(job);
	return rc;
}
