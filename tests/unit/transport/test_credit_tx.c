/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"

/* With the defaults of duo_conf_init and EQDS: a BDP of 125,000 bytes, packets of 4,222. */
enum { FIRST_PKTS = 30, FULL_WIRE = 4096 + 20 + 8 + 60 + 38 };

static void first_window__no_more_without_credit(void **state)
{
	struct lose_ctl l = {1, WIRE_CTL_CREDIT, UINT64_MAX};
	struct duo d;
	open_with_cc(&d, "eqds+smartt", NULL);
	d.fate = lose_ctl;
	d.fate_arg = &l;
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_US(60));
	assert_int_equal(duo_stats(&d, 0)->tx_data, FIRST_PKTS);
	assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_CC_REQ, NULL), FIRST_PKTS);
	assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_REQ, NULL), 0);
	const struct credit_tx *c = &first_tx(d.e[0])->credit;
	assert_int_equal(c->first_bytes, 0);
	assert_in_range(-c->balance_bytes, 0, FULL_WIRE);
	duo_close(&d);
}

static void first_window__is_new_after_idling(void **state)
{
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	for (int i = 0; i < 3; i++) {
		uint64_t before = duo_stats(&d, 0)->tx_credit_req;
		duo_transfer(&d, 0, 100000);
		assert_int_equal(duo_stats(&d, 0)->tx_credit_req, before);
		assert_int_equal(first_tx(d.e[0])->credit.first_bytes, 125000);
		assert_int_equal(first_tx(d.e[0])->credit.unsent_bytes, 0);
	}
	assert_int_equal(weft_engine_stats(d.e[1])->tx_credit, 0);
	duo_close(&d);
}

static void transfer__large_message(void **state)
{
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	duo_transfer(&d, 0, 3 << 20);
	const struct weft_stats *s = duo_stats(&d, 0);
	assert_int_equal(s->tx_retx, 0);
	assert_true(s->rx_credit > 0);
	assert_int_equal(s->rx_credit, weft_engine_stats(d.e[1])->tx_credit);
	assert_int_equal(s->tx_credit_req, 0); /* every data packet told what is wanted */
	duo_close(&d);
}

static void transfer__lost_credits_are_made_up_for(void **state)
{
	for (uint64_t count = 1; count < 200; count *= 3) {
		struct lose_ctl l = {1, WIRE_CTL_CREDIT, count};
		struct duo d;
		open_with_cc(&d, "eqds", NULL);
		d.fate = lose_ctl;
		d.fate_arg = &l;
		duo_transfer(&d, 0, 1 << 20);
		assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
		duo_close(&d);
	}
}

/* The last credit is gone and nothing else would tell: the request on a timer does. */
static void request__repeats_until_credit_comes(void **state)
{
	struct lose_ctl l = {1, WIRE_CTL_CREDIT, 5};
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	d.fate = lose_ctl;
	d.fate_arg = &l;
	duo_transfer(&d, 0, 160000);
	assert_true(duo_stats(&d, 0)->tx_credit_req > 0);
	assert_int_equal(duo_stats(&d, 0)->tx_credit_req, count_ctl(&d, 0, WIRE_CTL_CREDIT_REQ));
	assert_int_equal(duo_stats(&d, 0)->tx_credit_req, weft_engine_stats(d.e[1])->rx_credit_req);
	duo_close(&d);
}

/* While a connection has data under way there is no first window, so the next message asks. */
static void request__at_once_for_a_new_message(void **state)
{
	struct hit h = {0, 0, DUO_DROP};
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_send(&d, 0, NULL, 100000, 7, NULL);
	duo_run(&d, d.now + WEFT_US(20)); /* sent, the first packet lost, not known yet */
	first_tx(d.e[0])->credit.first_bytes = 0;
	weft_ns then = d.now;
	duo_send(&d, 0, NULL, 50000, 7, NULL);
	duo_run(&d, d.now + WEFT_US(1));
	assert_int_equal(count_ctl(&d, 0, WIRE_CTL_CREDIT_REQ), 1);
	duo_run(&d, then + WEFT_US(30));
	assert_true(duo_stats(&d, 0)->rx_credit > 0);
	duo_close(&d);
}

static void request__backs_off(void **state)
{
	struct lose_ctl l = {1, WIRE_CTL_CREDIT, UINT64_MAX};
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	d.fate = lose_ctl;
	d.fate_arg = &l;
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_US(300)); /* without, one every 17 us */
	assert_in_range(count_ctl(&d, 0, WIRE_CTL_CREDIT_REQ), 4, 5);
	duo_close(&d);
}

static void silence__a_peer_without_credit_is_not_waited_for(void **state)
{
	struct duo d;
	open_with_cc(&d, "eqds", "fixed");
	duo_transfer(&d, 0, 300000);
	assert_int_equal(duo_stats(&d, 0)->rx_credit, 0);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, 0);
	duo_close(&d);
}

static enum duo_fate mute(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 ? DUO_DROP : DUO_PASS;
}

static void silence__a_dead_peer_is_noticed(void **state)
{
	struct lose_ctl l = {1, WIRE_CTL_CREDIT, UINT64_MAX};
	struct duo d;
	struct weft_cqe cqe;
	open_with_cc(&d, "eqds", NULL);
	d.fate = lose_ctl;
	d.fate_arg = &l;
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_US(100)); /* all sent is acknowledged, the rest waits for credit */
	d.fate = mute;
	duo_run(&d, d.now + WEFT_S(20));
	assert_true(duo_cqe(&d, 0, &cqe));
	assert_int_equal(cqe.err, ETIMEDOUT);
	duo_close(&d);
}

static void trim__needs_credit_to_be_sent_again(void **state)
{
	struct hit h = {5, 9, DUO_TRIM};
	struct duo d;
	open_with_cc(&d, "eqds", NULL);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100000); /* less than the first window: credit is for the five alone */
	assert_int_equal(duo_stats(&d, 0)->tx_retx_trim, 5);
	assert_int_equal(duo_stats(&d, 0)->tx_credit_req, 0); /* the trimmed packets asked */
	assert_in_range(weft_engine_stats(d.e[1])->tx_credit, 1, 5);
	duo_close(&d);
}

/* Nothing but headers arrive: they open the connection, or there would be nobody to ask for credit. */
static void trim__the_whole_first_window(void **state)
{
	struct hit h = {0, FIRST_PKTS - 1, DUO_TRIM};
	struct duo d;
	open_with_cc(&d, "eqds+smartt", NULL);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 200000);
	assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_accepted, 1);
	duo_close(&d);
}

static void loss__the_whole_first_window(void **state)
{
	struct hit h = {0, FIRST_PKTS - 1, DUO_DROP};
	struct duo d;
	open_with_cc(&d, "eqds+smartt", NULL);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 200000);
	assert_true(duo_stats(&d, 0)->timeouts > 0);
	duo_close(&d);
}

/* Side 0 in the middle of a message, the connection known on both sides. */
static struct pdc_tx *midway(struct duo *d)
{
	open_with_cc(d, "eqds", NULL);
	duo_send(d, 0, NULL, 100 << 20, 7, NULL);
	duo_run(d, d->now + WEFT_US(50));
	return first_tx(d->e[0]);
}

static struct plain_pkt credit(const struct pdc_tx *p, uint32_t total)
{
	return (struct plain_pkt){.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
				  .pds = {.type = WIRE_PDS_CP,
					  .ctl = WIRE_CTL_CREDIT,
					  .spdcid = p->remote_id,
					  .dpdcid = p->pdc.id,
					  .payload = total}};
}

static void granted__forged_credits_are_ignored(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d);
	uint32_t total = p->credit.granted;
	struct plain_pkt bad[] = {credit(p, total),
				  credit(p, total - 1),
				  credit(p, total + (1 << 20)),
				  credit(p, (total + (1 << 23)) & CREDIT_MASK),
				  credit(p, 1u << 24 | total),
				  credit(p, 1u << 24 | (total + 1)),
				  credit(p, UINT32_MAX),
				  credit(p, total + 1),
				  credit(p, total + 1)};
	bad[7].pds.dpdcid += 77;
	bad[8].pds.spdcid++;
	int64_t balance = p->credit.balance_bytes;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint64_t stale = duo_stats(&d, 0)->rx_credit_stale;
		duo_inject_pkt(&d, 0, &bad[i], NULL);
		d.port[0].tx_room = 0;
		duo_poll(&d, 0);
		assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, stale + 1);
		assert_int_equal(p->credit.granted, total);
		assert_true(p->credit.balance_bytes <= balance);
	}
	duo_close(&d);
}

static void granted__without_rcc_it_means_nothing(void **state)
{
	struct duo d;
	open_with_cc(&d, "fixed", NULL);
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_US(20));
	struct plain_pkt w = credit(first_tx(d.e[0]), 10);
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(duo_stats(&d, 0)->rx_credit, 1);
	assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, 1);
	duo_close(&d);
}

/* Both totals pass 2^24 units in the middle of a message. */
static void totals__wrap(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d);
	struct credit_rx *r = &first_rx(d.e[1])->credit;
	uint32_t shift = CREDIT_MASK - r->granted - 1000;
	duo_run(&d, d.now + WEFT_US(1));
	p->credit.granted = credit_plus(p->credit.granted, shift);
	p->credit.announced = credit_plus(p->credit.announced, shift);
	r->granted = credit_plus(r->granted, shift);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_true(r->granted < CREDIT_MASK / 2);
	assert_in_range(duo_stats(&d, 0)->tx_data, 2500, 3200); /* at line rate all the time */
	duo_close(&d);
}

/* Trimmed packets that only the target heard of, or a forged credit, moved the totals apart: neither stays. */
static void totals__apart_come_together(void **state)
{
	enum { APART = 400000, LINE_RATE_PKTS = 5900, MOST = LINE_RATE_PKTS / 5 * 4 };
	for (int ahead = 0; ahead < 2; ahead++) {
		struct duo d;
		struct pdc_tx *p = midway(&d);
		struct credit_rx *r = &first_rx(d.e[1])->credit;
		uint32_t *total = ahead ? &r->granted : &p->credit.granted;
		*total = credit_plus(*total, APART);
		p->credit.announced = ahead ? p->credit.announced : p->credit.granted;
		uint64_t before = duo_stats(&d, 0)->tx_data;
		duo_run(&d, d.now + WEFT_MS(2));
		assert_in_range(duo_stats(&d, 0)->tx_data - before, MOST, LINE_RATE_PKTS + FIRST_PKTS);
		duo_close(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_window__no_more_without_credit),
		cmocka_unit_test(first_window__is_new_after_idling),
		cmocka_unit_test(transfer__large_message),
		cmocka_unit_test(transfer__lost_credits_are_made_up_for),
		cmocka_unit_test(request__repeats_until_credit_comes),
		cmocka_unit_test(request__at_once_for_a_new_message),
		cmocka_unit_test(request__backs_off),
		cmocka_unit_test(silence__a_peer_without_credit_is_not_waited_for),
		cmocka_unit_test(silence__a_dead_peer_is_noticed),
		cmocka_unit_test(trim__needs_credit_to_be_sent_again),
		cmocka_unit_test(trim__the_whole_first_window),
		cmocka_unit_test(loss__the_whole_first_window),
		cmocka_unit_test(granted__forged_credits_are_ignored),
		cmocka_unit_test(granted__without_rcc_it_means_nothing),
		cmocka_unit_test(totals__wrap),
		cmocka_unit_test(totals__apart_come_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
