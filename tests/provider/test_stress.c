/* SPDX-License-Identifier: BSD-3-Clause */
/* Many messages of random sizes between two hosts, both ways, each byte checked and the order as well. */
#include "fixture.h"
#include "member.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	MESSAGES = 10000,
	SIZE_MAX_BYTES = 256 * 1024,
	SLOTS = 32, /* receives posted ahead, and sends outstanding */
};

/* Sizes are small mostly, large now and then: a power of two below, plus something. */
static size_t size_of(uint64_t seed)
{
	uint64_t r = (seed + 1) * 0x9e3779b97f4a7c15u;
	size_t limit = (size_t)1 << (r >> 59) % 19;
	return (size_t)(r >> 20) % (limit + 1);
}

/* One buffer and the operation that uses it; its address is the operation's context. */
struct slot {
	struct stream *stream;
	uint8_t *buf;
	bool busy;
};

struct stream {
	struct host *from, *to;
	uint64_t seed; /* added to the message number: the two directions differ */
	struct slot tx[SLOTS], rx[SLOTS];
	unsigned sent, acked, posted, received;
};

static void slot_open(struct slot *slot, struct stream *s)
{
	*slot = (struct slot){.stream = s, .buf = malloc(SIZE_MAX_BYTES)};
	assert_non_null(slot->buf);
}

static void stream_open(struct stream *s, struct host *from, uint64_t seed)
{
	*s = (struct stream){.from = from, .to = from->other, .seed = seed};
	for (int i = 0; i < SLOTS; i++) {
		slot_open(&s->tx[i], s);
		slot_open(&s->rx[i], s);
	}
}

static void stream_close(struct stream *s)
{
	for (int i = 0; i < SLOTS; i++) {
		free(s->tx[i].buf);
		free(s->rx[i].buf);
	}
}

static void stream_send(struct stream *s)
{
	struct slot *slot = &s->tx[s->sent % SLOTS];
	size_t len = size_of(s->seed + s->sent);
	if (s->sent == MESSAGES || slot->busy)
		return;
	pattern_fill(slot->buf, len, s->seed + s->sent);
	ssize_t ret = fi_tsenddata(s->from->ep, slot->buf, len, NULL, s->sent, s->from->peer, 1, slot);
	if (ret == -FI_EAGAIN)
		return;
	ok(ret);
	slot->busy = true;
	s->sent++;
}

static void stream_post(struct stream *s)
{
	struct slot *slot = &s->rx[s->posted % SLOTS];
	if (s->posted == MESSAGES || slot->busy)
		return;
	ok(fi_trecv(s->to->ep, slot->buf, SIZE_MAX_BYTES, NULL, s->to->peer, 1, 0, slot));
	slot->busy = true;
	s->posted++;
}

/* Receives match in order whatever the order of completion: message n lies in the n-th buffer posted. */
static void stream_check(struct stream *s, const struct fi_cq_tagged_entry *e)
{
	size_t len = size_of(s->seed + e->data);
	assert_int_equal(e->len, len);
	assert_ptr_equal(e->buf, s->rx[e->data % SLOTS].buf);
	assert_int_equal(pattern_check(e->buf, len, s->seed + e->data), len);
	s->received++;
}

static void drain(struct host *h)
{
	struct fi_cq_tagged_entry e[8];
	ssize_t n = fi_cq_read(h->cq, e, count_of(e));
	if (n == -FI_EAGAIN)
		return;
	assert_in_range(n, 1, count_of(e));
	for (ssize_t i = 0; i < n; i++) {
		struct slot *slot = e[i].op_context;
		slot->busy = false;
		if (e[i].flags & FI_SEND)
			slot->stream->acked++;
		else
			stream_check(slot->stream, &e[i]);
	}
}

/* More sends than receives per turn: some messages find no receive waiting. */
static void turn(struct stream *s, struct host *h)
{
	stream_send(s);
	stream_send(s);
	stream_post(s);
	drain(h);
}

static void run(const struct host_opts *opts)
{
	struct stream streams[2];
	hosts_open(hosts, opts);
	stream_open(&streams[0], &hosts[0], 1);
	stream_open(&streams[1], &hosts[1], 1000000);
	while (streams[0].received + streams[1].received < 2 * MESSAGES ||
	       streams[0].acked + streams[1].acked < 2 * MESSAGES) {
		turn(&streams[0], &hosts[0]);
		turn(&streams[1], &hosts[1]);
	}
	stream_close(&streams[0]);
	stream_close(&streams[1]);
	hosts_close(hosts);
}

static void stress__manual_progress(void **state)
{
	run(NULL);
}

static void stress__auto_progress(void **state)
{
	const struct host_opts opts = {.progress = FI_PROGRESS_AUTO};
	run(&opts);
}

enum { THREADS = 3, PER_THREAD = 2000 };

/* One thread's share of one host: it posts operations and counts those anybody saw finishing. */
struct worker {
	struct host *host;
	uint64_t tag;
	bool sends;
	atomic_int done;
};

/* Asserts are not for threads other than cmocka's: they stop counting instead. */
static bool worker_read(struct host *h)
{
	struct fi_cq_tagged_entry e;
	ssize_t n = fi_cq_read(h->cq, &e, 1);
	if (n == 1) {
		struct worker *w = e.op_context;
		bool right = w->sends || e.tag == w->tag;
		atomic_fetch_add(&w->done, right ? 1 : -2 * PER_THREAD);
	}
	return n == 1 || n == -FI_EAGAIN;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	char buf[8] = "threads";
	for (int posted = 0; posted < PER_THREAD || atomic_load(&w->done) < PER_THREAD;) {
		ssize_t ret = -FI_EAGAIN;
		if (posted < PER_THREAD && w->sends)
			ret = fi_tsend(w->host->ep, buf, sizeof buf, NULL, w->host->peer, w->tag, w);
		else if (posted < PER_THREAD)
			ret = fi_trecv(w->host->ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, w->tag, 0, w);
		posted += ret == 0;
		if ((ret != 0 && ret != -FI_EAGAIN) || !worker_read(w->host) || atomic_load(&w->done) < 0)
			return NULL;
	}
	return NULL;
}

/* Several threads on each endpoint and queue at once, and a progress thread on top. */
static void stress__threads(void **state)
{
	const struct host_opts opts = {.progress = FI_PROGRESS_AUTO};
	struct worker workers[2 * THREADS];
	pthread_t threads[2 * THREADS];
	hosts_open(hosts, &opts);
	for (int i = 0; i < 2 * THREADS; i++) {
		workers[i] = (struct worker){.host = &hosts[i % 2], .tag = (uint64_t)i / 2, .sends = i % 2};
		ok(pthread_create(&threads[i], NULL, worker_run, &workers[i]));
	}
	for (int i = 0; i < 2 * THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].done, PER_THREAD);
	}
	hosts_close(hosts);
}

/* An argument is a pattern of the tests to run. */
int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stress__manual_progress),
		cmocka_unit_test(stress__auto_progress),
		cmocka_unit_test(stress__threads),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
