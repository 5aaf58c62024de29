/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

static uint32_t ack_psn(const struct plain_pkt *w)
{
	return w->pds.psn + (uint32_t)w->pds.offset;
}

static bool is_ack(const struct duo_rec *r)
{
	return r->from == 1 && r->w.pds.type == WIRE_PDS_ACK_CC;
}

/* The ACK that side 1 sent in answer to this data packet, or NULL. */
static const struct duo_rec *answer(const struct duo *d, const struct duo_rec *data)
{
	for (const struct duo_rec *r = data + 1; r < d->log + d->log_len; r++)
		if (is_ack(r) && ack_psn(&r->w) == data->w.pds.psn)
			return r;
	return NULL;
}

static void open_with(struct duo *d, uint32_t ack_every, struct hit *h)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.ack_every = ack_every;
	duo_open(d, &conf);
	d->logging = true;
	d->fate = hit_data;
	d->fate_arg = h;
}

static void data__each_packet_answered_with_its_entropy(void **state)
{
	struct hit h = {3, 3, DUO_MARK};
	struct duo d;
	open_with(&d, 1, &h);
	duo_transfer(&d, 0, 200000);
	uint32_t data = 0, marks = 0;
	for (uint32_t i = 0; i < d.log_len; i++) {
		if (d.log[i].from != 0 || !is_data(&d.log[i].w))
			continue;
		const struct duo_rec *a = answer(&d, &d.log[i]);
		assert_non_null(a);
		assert_int_equal(a->w.net.entropy, d.log[i].w.net.entropy);
		assert_int_equal(!!(a->w.pds.flags & WIRE_F_ACK_M), data == 3);
		assert_int_equal(a->at, d.log[i].at + d.latency_ns);
		marks += !!(a->w.pds.flags & WIRE_F_ACK_M);
		data++;
	}
	assert_int_equal(data, 49);
	assert_int_equal(marks, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, data);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_ce, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_ack_ce, 1);
	duo_close(&d);
}

static void data__mark_is_echoed_at_once(void **state)
{
	struct hit h = {5, 5, DUO_MARK};
	struct duo d;
	open_with(&d, 64, &h);
	duo_transfer(&d, 0, 40 * 4096);
	uint32_t nth = 0;
	for (uint32_t i = 0; i < d.log_len; i++) {
		if (d.log[i].from != 0 || !is_data(&d.log[i].w) || nth++ != 5)
			continue;
		const struct duo_rec *a = answer(&d, &d.log[i]);
		assert_non_null(a);
		assert_true(a->w.pds.flags & WIRE_F_ACK_M);
		assert_int_equal(a->at, d.log[i].at + d.latency_ns);
	}
	assert_int_equal(weft_engine_stats(d.e[0])->rx_ack_ce, 1);
	duo_close(&d);
}

/* Every third packet late by more than a hundred others: nothing but ACKs tells the sender what arrived. */
static enum duo_fate shuffle(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && is_data(w) && nth % 3 == 1 ? DUO_LATE : DUO_PASS;
}

/* Marks in `seen` what an ACK reports, relative to `first`. */
static void note_reported(const struct plain_pkt *w, uint32_t first, uint8_t *seen, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t psn = first + i, bit = psn - (w->pds.psn + (uint32_t)w->pds.sack_offset);
		if (psn_diff(psn, w->pds.psn) <= 0 || psn == ack_psn(w) || (bit < 64 && w->pds.sack_bitmap >> bit & 1))
			seen[i] = 1;
	}
}

static void coalesced(uint32_t ack_every)
{
	enum { PKTS = 1000 };
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.link_bps = 800000000000; /* a window of more than 64 packets */
	conf.tune.ack_every = ack_every;
	duo_open(&d, &conf);
	d.logging = true;
	d.late_ns = 15000;
	d.fate = shuffle;
	duo_transfer(&d, 0, PKTS * 4096);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_data, PKTS);
	/* One bitmap holds 64 PSNs and the window is hundreds wide, so some ACKs are additional. */
	assert_true(weft_engine_stats(d.e[1])->tx_ack < PKTS / ack_every + PKTS / 8);
	uint8_t seen[PKTS] = {0};
	for (uint32_t i = 0; i < d.log_len; i++)
		if (is_ack(&d.log[i]))
			note_reported(&d.log[i].w, d.log[0].w.pds.psn, seen, PKTS);
	for (uint32_t i = 0; i < PKTS; i++)
		assert_int_equal(seen[i], 1);
	duo_close(&d);
}

static void coalesced__every_psn_is_reported(void **state)
{
	coalesced(4);
	coalesced(16);
	coalesced(64);
}

static void coalesced__end_of_message_is_answered_at_once(void **state)
{
	struct hit none = {0};
	struct duo d;
	uint8_t out[3 * 4096] = {1};
	open_with(&d, 64, &none);
	none.first = 1000;
	duo_transfer(&d, 0, 100);
	weft_ns start = d.now;
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, start + 2 * d.latency_ns + 2000);
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
}

/* The end overtakes a packet of its message: the answer to that one does not wait for the delay either. */
static void coalesced__what_the_end_overtook_is_answered_at_once(void **state)
{
	struct hit late = {1000, 0, DUO_LATE};
	struct duo d;
	uint8_t out[3 * 4096] = {1};
	open_with(&d, 64, &late);
	d.late_ns = 1000;
	duo_transfer(&d, 0, 100);
	weft_ns start = d.now;
	uint64_t acks = weft_engine_stats(d.e[1])->tx_ack;
	late.first = d.sent[0] + 1;
	late.last = late.first;
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, start + 2 * d.latency_ns + d.late_ns + 2000);
	duo_expect(&d, 0, out, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, acks + 2);
	duo_close(&d);
}

/* The window shrinks to one packet's worth only at the end, so most packets do not ask: the delay bounds their wait. */
static void coalesced__waits_no_longer_than_the_delay(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.ack_every = 64;
	duo_open(&d, &conf);
	struct plain_pkt w = duo_syn(1, 100);
	uint8_t payload[100] = {0};
	w.ses.request_length = 1000;
	w.ses.flags &= (uint8_t)~WIRE_SES_EOM;
	duo_inject_pkt(&d, 1, &w, payload);
	duo_poll(&d, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, 1); /* a connection's first packet, so that it opens */
	w.pds.psn++;
	w.pds.psn_offset = 1;
	w.ses.message_offset = 100;
	w.ses.flags &= (uint8_t)~WIRE_SES_SOM;
	duo_inject_pkt(&d, 1, &w, payload);
	duo_poll(&d, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, 1);
	assert_int_equal(d.due[1], d.now + WEFT_US(5));
	d.now = d.due[1];
	duo_poll(&d, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, 2);
	duo_close(&d);
}

/* Packets of message 1, from `first` on, wait in the receive ring for one poll; `marked` (or none) has a mark. */
static void inject_burst(struct duo *d, uint32_t first, uint32_t n, uint32_t marked)
{
	uint8_t payload[100] = {0};
	for (uint32_t i = first; i < first + n; i++) {
		struct plain_pkt w = duo_syn(1, 100);
		w.ses.request_length = 100000;
		w.ses.flags &= (uint8_t) ~(WIRE_SES_EOM | (i ? WIRE_SES_SOM : 0));
		w.ses.message_offset = 100 * i;
		w.pds.psn += i;
		w.pds.psn_offset = (uint16_t)i;
		w.net.ecn = i == marked ? WEFT_ECN_CE : WEFT_ECN_ECT0;
		duo_inject_pkt(d, 1, &w, payload);
	}
	duo_poll(d, 1);
}

static void open_burst(struct duo *d, uint32_t ack_every)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.ack_burst = 1;
	conf.tune.ack_every = ack_every;
	duo_open(d, &conf);
	d->logging = true;
}

static void burst__shares_an_ack(void **state)
{
	struct duo d;
	open_burst(&d, 1);
	inject_burst(&d, 0, 20, UINT32_MAX);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_data, 20);
	assert_int_equal(d.log_len, 1);
	assert_int_equal(d.log[0].w.pds.psn, duo_syn(1, 0).pds.psn + 19);
	assert_int_equal(ack_psn(&d.log[0].w), d.log[0].w.pds.psn);
	inject_burst(&d, 20, 1, UINT32_MAX); /* alone it waits for no other */
	assert_int_equal(d.log_len, 2);
	assert_int_equal(d.log[1].at, d.now);
	duo_close(&d);
}

static void burst__mark_has_an_ack_of_its_own(void **state)
{
	struct duo d;
	open_burst(&d, 1);
	uint32_t first = duo_syn(1, 0).pds.psn;
	inject_burst(&d, 0, 20, 7);
	assert_int_equal(d.log_len, 2);
	assert_int_equal(ack_psn(&d.log[0].w), first + 7);
	assert_true(d.log[0].w.pds.flags & WIRE_F_ACK_M);
	assert_int_equal(ack_psn(&d.log[1].w), first + 19);
	assert_false(d.log[1].w.pds.flags & WIRE_F_ACK_M);
	inject_burst(&d, 20, 5, 24); /* the last one: nothing is left to say */
	assert_int_equal(d.log_len, 3);
	duo_close(&d);
}

/* What came behind a hole is told packet by packet: one bitmap may not reach, and the sender is to know soon. */
static void burst__with_a_hole_shares_nothing(void **state)
{
	for (uint32_t ack_every = 1; ack_every <= 64; ack_every *= 8) {
		struct duo d;
		open_burst(&d, ack_every);
		inject_burst(&d, 0, 1, UINT32_MAX);
		inject_burst(&d, 2, 5, UINT32_MAX);
		assert_int_equal(d.log_len, 1 + 5);
		duo_close(&d);
	}
}

static void burst__does_not_hurry_a_coalesced_ack(void **state)
{
	struct duo d;
	open_burst(&d, 64);
	inject_burst(&d, 0, 1, UINT32_MAX);
	inject_burst(&d, 1, 20, UINT32_MAX);
	assert_int_equal(d.log_len, 1);
	duo_run(&d, d.now + WEFT_US(20));
	assert_int_equal(d.log_len, 2);
	duo_close(&d);
}

static enum duo_fate drop_odd_acks(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 && nth % 2 ? DUO_DROP : shuffle(arg, from, w, nth);
}

static void data__lost_acks_cost_no_data(void **state)
{
	struct hit none = {0};
	struct duo d;
	open_with(&d, 1, &none);
	d.late_ns = 3000;
	d.fate = drop_odd_acks;
	duo_transfer(&d, 0, 401 * 4096); /* 401 ACKs: the last one gets through */
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	duo_close(&d);
}

static void service_time__is_not_part_of_the_rtt(void **state)
{
	struct duo d;
	uint8_t out[4096] = {1};
	open_default(&d);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_poll(&d, 0);
	d.now += d.latency_ns + 3000; /* the packet waits 3 us in the receive ring */
	duo_poll(&d, 1);
	d.now += d.latency_ns;
	duo_poll(&d, 0);
	duo_expect(&d, 0, out, 0);
	assert_in_range(first_tx(d.e[0])->srtt_ns, 2 * d.latency_ns, 2 * d.latency_ns + 128);
	duo_close(&d);
}

static void sack__base_moves_until_all_is_reported(void **state)
{
	enum { PKTS = 300 };
	struct duo_conf conf;
	struct duo d;
	uint8_t payload[8] = {0}, seen[PKTS] = {1};
	duo_conf_init(&conf);
	conf.tune.ack_every = 64;
	duo_open(&d, &conf);
	d.logging = true;
	for (uint32_t i = 1; i < PKTS; i++) { /* all but the first */
		struct plain_pkt w = duo_syn(1, 8);
		w.pds.psn += i;
		w.pds.psn_offset = (uint16_t)i;
		w.ses.message_id = (uint16_t)(1 + i);
		duo_inject_pkt(&d, 1, &w, payload);
	}
	duo_run(&d, d.now + WEFT_US(20));
	assert_int_equal(first_rx(d.e[1])->win.unreported_pkts, 0);
	for (uint32_t i = 0; i < d.log_len; i++)
		note_reported(&d.log[i].w, 1000, seen, PKTS);
	for (uint32_t i = 0; i < PKTS; i++)
		assert_int_equal(seen[i], 1);
	assert_true(d.log_len < 16);
	duo_close(&d);
}

static void ack__waits_for_a_packet(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_default(&d);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_poll(&d, 0);
	d.port[1].alloc_fail = 3;
	duo_run(&d, d.now + WEFT_US(20));
	duo_expect(&d, 0, out, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->alloc_fail, 3);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	duo_close(&d);
}

static void probe__measures_the_base_rtt(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.brtt_ns = 0;
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->probes, 1);
	/* A full packet takes 344 ns on the link, a probe 7. */
	assert_in_range(first_tx(d.e[0])->brtt_ns, 2 * d.latency_ns + 600, 2 * d.latency_ns + 800);
	duo_transfer(&d, 0, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->probes, 1);
	duo_close(&d);
}

static enum duo_fate drop_probes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_PROBE ? DUO_DROP : DUO_PASS;
}

static void probe__refused_is_the_last(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.brtt_ns = 0;
	duo_open(&d, &conf);
	d.fate = drop_probes;
	duo_transfer(&d, 0, 1);
	struct pdc_tx *p = first_tx(d.e[0]);
	struct plain_pkt nack = {.pds = {.type = WIRE_PDS_NACK,
					 .code = WIRE_NACK_UNEXP_EVENT,
					 .spdcid = p->remote_id,
					 .dpdcid = p->pdc.id}};
	duo_inject_pkt(&d, 0, &nack, NULL);
	duo_poll(&d, 0);
	for (int i = 0; i < 3; i++) {
		p->chores |= CHORE_BRTT; /* as when the base RTT has become old */
		duo_transfer(&d, 0, 1);
	}
	assert_ptr_equal(first_tx(d.e[0]), p);
	assert_int_equal(weft_engine_stats(d.e[0])->probes, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_opened, 1);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data__each_packet_answered_with_its_entropy),
		cmocka_unit_test(data__mark_is_echoed_at_once),
		cmocka_unit_test(coalesced__every_psn_is_reported),
		cmocka_unit_test(coalesced__end_of_message_is_answered_at_once),
		cmocka_unit_test(coalesced__what_the_end_overtook_is_answered_at_once),
		cmocka_unit_test(coalesced__waits_no_longer_than_the_delay),
		cmocka_unit_test(burst__shares_an_ack),
		cmocka_unit_test(burst__mark_has_an_ack_of_its_own),
		cmocka_unit_test(burst__with_a_hole_shares_nothing),
		cmocka_unit_test(burst__does_not_hurry_a_coalesced_ack),
		cmocka_unit_test(data__lost_acks_cost_no_data),
		cmocka_unit_test(service_time__is_not_part_of_the_rtt),
		cmocka_unit_test(sack__base_moves_until_all_is_reported),
		cmocka_unit_test(ack__waits_for_a_packet),
		cmocka_unit_test(probe__measures_the_base_rtt),
		cmocka_unit_test(probe__refused_is_the_last),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
