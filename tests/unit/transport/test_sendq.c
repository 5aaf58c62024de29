/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "rng.h"
#include "sendq.h"

static const struct weft_mem heap;

static void start(struct sendq *q, struct sendq_mem *m, uint32_t psn)
{
	sendq_mem_init(m, &heap);
	sendq_init(q, psn);
}

static void stop(struct sendq *q, struct sendq_mem *m)
{
	sendq_release(q, m);
	sendq_mem_fini(m);
}

static void push(struct sendq *q, struct sendq_mem *m, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_true(sendq_reserve(q, m));
		uint32_t psn = q->nxt;
		struct sent *s = sendq_add(q, psn);
		s->offset = psn;
	}
}

/* Both lists forwards, checked against the states in the ring. */
static void check(const struct sendq *q)
{
	uint32_t inflight = 0, lost = 0;
	for (uint32_t psn = q->una; psn != q->nxt; psn++) {
		assert_int_equal(sendq_at(q, psn)->offset, psn);
		inflight += sendq_at(q, psn)->state == SENT_INFLIGHT;
		lost += sent_is_lost(sendq_at(q, psn));
	}
	assert_int_equal(q->inflight.count, inflight);
	assert_int_equal(q->lost.count, lost);
	weft_ns last = 0;
	uint16_t low = q->inflight.head;
	for (uint32_t i = 0; i < inflight; i++) {
		const struct sent *s = sendq_at(q, sendq_psn(q, low));
		assert_int_equal(s->state, SENT_INFLIGHT);
		assert_true(i == 0 || s->sent_at >= last);
		last = s->sent_at;
		low = s->next;
	}
	low = q->lost.tail;
	for (uint32_t i = 0; i < lost; i++) {
		const struct sent *s = sendq_at(q, sendq_psn(q, low));
		assert_true(sent_is_lost(s));
		low = s->prev;
	}
}

static void reserve__grows_and_keeps_records(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 5);
	push(&q, &m, 60);
	sendq_lose(&q, 7, CAUSE_GAP);
	sendq_ack(&q, 6);
	sendq_ack(&q, 64);
	push(&q, &m, 1000);
	assert_int_equal(sendq_len(&q), 1060);
	assert_int_equal(q.mask, 2047);
	check(&q);
	assert_int_equal(sendq_psn(&q, q.lost.head), 7);
	assert_int_equal(sendq_at(&q, 6)->state, SENT_ACKED);
	stop(&q, &m);
}

static void reserve__ends_at_the_largest_window(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 0);
	push(&q, &m, SENDQ_MAX);
	assert_false(sendq_reserve(&q, &m));
	check(&q);
	sendq_ack(&q, 0);
	sendq_advance(&q);
	assert_true(sendq_reserve(&q, &m));
	stop(&q, &m);
}

static void lose__resend_keeps_time_order(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 100);
	push(&q, &m, 10);
	sendq_lose(&q, 103, CAUSE_GAP);
	sendq_lose(&q, 100, CAUSE_GAP);
	sendq_lose(&q, 109, CAUSE_GAP);
	check(&q);
	assert_int_equal(sendq_psn(&q, q.lost.head), 103);
	sendq_resend(&q, 103, 500);
	assert_int_equal(sendq_at(&q, 103)->tries, 1);
	assert_int_equal(sendq_at(&q, 103)->sent_at, 500);
	assert_int_equal(sendq_psn(&q, q.inflight.tail), 103);
	assert_int_equal(sendq_psn(&q, q.lost.head), 100);
	assert_int_equal(sendq_psn(&q, q.inflight.head), 101);
	check(&q);
	stop(&q, &m);
}

static void lead__what_was_found_last_goes_first(void **state)
{
	static const uint32_t order[] = {100, 101, 102, 107, 105};
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 100);
	push(&q, &m, 10);
	sendq_lose(&q, 107, CAUSE_NACK);
	sendq_lose(&q, 105, CAUSE_NACK);
	for (uint32_t psn = 100; psn < 103; psn++)
		sendq_lose(&q, psn, CAUSE_RTO);
	sendq_lead(&q, 100);
	check(&q);
	sendq_lead(&q, 100);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(sendq_psn(&q, q.lost.head), order[i]);
		sendq_resend(&q, order[i], 500);
		check(&q);
	}
	stop(&q, &m);
}

static void ack__of_lost_and_inflight(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 0);
	push(&q, &m, 3);
	sendq_lose(&q, 1, CAUSE_GAP);
	sendq_ack(&q, 1);
	sendq_ack(&q, 2);
	check(&q);
	assert_int_equal(q.lost.count, 0);
	sendq_advance(&q);
	assert_int_equal(q.una, 0);
	sendq_ack(&q, 0);
	sendq_advance(&q);
	assert_int_equal(q.una, 3);
	assert_int_equal(sendq_len(&q), 0);
	assert_int_equal(q.inflight.count, 0);
	assert_false(sendq_has(&q, 2));
	assert_false(sendq_has(&q, 3));
	stop(&q, &m);
}

static void rewind__in_the_order_of_psns(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 100);
	push(&q, &m, 6);
	sendq_lose(&q, 104, CAUSE_GAP);
	sendq_lose(&q, 101, CAUSE_GAP);
	sendq_ack(&q, 102);
	sendq_resend(&q, 104, 7);
	sendq_rewind(&q);
	assert_int_equal(q.inflight.count, 0);
	static const uint32_t order[] = {100, 101, 103, 104, 105};
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(q.lost.count, 5 - i);
		assert_int_equal(sendq_psn(&q, q.lost.head), order[i]);
		sendq_resend(&q, order[i], 20 + i);
	}
	assert_int_equal(sendq_psn(&q, q.inflight.head), 100);
	stop(&q, &m);
}

static void advance__without_a_ring(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, 9);
	sendq_advance(&q);
	assert_int_equal(q.una, 9);
	push(&q, &m, 1);
	sendq_ack(&q, 9);
	sendq_advance(&q);
	sendq_release(&q, &m);
	sendq_advance(&q);
	assert_int_equal(q.una, 10);
	push(&q, &m, 1);
	assert_true(sendq_has(&q, 10));
	check(&q);
	stop(&q, &m);
}

/* Random walk over the point where 32 and 16 bits of PSN wrap. */
static void all__random_walk_over_the_wrap(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	struct rng r = {3};
	start(&q, &m, UINT32_MAX - 3000);
	for (uint32_t step = 0; step < 30000; step++) {
		uint32_t len = sendq_len(&q), psn = q.una + (len ? (uint32_t)(rng_next(&r) % len) : 0);
		uint8_t now = len ? sendq_at(&q, psn)->state : SENT_NONE;
		unsigned what = rng_next(&r) % 8;
		if (what < 2 && len < 300)
			push(&q, &m, 1);
		else if (what == 2 && now == SENT_INFLIGHT)
			sendq_lose(&q, psn, CAUSE_GAP);
		else if (what == 3 && q.lost.count)
			sendq_resend(&q, sendq_psn(&q, q.lost.head), q.nxt + step);
		else if (what > 3 && (now >= SENT_LOST || now == SENT_INFLIGHT))
			sendq_ack(&q, psn);
		sendq_advance(&q);
		assert_int_equal(q.inflight.count + q.lost.count <= sendq_len(&q), 1);
	}
	assert_true(q.una < 30000);
	stop(&q, &m);
}

static void acked_beyond__counts_up_to_the_end(void **state)
{
	struct sendq q;
	struct sendq_mem m;
	start(&q, &m, UINT32_MAX - 70);
	push(&q, &m, 200);
	uint32_t first = q.una;
	assert_int_equal(sendq_acked_beyond(&q, first, 3), 0);
	for (uint32_t i = 40; i < 200; i += 10)
		sendq_ack(&q, first + i);
	assert_int_equal(sendq_acked_beyond(&q, first, 3), 3);
	assert_int_equal(sendq_acked_beyond(&q, first, 100), 16);
	assert_int_equal(sendq_acked_beyond(&q, first + 39, 100), 16);
	assert_int_equal(sendq_acked_beyond(&q, first + 40, 100), 15);
	assert_int_equal(sendq_acked_beyond(&q, first + 180, 100), 1);
	assert_int_equal(sendq_acked_beyond(&q, first + 190, 100), 0);
	assert_int_equal(sendq_acked_beyond(&q, first + 199, 100), 0);
	stop(&q, &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserve__grows_and_keeps_records),
		cmocka_unit_test(reserve__ends_at_the_largest_window),
		cmocka_unit_test(lose__resend_keeps_time_order),
		cmocka_unit_test(lead__what_was_found_last_goes_first),
		cmocka_unit_test(ack__of_lost_and_inflight),
		cmocka_unit_test(rewind__in_the_order_of_psns),
		cmocka_unit_test(advance__without_a_ring),
		cmocka_unit_test(acked_beyond__counts_up_to_the_end),
		cmocka_unit_test(all__random_walk_over_the_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
