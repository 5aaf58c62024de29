/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "rng.h"
#include "rxwin.h"

enum { WINDOW = 384 };

static const struct weft_mem heap;

struct rig {
	struct rxwin_mem mem;
	struct rxwin win;
};

static void start(struct rig *r, uint32_t psn)
{
	rxwin_mem_init(&r->mem, &heap, WINDOW);
	rxwin_init(&r->win, psn);
}

static void stop(struct rig *r)
{
	rxwin_fini(&r->win, &r->mem);
	rxwin_mem_fini(&r->mem);
}

static void mark(struct rig *r, uint32_t psn)
{
	assert_true(rxwin_takes(&r->win, &r->mem, psn));
	assert_false(rxwin_has(&r->win, &r->mem, psn));
	assert_true(rxwin_reserve(&r->win, &r->mem, psn));
	rxwin_mark(&r->win, &r->mem, psn);
	assert_true(rxwin_has(&r->win, &r->mem, psn));
}

static void mark__in_order_needs_no_memory(void **state)
{
	struct rig r;
	start(&r, UINT32_MAX - 3);
	for (uint32_t i = 0; i < 1000; i++)
		mark(&r, UINT32_MAX - 3 + i);
	assert_null(r.win.received);
	assert_int_equal(r.win.cack_psn, UINT32_MAX - 3 + 999);
	stop(&r);
}

/* Any order within the window: what is contiguous moves CACK, and without a hole the bitmaps are given back. */
static void mark__any_order(void **state)
{
	struct rng rng = {.state = 1};
	for (int round = 0; round < 50; round++) {
		struct rig r;
		uint32_t base = (uint32_t)rng_next(&rng), psn[WINDOW];
		start(&r, base);
		for (uint32_t i = 0; i < WINDOW; i++)
			psn[i] = base + i;
		for (uint32_t i = WINDOW; i > 1; i--) {
			uint32_t j = rng_below(&rng, i), swap = psn[i - 1];
			psn[i - 1] = psn[j];
			psn[j] = swap;
		}
		for (uint32_t i = 0; i < WINDOW; i++) {
			mark(&r, psn[i]);
			assert_int_equal(r.win.next_expected - base + r.win.ooo_pkts, i + 1);
			assert_true(r.win.unreported_pkts <= r.win.ooo_pkts);
		}
		assert_int_equal(r.win.next_expected, base + WINDOW);
		assert_null(r.win.received);
		stop(&r);
	}
}

static void takes__up_to_the_window(void **state)
{
	struct rig r;
	start(&r, 1000);
	assert_true(rxwin_takes(&r.win, &r.mem, 999 + WINDOW));
	assert_false(rxwin_takes(&r.win, &r.mem, 1000 + WINDOW));
	assert_true(rxwin_takes(&r.win, &r.mem, 5)); /* long ago */
	mark(&r, 1000);
	assert_true(rxwin_takes(&r.win, &r.mem, 1000 + WINDOW));
	stop(&r);
}

/* Every received PSN stands in exactly one of the bitmaps that follow each other. */
static void report__everything_once(void **state)
{
	struct rig r;
	uint32_t told = 0;
	start(&r, 0);
	for (uint32_t psn = 1; psn < WINDOW; psn += 1 + psn % 3)
		mark(&r, psn);
	uint32_t marked = r.win.ooo_pkts;
	while (r.win.unreported_pkts) {
		uint32_t before = r.win.unreported_pkts;
		struct sack s = rxwin_report(&r.win, &r.mem, r.win.next_expected - 1);
		assert_true(s.bits & 1);
		told += before - r.win.unreported_pkts;
	}
	assert_int_equal(told, marked);
	struct sack again = rxwin_report(&r.win, &r.mem, 100); /* against lost ACKs: up to the trigger */
	assert_int_equal(r.win.cack_psn + (uint32_t)again.offset, 100 - 63);
	stop(&r);
}

static void response__holds_cack_back(void **state)
{
	struct rig r;
	start(&r, 0);
	mark(&r, 0);
	const uint32_t end = 2 + RXWIN_GTD_MAX - 1; /* places for all but the oldest */
	for (uint32_t psn = 2; psn < end; psn++) {
		assert_true(rxwin_keep_response(&r.win, &r.mem, (struct gtd_rsp){10 + psn, psn, 9}));
		mark(&r, psn);
	}
	assert_false(rxwin_keep_response(&r.win, &r.mem, (struct gtd_rsp){15, end, 9}));
	assert_true(rxwin_keep_response(&r.win, &r.mem, (struct gtd_rsp){11, 1, 9}));
	mark(&r, 1);
	assert_int_equal(r.win.next_expected, end);
	assert_int_equal(r.win.cack_psn, 0);
	assert_int_equal(rxwin_response(&r.win, 2)->head, 12);
	rxwin_clear(&r.win, 2);
	assert_null(rxwin_response(&r.win, 2));
	assert_int_equal(r.win.cack_psn, 2);
	rxwin_clear_all(&r.win);
	assert_int_equal(r.win.cack_psn, end - 1);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mark__in_order_needs_no_memory), cmocka_unit_test(mark__any_order),
		cmocka_unit_test(takes__up_to_the_window),        cmocka_unit_test(report__everything_once),
		cmocka_unit_test(response__holds_cack_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
