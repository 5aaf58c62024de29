/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "run_queue.h"

static void start(struct pdc_tx *p)
{
	*p = (struct pdc_tx){.user = 0};
	list_init(&p->runs);
}

static void add__in_their_order(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 1}, b = {.bytes = 1};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &b);
	assert_ptr_equal(p.runs.next, &a.link);
	assert_ptr_equal(p.runs.prev, &b.link);
	assert_ptr_equal(p.cutting, &a);
	assert_ptr_equal(run_queue_next(&p, &a), &b);
	assert_null(run_queue_next(&p, &b));
}

static void add__ahead_of_what_has_not_begun(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 2}, b = {.bytes = 1}, first = {.ahead = true}, second = {.ahead = true};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &b);
	a.cut_bytes = 1;
	run_queue_add(&p, &first);
	run_queue_add(&p, &second);
	assert_ptr_equal(p.cutting, &a);
	assert_ptr_equal(run_queue_next(&p, &a), &first);
	assert_ptr_equal(run_queue_next(&p, &first), &second);
	assert_ptr_equal(run_queue_next(&p, &second), &b);
	list_del(&first.link);
	p.cutting = &b;
	run_queue_add(&p, &first);
	assert_ptr_equal(p.cutting, &first);
	assert_ptr_equal(run_queue_next(&p, &first), &b);
}

static void skip__only_the_one_being_cut_makes_room(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 1}, b = {.bytes = 1};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &b);
	run_queue_skip(&p, &b);
	assert_ptr_equal(p.cutting, &a);
	run_queue_skip(&p, &a);
	assert_ptr_equal(p.cutting, &b);
	run_queue_skip(&p, &b);
	assert_null(p.cutting);
}

static void rewind__all_start_over(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 9}, b = {.bytes = 9};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &b);
	a.cut_bytes = 9;
	a.unacked_pkts = b.unacked_pkts = 1;
	a.cut = true;
	a.head_bytes = b.head_bytes = 5;
	p.cutting = &b;
	run_queue_rewind(&p);
	assert_false(a.cut || a.cut_bytes || a.unacked_pkts || a.head_bytes || b.unacked_pkts || b.head_bytes);
	assert_ptr_equal(p.cutting, &a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__in_their_order),
		cmocka_unit_test(add__ahead_of_what_has_not_begun),
		cmocka_unit_test(skip__only_the_one_being_cut_makes_room),
		cmocka_unit_test(rewind__all_start_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
