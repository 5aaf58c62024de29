/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>

#include "credit_sched.h"
#include "inside.h"

enum { FULL_WIRE = 4096 + 20 + 8 + 60 + 38, CYCLE_NS = (FULL_WIRE + 84 + 110) * 8 / 100 };

static void open_spraypass(struct duo *d)
{
	open_with_cc(d, "spraypass", NULL);
}

/* A request of the other host's sender `id`, of so many units; 0: a stop. */
static void request(struct duo *d, uint16_t id, uint16_t serial, uint32_t units)
{
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
			      .pds = {.type = WIRE_PDS_CP,
				      .ctl = WIRE_CTL_CREDIT_REQ,
				      .flags = WIRE_F_SYN,
				      .psn = 1000,
				      .spdcid = id,
				      .opaque = serial,
				      .payload = units}};
	duo_inject_pkt(d, 1, &w, NULL);
	duo_poll(d, 1);
}

static void request__credits_until_a_stop(void **state)
{
	struct duo d;
	open_spraypass(&d);
	request(&d, 9, 1, 100);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 1);
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 1); /* at once */
	duo_run(&d, d.now + WEFT_US(50));
	assert_in_range(duo_stats(&d, 1)->tx_credit, 5, 15); /* w_init of the link: one in 5.6 us */
	for (uint32_t i = 0; i < duo_stats(&d, 1)->tx_credit; i++) {
		const struct plain_pkt *w = &duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i)->w;
		assert_int_equal(w->pds.payload, i);
		assert_int_equal(w->pds.opaque, FULL_WIRE);
		assert_int_equal(w->pds.dpdcid, 9);
		assert_int_equal(w->net.ecn, WEFT_ECN_ECT0);
	}
	uint64_t before = duo_stats(&d, 1)->tx_credit;
	request(&d, 9, 2, 0);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, before);
	assert_int_equal(d.e[1]->pds.credit.due_ns, WEFT_NEVER);
	duo_close(&d);
}

static void request__late_ones_mean_nothing(void **state)
{
	struct duo d;
	open_spraypass(&d);
	request(&d, 9, UINT16_MAX, 10);
	request(&d, 9, 2, 0);
	assert_int_equal(first_rx(d.e[1])->credit.rcc.wanted_bytes, 0);
	request(&d, 9, 1, 10); /* sent before the stop */
	assert_int_equal(duo_stats(&d, 1)->rx_credit_stale, 1);
	assert_int_equal(first_rx(d.e[1])->credit.rcc.wanted_bytes, 0);
	request(&d, 9, 3, 10);
	assert_true(first_rx(d.e[1])->credit.rcc.wanted_bytes > 0);
	duo_close(&d);
}

static void request__nonsense_is_counted(void **state)
{
	struct duo d;
	open_spraypass(&d);
	request(&d, 9, 1, 10);
	request(&d, 9, 0, 10);
	request(&d, 9, 2, (WEFT_RCC_MAX_BYTES >> 8) + 1);
	request(&d, 9, 3, UINT32_MAX);
	assert_int_equal(duo_stats(&d, 1)->rx_credit_stale, 3);
	duo_close(&d);
}

/* Credits to somebody who is gone end by themselves. */
static void silence__ends_the_credits(void **state)
{
	struct duo d;
	open_spraypass(&d);
	request(&d, 9, 1, 1000);
	duo_run(&d, d.now + WEFT_MS(2)); /* 8 timeouts of 70 us */
	assert_int_equal(first_rx(d.e[1])->credit.rcc.wanted_bytes, 0);
	assert_in_range(duo_stats(&d, 1)->tx_credit, 50, 150);
	duo_close(&d);
}

/* Many senders, one link: what leaves is never more than the link's share, the rest is dropped here and marks tell. */
static void queue__limits_all_senders_together(void **state)
{
	struct duo d;
	uint32_t marked = 0;
	open_spraypass(&d);
	for (uint16_t id = 1; id <= 64; id++)
		request(&d, id, 1, 1000);
	duo_run(&d, d.now + WEFT_US(400));
	uint32_t sent = (uint32_t)duo_stats(&d, 1)->tx_credit;
	assert_true(duo_stats(&d, 1)->tx_credit_drop > sent);
	for (uint32_t i = 20; i < sent; i++)
		assert_true(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i)->at -
				    duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i - 20)->at >=
			    18 * CYCLE_NS);
	for (uint32_t i = 0; i < sent; i++)
		marked += duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i)->w.net.ecn == WEFT_ECN_CE;
	assert_in_range(marked, sent / 2, sent); /* 64 x 1/16 of the link: three quarters are dropped */
	assert_int_equal(d.e[1]->pds.credit.sched->queue.limit, 8);
	duo_close(&d);
}

static void queue__polled_late_no_burst(void **state)
{
	struct duo d;
	open_spraypass(&d);
	for (uint16_t id = 1; id <= 64; id++)
		request(&d, id, 1, 1000);
	d.now += WEFT_US(400);
	uint64_t before = duo_stats(&d, 1)->tx_credit;
	duo_poll(&d, 1);
	assert_in_range(duo_stats(&d, 1)->tx_credit - before, 1, 10000 / CYCLE_NS + 3);
	duo_close(&d);
}

static void queue__without_packets_it_tries_again(void **state)
{
	struct duo d;
	open_spraypass(&d);
	request(&d, 9, 1, 1000);
	struct weft_engine *e = d.e[1];
	e->pds.out.port->ops->free(e->pds.out.port, e->pds.out.spare, (uint16_t)e->pds.out.spare_count);
	e->pds.out.spare_count = 0;
	d.port[1].alloc_fail = 1;
	d.now = d.due[1];
	duo_poll(&d, 1);
	duo_run(&d, d.now + WEFT_US(20));
	assert_true(duo_stats(&d, 1)->tx_credit > 1);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 1)->w.pds.payload, 1);
	duo_close(&d);
}

static void free__a_sender_whose_credit_waits(void **state)
{
	struct duo d;
	open_spraypass(&d);
	for (uint16_t id = 1; id <= 64; id++)
		request(&d, id, 1, 1000);
	duo_run(&d, d.now + WEFT_US(20));
	assert_true(d.e[1]->pds.credit.sched->queue.waiting > 0);
	while (first_rx(d.e[1]))
		pdc_rx_free(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	uint64_t before = duo_stats(&d, 1)->tx_credit;
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, before);
	assert_int_equal(d.e[1]->pds.credit.sched->queue.waiting, 0);
	duo_close(&d);
}

static enum duo_fate mark_data(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return is_data(w) ? DUO_MARK : DUO_PASS;
}

/* Data marked without its credit having been: some queue of data is long, which credit queues do not allow. */
static void data__marked_by_a_queue_is_noticed(void **state)
{
	struct duo d;
	open_spraypass(&d);
	duo_transfer(&d, 0, 4 << 20);
	assert_int_equal(duo_stats(&d, 1)->credit_unlimited, 0);
	d.fate = mark_data;
	duo_transfer(&d, 0, 4 << 20);
	assert_true(duo_stats(&d, 1)->credit_unlimited > 0);
	duo_close(&d);
}

static void data__round_trips_are_measured(void **state)
{
	struct duo d;
	open_spraypass(&d);
	duo_transfer(&d, 0, 1 << 20);
	const struct sched_rx *r = (const struct sched_rx *)(first_rx(d.e[1]) + 1);
	assert_true(r->timed > 10);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request__credits_until_a_stop),
		cmocka_unit_test(request__late_ones_mean_nothing),
		cmocka_unit_test(request__nonsense_is_counted),
		cmocka_unit_test(silence__ends_the_credits),
		cmocka_unit_test(queue__limits_all_senders_together),
		cmocka_unit_test(queue__polled_late_no_burst),
		cmocka_unit_test(queue__without_packets_it_tries_again),
		cmocka_unit_test(free__a_sender_whose_credit_waits),
		cmocka_unit_test(data__marked_by_a_queue_is_noticed),
		cmocka_unit_test(data__round_trips_are_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
