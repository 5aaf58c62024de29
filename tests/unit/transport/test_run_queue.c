/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "run_queue.h"

static void start(struct pdc_tx *p)
{
	*p = (struct pdc_tx){.user = 0};
	list_init(&p->runs);
}

/* The run ends: nothing of it is cut any more. */
static void end(struct pdc_tx *p, struct tx_run *run)
{
	run_queue_skip(p, run);
	if (p->responses == run)
		p->responses = run_queue_next(p, run);
	list_del(&run->link);
}

static void add__requests_stand_before_responses(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 1}, b = {.bytes = 1}, x = {.is_response = true}, y = {.is_response = true};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &x);
	run_queue_add(&p, &b);
	run_queue_add(&p, &y);
	const struct tx_run *const order[] = {&a, &b, &x, &y};
	const struct list *l = p.runs.next;
	for (int i = 0; i < 4; i++, l = l->next)
		assert_ptr_equal(l, &order[i]->link);
	assert_ptr_equal(p.cutting, &a);
	assert_ptr_equal(p.waiting, &x);
	assert_ptr_equal(p.responses, &x);
	assert_ptr_equal(run_queue_next(&p, &a), &b);
	assert_null(run_queue_next(&p, &b));
	assert_ptr_equal(run_queue_next(&p, &x), &y);
}

static void turns__go_to_and_fro(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 1}, x = {.is_response = true};
	start(&p);
	run_queue_add(&p, &x);
	assert_ptr_equal(p.cutting, &x);
	run_queue_add(&p, &a);
	for (int i = 0; i < 4; i++) {
		assert_ptr_equal(p.cutting, i % 2 ? &a : &x);
		assert_ptr_equal(p.waiting, i % 2 ? &x : &a);
		run_queue_take_turns(&p);
	}
}

static void skip__the_next_of_its_kind_or_the_other(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 1}, b = {.bytes = 1}, x = {.is_response = true};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &b);
	run_queue_add(&p, &x);
	end(&p, &a);
	assert_ptr_equal(p.cutting, &b);
	end(&p, &b);
	assert_ptr_equal(p.cutting, &x);
	assert_null(p.waiting);
	end(&p, &x);
	assert_null(p.cutting);
	assert_null(p.responses);
	assert_true(list_empty(&p.runs));
}

static void rewind__all_start_over(void **state)
{
	struct pdc_tx p;
	struct tx_run a = {.bytes = 9}, x = {.is_response = true, .bytes = 9};
	start(&p);
	run_queue_add(&p, &a);
	run_queue_add(&p, &x);
	a.cut_bytes = 9;
	a.unacked_pkts = x.unacked_pkts = 1;
	a.cut = true;
	a.head_bytes = x.head_bytes = 5;
	p.cutting = &x;
	p.waiting = NULL;
	run_queue_rewind(&p);
	assert_false(a.cut || a.cut_bytes || a.unacked_pkts || a.head_bytes || x.unacked_pkts || x.head_bytes);
	assert_ptr_equal(p.cutting, &a);
	assert_ptr_equal(p.waiting, &x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__requests_stand_before_responses),
		cmocka_unit_test(turns__go_to_and_fro),
		cmocka_unit_test(skip__the_next_of_its_kind_or_the_other),
		cmocka_unit_test(rewind__all_start_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
