/* SPDX-License-Identifier: BSD-3-Clause */
#include "doorbell.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "cmocka_all.h"
#include "inside.h"
#include "rng.h"

enum { EPS = 6 };

/* Refused by the engine, with a completion: the cheapest operation that leaves a trace. */
static const struct weft_op no_op = {.kind = 200};

static void open_more(struct duo *d, struct weft_ep **eps, unsigned n)
{
	struct weft_err err;
	open_default(d);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(weft_ep_open(d->e[0], 0, 16, 16, &eps[i], &err), 0);
}

/* The endpoints that are ready, in their order, by their place in `eps`. */
static unsigned ready_of(struct duo *d, struct weft_ep **eps, unsigned *places)
{
	unsigned n = 0;
	list_for_each (l, &d->e[0]->ses.ready) {
		unsigned i = 0;
		while (eps[i] != list_entry(l, struct weft_ep, ready_link))
			i++;
		places[n++] = i;
	}
	return n;
}

static unsigned taken(struct weft_ep *ep)
{
	struct weft_cqe cqes[16];
	return weft_cq_take(ep, cqes, 16);
}

static void ring__lists_an_endpoint_once_in_order(void **state)
{
	struct weft_ep *eps[EPS];
	unsigned places[EPS];
	struct duo d;
	open_more(&d, eps, EPS);
	static const unsigned order[] = {4, 0, 4, 2, 0};
	for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
		doorbell_ring(eps[order[i]]);
	doorbells_collect(&d.e[0]->ses);
	assert_int_equal(ready_of(&d, eps, places), 3);
	assert_int_equal(places[0], 4);
	assert_int_equal(places[1], 0);
	assert_int_equal(places[2], 2);
	ses_poll_submissions(&d.e[0]->ses, d.now);
	assert_int_equal(ready_of(&d, eps, places), 0);
	doorbell_ring(eps[4]);
	doorbells_collect(&d.e[0]->ses);
	assert_int_equal(ready_of(&d, eps, places), 1);
	assert_int_equal(places[0], 4);
	duo_close(&d);
}

/* What is submitted after the engine has begun to look may be too late for this look: there is another one. */
static void ring__between_the_mark_and_the_look(void **state)
{
	struct weft_ep *ep;
	struct duo d;
	open_more(&d, &ep, 1);
	struct ses *ses = &d.e[0]->ses;
	doorbell_ring(ep);
	doorbells_collect(ses);
	assert_false(ses_wants_poll(ses));
	doorbell_ring(ep);
	assert_true(ses_wants_poll(ses));
	ses_poll_submissions(ses, d.now);
	assert_false(ses_wants_poll(ses));
	assert_true(list_empty(&ses->ready));
	duo_close(&d);
}

static void collect__endpoints_that_are_ready_keep_their_place(void **state)
{
	struct weft_ep *eps[EPS];
	unsigned places[EPS];
	struct duo d;
	open_more(&d, eps, EPS);
	for (unsigned i = 1; i < 3; i++) {
		doorbell_ring(eps[3]);
		doorbell_ring(eps[i]);
		doorbells_collect(&d.e[0]->ses);
		assert_int_equal(ready_of(&d, eps, places), 1 + i);
		assert_int_equal(places[0], 3);
		assert_int_equal(places[i], i);
	}
	duo_close(&d);
}

/* Endpoints without a submission are not even looked at: they do not become ready. */
static void poll__takes_from_those_with_submissions(void **state)
{
	enum { MANY = 1000 };
	static struct weft_ep *eps[MANY];
	struct duo d;
	open_more(&d, eps, MANY);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = round; i < MANY; i += 7)
			assert_int_equal(weft_submit(eps[i], &no_op), 0);
		duo_poll(&d, 0);
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(taken(eps[i]), i % 7 == round);
		assert_false(ses_wants_poll(&d.e[0]->ses));
	}
	duo_close(&d);
}

/* Whoever always has more than a poll takes keeps nobody waiting. */
static void poll__a_busy_endpoint_starves_nobody(void **state)
{
	const struct weft_op recv = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY};
	struct weft_ep *eps[EPS];
	struct duo d;
	open_more(&d, eps, EPS);
	for (unsigned poll = 0; poll < 20; poll++) {
		while (!weft_submit(d.ep[0], &recv))
			;
		assert_int_equal(weft_submit(eps[poll % EPS], &no_op), 0);
		assert_true(weft_engine_poll(d.e[0], d.now) == d.now);
		assert_int_equal(taken(eps[poll % EPS]), 1);
		assert_int_equal(weft_sq_space(d.ep[0]), 64);
	}
	while (weft_engine_poll(d.e[0], d.now) == d.now)
		;
	duo_close(&d);
}

/* Completions wait for room at several endpoints, operations for memory at others. */
static void poll__what_is_left_over_is_tried_again(void **state)
{
	const struct weft_op recv = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY};
	struct weft_ep *eps[EPS];
	struct duo d;
	open_more(&d, eps, EPS);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned n = 0; n < 20; n++, n % 16 ? (void)0 : duo_poll(&d, 0))
			assert_int_equal(weft_submit(eps[i], &no_op), 0);
	duo_poll(&d, 0);
	d.mem[0].fail_at = d.mem[0].calls + 1;
	d.mem[0].fail_rest = true;
	for (unsigned i = 2; i < EPS; i++)
		for (unsigned n = 0; n < 16; n++)
			assert_int_equal(weft_submit(eps[i], &recv), 0);
	duo_poll(&d, 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(taken(eps[i]), 16);
		assert_int_equal(taken(eps[i]), 0);
	}
	d.mem[0].fail_at = 0;
	d.mem[0].fail_rest = false;
	d.now = d.due[0];
	duo_poll(&d, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(taken(eps[i]), 4);
	for (unsigned i = 2; i < EPS; i++)
		assert_int_equal(weft_sq_space(eps[i]), 16);
	assert_true(list_empty(&d.e[0]->ses.ready));
	duo_close(&d);
}

static void close__of_an_endpoint_that_was_rung(void **state)
{
	struct weft_ep *eps[EPS];
	struct duo d;
	open_more(&d, eps, EPS);
	for (unsigned i = 0; i < EPS; i++)
		assert_int_equal(weft_submit(eps[i], &no_op), 0);
	weft_ep_close(eps[1]);
	weft_ep_close(eps[5]);
	duo_poll(&d, 0);
	for (unsigned i = 0; i < EPS; i++)
		if (i != 1 && i != 5)
			assert_int_equal(taken(eps[i]), 1);
	duo_close(&d);
}

/* It had more than a poll takes: nobody is asked to poll again for it. */
static void close__of_an_endpoint_with_more(void **state)
{
	const struct weft_op recv = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY};
	struct duo d;
	open_default(&d);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(weft_submit(d.ep[0], &recv), 0);
	assert_true(weft_engine_poll(d.e[0], d.now) == d.now);
	weft_ep_close(d.ep[0]);
	weft_engine_poll(d.e[0], d.now);
	assert_true(weft_engine_poll(d.e[0], d.now) > d.now);
	duo_close(&d);
}

/* ---- several threads ---- */

enum {
	PRODUCERS = 3,
	POLLS = 2000000,
	OPS_MIN = 1000,
	TURNS = 1024, /* between two times that others may run */
};

struct producer {
	struct weft_ep *ep;
	uintptr_t sent, received;
	unsigned window; /* operations that are not completed */
	bool wrong;
	_Atomic bool stop, done;
};

static void take_in_order(struct producer *p)
{
	struct weft_cqe cqe;
	while (weft_cq_take(p->ep, &cqe, 1))
		p->wrong |= (uintptr_t)cqe.context != ++p->received || cqe.err != EINVAL;
}

/* So that the second of two operations comes at any moment of the look that the first one causes. */
static void pause_at_random(uintptr_t n)
{
	for (volatile unsigned left = rng_mix(n) % 128; left > 0; left--)
		;
}

static bool wants_more(const struct producer *p)
{
	return p->sent < OPS_MIN || !atomic_load(&p->stop);
}

/* Submits until told to stop, then waits for what is missing. */
static void *produce(void *arg)
{
	struct producer *p = arg;
	for (unsigned turn = 1; wants_more(p) || p->received < p->sent; turn++) {
		struct weft_op op = no_op;
		op.context = (void *)(p->sent + 1);
		if (wants_more(p) && p->sent - p->received < p->window) {
			pause_at_random(p->sent);
			p->sent += !weft_submit(p->ep, &op);
		}
		take_in_order(p);
		if (turn % TURNS == 0)
			sched_yield();
	}
	atomic_store(&p->done, true);
	return NULL;
}

static unsigned count_done(struct producer *producers, unsigned count)
{
	unsigned n = 0;
	for (unsigned i = 0; i < count; i++)
		n += atomic_load(&producers[i].done);
	return n;
}

static void poll_until_done(struct duo *d, struct producer *producers, unsigned count)
{
	for (unsigned poll = 1; count_done(producers, count) < count; poll++) {
		weft_engine_poll(d->e[0], d->now);
		for (unsigned i = 0; poll == POLLS && i < count; i++)
			atomic_store(&producers[i].stop, true);
		if (poll % TURNS == 0)
			sched_yield();
	}
}

/* Nothing else makes the engine look: time stands, so an operation that is forgotten never completes. */
static void run_producers(unsigned count, unsigned window)
{
	struct producer producers[PRODUCERS] = {0};
	struct weft_ep *eps[PRODUCERS];
	pthread_t threads[PRODUCERS];
	struct duo d;
	open_more(&d, eps, count);
	duo_poll(&d, 0);
	for (unsigned i = 0; i < count; i++) {
		producers[i].window = window;
		producers[i].ep = eps[i];
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	poll_until_done(&d, producers, count);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		assert_false(producers[i].wrong);
	}
	assert_false(ses_wants_poll(&d.e[0]->ses));
	duo_close(&d);
}

static void ring__of_a_thread_beside_polls(void **state)
{
	for (unsigned window = 1; window < 4; window++)
		run_producers(1, window);
}

static void ring__of_threads_beside_polls(void **state)
{
	for (unsigned window = 1; window < 10; window += 4)
		run_producers(PRODUCERS, window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring__lists_an_endpoint_once_in_order),
		cmocka_unit_test(ring__between_the_mark_and_the_look),
		cmocka_unit_test(collect__endpoints_that_are_ready_keep_their_place),
		cmocka_unit_test(poll__takes_from_those_with_submissions),
		cmocka_unit_test(poll__a_busy_endpoint_starves_nobody),
		cmocka_unit_test(poll__what_is_left_over_is_tried_again),
		cmocka_unit_test(close__of_an_endpoint_that_was_rung),
		cmocka_unit_test(close__of_an_endpoint_with_more),
		cmocka_unit_test(ring__of_a_thread_beside_polls),
		cmocka_unit_test(ring__of_threads_beside_polls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
