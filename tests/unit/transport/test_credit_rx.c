/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>

#include "credit_rx.h"
#include "inside.h"

enum { PULL_UNITS = 66 }; /* four packets of 4,222 bytes in units of 256 */

static const uint8_t payload[4096];

static void open_eqds(struct duo *d)
{
	open_with_cc(d, "eqds", NULL);
}

/* A first packet from sender `id` on the other host, which says it wants this many units. */
static void syn(struct duo *d, uint16_t id, uint32_t units)
{
	struct plain_pkt w = duo_syn(1, 8);
	w.pds.type = WIRE_PDS_RUD_CC_REQ;
	w.pds.spdcid = id;
	w.pds.credit = units;
	duo_inject_pkt(d, 1, &w, payload);
}

static void request(struct duo *d, uint16_t id, uint32_t total)
{
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
			      .pds = {.type = WIRE_PDS_CP, .ctl = WIRE_CTL_CREDIT_REQ, .spdcid = id, .payload = total}};
	list_for_each (l, &d->e[1]->pds.rxs) {
		const struct pdc_rx *p = list_entry(l, struct pdc_rx, link);
		if (p->remote_id == id)
			w.pds.dpdcid = p->pdc.id;
	}
	duo_inject_pkt(d, 1, &w, NULL);
	duo_poll(d, 1);
}

static void demand__none_no_credit(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 0);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 0);
	assert_int_equal(d.e[1]->pds.credit.due_ns, WEFT_NEVER);
	duo_close(&d);
}

static void demand__granted_exactly(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 3 * PULL_UNITS + 5);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 4);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 0)->w.pds.payload, PULL_UNITS);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 3)->w.pds.payload, 3 * PULL_UNITS + 5);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 3)->w.pds.dpdcid, 9);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 3)->w.net.dscp, WIRE_DSCP_CONTROL);
	assert_int_equal(d.e[1]->pds.credit.due_ns, WEFT_NEVER);
	duo_close(&d);
}

static void demand__absurd_is_counted(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 1 << 22 | 1);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->rx_credit_stale, 1);
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 0);
	duo_close(&d);
}

/* Large but possible: no more than a sender may keep unused. */
static void demand__large_is_bounded(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 1 << 22);
	duo_run(&d, d.now + WEFT_MS(10));
	const struct duo_rec *last = duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, (uint32_t)duo_stats(&d, 1)->tx_credit - 1);
	assert_int_equal(last->w.pds.payload, credit_units(187500));
	duo_close(&d);
}

/* Credits leave no faster than the data they call for can arrive: 16,896 bytes at 99 % of 100 Gb/s are 1,365 ns. */
static void pacer__keeps_the_rate_of_the_link(void **state)
{
	struct duo d;
	open_eqds(&d);
	for (uint16_t id = 9; id < 12; id++)
		syn(&d, id, 4 * PULL_UNITS);
	duo_run(&d, d.now + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 12);
	for (uint32_t i = 1; i < 12; i++)
		assert_in_range(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i)->at - duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 0)->at,
				i * 1365, i * 1366 + 1);
	duo_close(&d);
}

static void pacer__takes_turns(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 10 * PULL_UNITS);
	syn(&d, 10, 2 * PULL_UNITS);
	syn(&d, 11, 0);
	syn(&d, 12, 4 * PULL_UNITS);
	duo_run(&d, d.now + WEFT_US(100));
	static const uint16_t order[] = {9, 10, 12, 9, 10, 12, 9, 12, 9, 12, 9, 9};
	for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
		assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, i)->w.pds.dpdcid, order[i]);
	duo_close(&d);
}

/* Polled late, it makes up for a part only: a base RTT. */
static void pacer__no_burst_after_a_late_poll(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 11 * PULL_UNITS);
	duo_poll(&d, 1);
	d.now += WEFT_MS(1);
	uint64_t before = duo_stats(&d, 1)->tx_credit;
	duo_poll(&d, 1);
	assert_in_range(duo_stats(&d, 1)->tx_credit - before, 10000 / 1365, 1 + 10000 / 1365);
	duo_close(&d);
}

static void pacer__without_packets_it_tries_again(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 2 * PULL_UNITS);
	duo_poll(&d, 1);
	struct weft_engine *e = d.e[1];
	e->pds.out.port->ops->free(e->pds.out.port, e->pds.out.spare, (uint16_t)e->pds.out.spare_count);
	e->pds.out.spare_count = 0;
	d.port[1].alloc_fail = 1;
	d.now = d.due[1];
	duo_poll(&d, 1);
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 1);
	assert_true(d.due[1] > d.now);
	duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 2);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 1)->w.pds.payload, 2 * PULL_UNITS);
	duo_close(&d);
}

static void request__repeats_what_was_granted(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 10);
	duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 1);
	request(&d, 9, 10);
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 2);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 1)->w.pds.payload, 10);
	request(&d, 9, 30);
	duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 2)->w.pds.payload, 30);
	assert_int_equal(duo_stats(&d, 1)->rx_credit_req, 2);
	duo_close(&d);
}

static void request__nonsense_is_counted(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 10);
	duo_run(&d, d.now + WEFT_US(10));
	request(&d, 9, 1 << 24);
	request(&d, 9, 10 + (1 << 22) + 1);
	assert_int_equal(duo_stats(&d, 1)->rx_credit_stale, 2);
	request(&d, 8, 20); /* of no connection */
	assert_int_equal(duo_stats(&d, 1)->rx_no_pdc, 1);
	duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 1);
	duo_close(&d);
}

static void request__without_rcc_it_means_nothing(void **state)
{
	struct duo d;
	open_with_cc(&d, "fixed", NULL);
	syn(&d, 9, 10);
	duo_poll(&d, 1);
	request(&d, 9, 10);
	assert_int_equal(duo_stats(&d, 1)->rx_credit_stale, 1);
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 0);
	duo_close(&d);
}

/* A trimmed packet is asked for again by its header, as long as that tells what it was. */
static void trim__calls_for_the_packet(void **state)
{
	struct duo d;
	open_eqds(&d);
	struct plain_pkt w = duo_syn(1, 0);
	w.pds.type = WIRE_PDS_RUD_CC_REQ;
	w.net.dscp = WIRE_DSCP_TRIMMED;
	w.ses.request_length = 100;
	duo_inject_pkt(&d, 1, &w, payload);
	duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(duo_stats(&d, 1)->tx_credit, 1);
	assert_int_equal(duo_nth_ctl(&d, 1, WIRE_CTL_CREDIT, 0)->w.pds.payload,
			 1); /* 126 bytes of headers, 100 of payload */
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 1);
	duo_close(&d);
}

static void close__ends_the_turns(void **state)
{
	struct duo d;
	open_eqds(&d);
	duo_transfer(&d, 0, 1 << 20);
	first_rx(d.e[1])->closed = true;
	struct wire_cp cp = {0};
	wire_cp_set_payload(&cp, first_rx(d.e[1])->credit.granted + 100);
	credit_rx_request(&d.e[1]->pds, first_rx(d.e[1]), &(struct wire_view){.cp = &cp}, d.now);
	assert_true(list_empty(&d.e[1]->pds.credit.wanting));
	duo_close(&d);
}

static void free__a_sender_in_the_list(void **state)
{
	struct duo d;
	open_eqds(&d);
	syn(&d, 9, 10 * PULL_UNITS);
	duo_poll(&d, 1);
	assert_false(list_empty(&d.e[1]->pds.credit.wanting));
	pdc_rx_free(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	assert_true(list_empty(&d.e[1]->pds.credit.wanting));
	assert_int_equal(d.e[1]->pds.credit.due_ns, WEFT_NEVER);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demand__none_no_credit),
		cmocka_unit_test(demand__granted_exactly),
		cmocka_unit_test(demand__absurd_is_counted),
		cmocka_unit_test(demand__large_is_bounded),
		cmocka_unit_test(pacer__keeps_the_rate_of_the_link),
		cmocka_unit_test(pacer__takes_turns),
		cmocka_unit_test(pacer__no_burst_after_a_late_poll),
		cmocka_unit_test(pacer__without_packets_it_tries_again),
		cmocka_unit_test(request__repeats_what_was_granted),
		cmocka_unit_test(request__nonsense_is_counted),
		cmocka_unit_test(request__without_rcc_it_means_nothing),
		cmocka_unit_test(trim__calls_for_the_packet),
		cmocka_unit_test(close__ends_the_turns),
		cmocka_unit_test(free__a_sender_in_the_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
