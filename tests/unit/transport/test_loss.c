/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"
#include "rto.h"

enum { RTO_NS = 70000, BRTT_NS = 10000 };

static uint32_t psn_of_nth(const struct duo *d, uint32_t nth)
{
	for (uint32_t i = 0; i < d->log_len; i++)
		if (d->log[i].from == 0 && is_data(&d->log[i].w) && nth-- == 0)
			return d->log[i].w.pds.psn;
	fail_msg("no such packet");
	return 0;
}

/* When the k-th transmission of a PSN by side 0 left. */
static weft_ns sent_at(const struct duo *d, uint32_t psn, uint32_t k)
{
	for (uint32_t i = 0; i < d->log_len; i++)
		if (d->log[i].from == 0 && is_data(&d->log[i].w) && d->log[i].w.pds.psn == psn && k-- == 0)
			return d->log[i].at;
	fail_msg("not sent that often");
	return 0;
}

static void gap__one_loss_is_one_retransmission(void **state)
{
	struct hit h = {5, 5, DUO_DROP};
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 4 << 20);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_int_equal(s->tx_retx, 1);
	assert_int_equal(s->tx_retx_gap, 1);
	assert_int_equal(s->lost_gap, 1);
	assert_int_equal(s->timeouts, 0);
	assert_int_equal(s->spurious, 0);
	uint32_t psn = psn_of_nth(&d, 5);
	assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_REQ, &psn), 2);
	/* Found when a packet sent three base RTTs later has been acknowledged, which takes one RTT of 8 us. */
	weft_ns after = sent_at(&d, psn, 1) - sent_at(&d, psn, 0);
	assert_in_range(after, 3 * BRTT_NS + 8000, 3 * BRTT_NS + 11000);
	duo_close(&d);
}

static void gap__late_packets_within_the_allowance_are_not_lost(void **state)
{
	struct hit h = {5, 5, DUO_LATE};
	struct duo d;
	open_default(&d);
	d.late_ns = 2 * BRTT_NS;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 4 << 20);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	duo_close(&d);
}

static void gap__acknowledged_after_all_is_spurious(void **state)
{
	struct hit h = {5, 5, DUO_LATE};
	struct duo d;
	open_default(&d);
	d.late_ns = 34000; /* its ACK comes right after the verdict, before the new copy is handed to the wire */
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 4 << 20);
	const struct weft_stats *a = weft_engine_stats(d.e[0]), *b = weft_engine_stats(d.e[1]);
	assert_int_equal(a->lost_gap, 1);
	assert_int_equal(a->tx_retx, b->rx_dup);
	duo_close(&d);
}

static void timeout__tail_loss(void **state)
{
	struct hit h = {9, 9, DUO_DROP};
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 10 * 4096);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_int_equal(s->tx_retx, 1);
	assert_int_equal(s->tx_retx_rto, 1);
	assert_int_equal(s->timeouts, 1);
	uint32_t psn = psn_of_nth(&d, 9);
	assert_in_range(sent_at(&d, psn, 1) - sent_at(&d, psn, 0), RTO_NS, RTO_NS + 2000);
	duo_close(&d);
}

static void timeout__doubles_up_to_the_ceiling(void **state)
{
	struct hit h = {0, 9, DUO_DROP};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.rto_max_ns = 1000000;
	duo_open(&d, &conf);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100);
	uint32_t psn = psn_of_nth(&d, 0);
	static const weft_ns gaps[] = {70000, 140000, 280000, 560000, 1000000, 1000000};
	for (uint32_t k = 0; k < sizeof gaps / sizeof *gaps; k++)
		assert_in_range(sent_at(&d, psn, k + 1) - sent_at(&d, psn, k), gaps[k], gaps[k] + 300);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 10);
	assert_int_equal(first_tx(d.e[0])->rto_backoff, 0);
	duo_close(&d);
}

enum { TOGETHER = 2, LOST_TOGETHER = 3 };

/* After the opening: so many transmissions of both packets are lost, then one of the second alone. */
static enum duo_fate both_then_one(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *sent = arg;
	if (from != 0 || !is_data(w))
		return DUO_PASS;
	uint32_t n = (*sent)++;
	return n < TOGETHER * LOST_TOGETHER || n == TOGETHER * LOST_TOGETHER + 1 ? DUO_DROP : DUO_PASS;
}

/* An ACK ends the back-off, for what is left, too. */
static void timeout__single_for_the_rest_of_what_was_lost_together(void **state)
{
	struct duo d;
	uint32_t sent = 0;
	open_default(&d);
	duo_transfer(&d, 0, 10);
	d.logging = true;
	d.fate = both_then_one;
	d.fate_arg = &sent;
	duo_transfer(&d, 0, TOGETHER * 4096);
	uint32_t psn = psn_of_nth(&d, 1);
	assert_in_range(sent_at(&d, psn, LOST_TOGETHER) - sent_at(&d, psn, LOST_TOGETHER - 1), 4 * RTO_NS,
			4 * RTO_NS + 2000);
	assert_in_range(sent_at(&d, psn, LOST_TOGETHER + 1) - sent_at(&d, psn, LOST_TOGETHER), RTO_NS, RTO_NS + 2000);
	duo_close(&d);
}

/* Packets that were refused wait until their target may have room: what times out meanwhile is sent before them. */
static void timeout__lost_go_before_refused(void **state)
{
	enum { PKTS = 10, REFUSED = 5, REFUSED_NS = 35000 /* held for 40 us, beyond the RTO of the first */ };
	static const uint8_t order[] = {0, REFUSED, REFUSED + 1};
	struct hit h = {0, PKTS - 1, DUO_DROP};
	uint8_t *out = duo_pattern(PKTS * 4096, 1);
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_send(&d, 0, out, PKTS * 4096, 1, out);
	duo_run(&d, d.now + REFUSED_NS);
	assert_int_equal(d.log_len, PKTS);
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL}};
	uint32_t start = first_tx(d.e[0])->start_psn;
	for (uint32_t i = REFUSED; i <= REFUSED + 1; i++) {
		w.pds = (struct plain_pds){.type = WIRE_PDS_NACK,
					   .code = WIRE_NACK_NO_PKT_BUFFER,
					   .psn = start + i,
					   .dpdcid = first_tx(d.e[0])->pdc.id};
		duo_inject_pkt(&d, 0, &w, NULL);
	}
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0);
	for (uint32_t i = 0; i < sizeof order; i++)
		assert_int_equal(d.log[PKTS + i].w.pds.psn - start, order[i]);
	duo_close(&d);
	free(out);
}

static void timeout__late_poll_gets_grace(void **state)
{
	struct duo d;
	uint8_t out[10] = {1};
	open_default(&d);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_poll(&d, 0);
	d.now += WEFT_MS(5); /* neither side ran for long */
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->late_polls, 1);
	duo_run(&d, d.now + WEFT_MS(5));
	duo_expect(&d, 0, out, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	duo_close(&d);
}

/* The engine was stopped for longer than the peer timeout, and what came meanwhile was lost: the peer is asked again,
 * not declared dead. A peer that is dead is found out afterwards. */
static void timeout__a_pause_of_ours_is_no_silence(void **state)
{
	const struct hit all = {0, UINT64_MAX, DUO_DROP};
	struct hit first = {0, 0, DUO_DROP};
	struct duo_conf conf;
	struct duo d;
	uint8_t out[10] = {1};
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(100);
	for (int is_dead = 0; is_dead < 2; is_dead++) {
		duo_open(&d, &conf);
		d.fate = hit_data;
		d.fate_arg = is_dead ? (void *)&all : (void *)&first;
		duo_send(&d, 0, out, sizeof out, 1, out);
		duo_poll(&d, 0);
		d.now += WEFT_S(1);
		duo_run(&d, d.now + WEFT_MS(90));
		struct weft_cqe cqe;
		assert_true(duo_cqe(&d, 0, &cqe) == !is_dead);
		duo_run(&d, d.now + WEFT_MS(20));
		if (is_dead)
			duo_expect(&d, 0, out, ETIMEDOUT);
		else
			assert_int_equal(cqe.err, 0);
		duo_close(&d);
	}
}

static void timeout__grows_with_the_rtt(void **state)
{
	struct duo d;
	open_default(&d);
	d.latency_ns = 60000; /* RTT of 120 us, beyond the initial timeout */
	duo_transfer(&d, 0, 1);
	assert_true(weft_engine_stats(d.e[0])->timeouts > 0);
	uint64_t before = weft_engine_stats(d.e[0])->timeouts;
	duo_transfer(&d, 0, 100);
	assert_true(weft_engine_stats(d.e[0])->timeouts == before);
	assert_true(rto_of(&d.e[0]->pds.conf, first_tx(d.e[0]), &(struct sent){.sent_at = d.now}) >= 240000);
	duo_close(&d);
}

struct kinds {
	uint32_t count[WEFT_LB_FB_KINDS];
};

/* The originals of what timed out together arrive one by one, after their repetitions were sent. */
static void timeout__grows_once_for_what_timed_out_together(void **state)
{
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 4096);
	struct pdc_tx *p = first_tx(d.e[0]);
	const struct pds_conf conf = {.rto_ns = RTO_NS, .tune = {.rto_max_ns = WEFT_S(1)}};
	struct sent s = {.state = SENT_INFLIGHT, .timed_out = true, .sent_at = WEFT_MS(1) - 1};
	rto_raise(&conf, p, &s, WEFT_MS(1));
	weft_ns rto = rto_of(&conf, p, &s);
	assert_true(rto >= 2 * RTO_NS);
	for (int i = 1; i < 10; i++) {
		s.sent_at = WEFT_MS(1) + WEFT_US(i);
		rto_raise(&conf, p, &s, WEFT_MS(1) + WEFT_US(i + 1));
	}
	assert_int_equal(rto_of(&conf, p, &s), rto);
	rto_raise(&conf, p, &s, WEFT_MS(1) + rto);
	assert_int_equal(rto_of(&conf, p, &s), 2 * rto);
	duo_close(&d);
}

static void note_kind(void *arg, const struct weft_ip *peer, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	((struct kinds *)arg)->count[fb]++;
}

/* One silent loss at the given latency; what the load balancer hears. */
static struct kinds feedback_of_loss(bool trimming, weft_ns latency_ns)
{
	struct hit h = {69, 69, DUO_DROP};
	struct kinds k = {{0}};
	struct weft_trace_ops trace = {.feedback = note_kind, .arg = &k};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.trimming = trimming;
	conf.tune.rto_ns = WEFT_US(500);
	duo_open(&d, &conf);
	d.latency_ns = latency_ns;
	weft_engine_trace(d.e[0], &trace);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 70 * 4096);
	duo_close(&d);
	return k;
}

/* REPS appendix A. */
static void cause__failed_path_or_congestion(void **state)
{
	struct kinds k = feedback_of_loss(true, WEFT_US(50));
	assert_int_equal(k.count[WEFT_LB_TIMEOUT], 1);
	assert_int_equal(k.count[WEFT_LB_LOSS], 0);
	k = feedback_of_loss(false, WEFT_US(4));
	assert_int_equal(k.count[WEFT_LB_TIMEOUT], 1);
	assert_int_equal(k.count[WEFT_LB_LOSS], 0);
	k = feedback_of_loss(false, WEFT_US(50));
	assert_int_equal(k.count[WEFT_LB_TIMEOUT], 0);
	assert_int_equal(k.count[WEFT_LB_LOSS], 1);
	assert_int_equal(k.count[WEFT_LB_OK], 70);
	assert_int_equal(k.count[WEFT_LB_TRIM], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gap__one_loss_is_one_retransmission),
		cmocka_unit_test(gap__late_packets_within_the_allowance_are_not_lost),
		cmocka_unit_test(gap__acknowledged_after_all_is_spurious),
		cmocka_unit_test(timeout__tail_loss),
		cmocka_unit_test(timeout__doubles_up_to_the_ceiling),
		cmocka_unit_test(timeout__single_for_the_rest_of_what_was_lost_together),
		cmocka_unit_test(timeout__lost_go_before_refused),
		cmocka_unit_test(timeout__late_poll_gets_grace),
		cmocka_unit_test(timeout__a_pause_of_ours_is_no_silence),
		cmocka_unit_test(timeout__grows_with_the_rtt),
		cmocka_unit_test(timeout__grows_once_for_what_timed_out_together),
		cmocka_unit_test(cause__failed_path_or_congestion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
