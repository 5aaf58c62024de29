/* SPDX-License-Identifier: BSD-3-Clause */
/* Ordered connections: what is out of order is dropped, and a loss repeats everything behind it. */
#include "cmocka_all.h"

#include <stdlib.h>

#include "inside.h"

static void open_ordered(struct duo *d, bool go_back_n, uint32_t ack_every)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.lb = "ecmp";
	conf.tune.go_back_n = go_back_n;
	conf.tune.ack_every = ack_every;
	duo_open(d, &conf);
	d->logging = true;
}

static uint32_t count_nacks(const struct duo *d, uint8_t code)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->log_len; i++)
		n += d->log[i].w.pds.type == WIRE_PDS_NACK && d->log[i].w.pds.code == code;
	return n;
}

static enum duo_fate hit_ordered(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct hit *h = arg;
	return from == 0 && w->pds.type == WIRE_PDS_ROD_REQ && nth >= h->first && nth <= h->last ? h->fate : DUO_PASS;
}

static void loss__repeats_all_behind_it_once(void **state)
{
	struct hit h = {5, 5, DUO_DROP};
	struct duo d;
	open_ordered(&d, true, 1);
	d.fate = hit_ordered;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	const struct weft_stats *tx = weft_engine_stats(d.e[0]), *rx = weft_engine_stats(d.e[1]);
	assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_REQ, NULL), 0);
	assert_int_equal(duo_count(&d, 0, WIRE_PDS_ROD_REQ, NULL), tx->tx_data + tx->tx_retx);
	assert_int_equal(count_nacks(&d, WIRE_NACK_ROD_OOO), 1);
	assert_int_equal(tx->timeouts, 0);
	assert_int_equal(tx->tx_retx_gap, 1);
	assert_int_equal(tx->tx_retx, 1 + tx->tx_retx_rewind);
	assert_int_equal(rx->rx_ooo, tx->tx_retx_rewind);
	assert_int_equal(rx->rx_dup, 0);
	duo_close(&d);
}

/* The ACK for what came before the gap goes ahead of the NACK: nothing that arrived is repeated. */
static void loss__coalesced_acks_come_first(void **state)
{
	struct hit h = {13, 13, DUO_DROP};
	struct duo d;
	open_ordered(&d, true, 8);
	d.fate = hit_ordered;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_dup, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
	duo_close(&d);
}

static enum duo_fate lose_nacks(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_NACK ? DUO_DROP : hit_ordered(arg, from, w, nth);
}

static void loss__of_the_nack_waits_for_the_timer(void **state)
{
	struct hit h = {5, 5, DUO_DROP};
	struct duo d;
	open_ordered(&d, true, 1);
	d.fate = lose_nacks;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	assert_int_equal(count_nacks(&d, WIRE_NACK_ROD_OOO), 1); /* once per gap */
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_rto, 1);
	duo_close(&d);
}

static void loss__of_the_retransmission(void **state)
{
	for (uint64_t last = 6; last < 60; last += 7) {
		struct hit h = {5, last, DUO_DROP};
		struct duo d;
		open_ordered(&d, true, 1);
		d.fate = hit_ordered;
		d.fate_arg = &h;
		duo_transfer(&d, 0, 100 * 4096);
		duo_close(&d);
	}
}

static void trim__goes_back_at_once(void **state)
{
	struct hit h = {5, 5, DUO_TRIM};
	struct duo d;
	open_ordered(&d, true, 1);
	d.fate = hit_ordered;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_trim, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
	duo_close(&d);
}

/* Not by counting: what is repeated would meet the same fate again. */
static enum duo_fate lose_some(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint64_t draw = rng_mix(nth * 2 + (uint64_t)from) % 100;
	return draw < 5 ? DUO_DROP : draw < 8 ? DUO_DUP : draw < 10 ? DUO_LATE : DUO_PASS;
}

static void loss__of_everything_now_and_then(void **state)
{
	for (uint32_t ack_every = 1; ack_every <= 16; ack_every *= 4) {
		struct duo d;
		open_ordered(&d, true, ack_every);
		d.fate = lose_some;
		duo_transfer(&d, 0, 1 << 20);
		duo_transfer(&d, 1, 1 << 18);
		assert_int_equal(first_rx(d.e[1])->win.ooo_pkts, 0);
		assert_null(first_rx(d.e[1])->win.received);
		duo_close(&d);
	}
}

/* Side 0 with packets in flight and no answer yet. */
static struct pdc_tx *midway(struct duo *d, bool go_back_n)
{
	open_ordered(d, go_back_n, 1);
	duo_transfer(d, 0, 4096);
	duo_send(d, 0, NULL, 100000, 7, NULL);
	duo_poll(d, 0);
	return first_tx(d->e[0]);
}

static void inject_ooo(struct duo *d, const struct pdc_tx *p, uint32_t psn, uint8_t flags)
{
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
			      .pds = {.type = WIRE_PDS_NACK,
				      .code = WIRE_NACK_ROD_OOO,
				      .flags = flags,
				      .psn = psn,
				      .spdcid = p->remote_id,
				      .dpdcid = p->pdc.id}};
	duo_inject_pkt(d, 0, &w, NULL);
	d->port[0].tx_room = 0;
	duo_poll(d, 0);
}

static void nack__impossible_ones_are_ignored(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d, true);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_true(sendq_len(&p->q) > 1);
	inject_ooo(&d, p, p->q.una, 0);               /* the first cannot be out of order */
	inject_ooo(&d, p, p->q.una + 1, WIRE_F_RETX); /* never repeated */
	inject_ooo(&d, p, p->q.nxt, 0);               /* never sent */
	assert_int_equal(s->rx_stale, 3);
	assert_int_equal(s->tx_retx_gap, 0);
	inject_ooo(&d, p, p->q.una + 1, 0);
	assert_int_equal(s->lost_gap, 1);
	duo_close(&d);
}

static void nack__means_nothing_to_unordered_connections(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d, false);
	inject_ooo(&d, p, p->q.una + 1, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_stale, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss__repeats_all_behind_it_once),
		cmocka_unit_test(loss__coalesced_acks_come_first),
		cmocka_unit_test(loss__of_the_nack_waits_for_the_timer),
		cmocka_unit_test(loss__of_the_retransmission),
		cmocka_unit_test(trim__goes_back_at_once),
		cmocka_unit_test(loss__of_everything_now_and_then),
		cmocka_unit_test(nack__impossible_ones_are_ignored),
		cmocka_unit_test(nack__means_nothing_to_unordered_connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
