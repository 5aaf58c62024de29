/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate of a link of which nothing is known, on a wire that is as fast as the test wants. */
#include "cmocka_all.h"

#include "inside.h"
#include "rate.h"
#include "weft/algos.h"

enum { MTU_BYTES = 4218 };

static const struct weft_cc_ops *fixed(void)
{
	return weft_cc_find("fixed");
}

static uint64_t fixed_tune[8]; /* larger than any algorithm's that is used here */

static struct weft_cc_params params_of(uint64_t link_bps, weft_ns brtt_ns)
{
	weft_param_defaults(fixed()->tunes, fixed_tune);
	assert_int_equal(weft_param_set(fixed()->tunes, fixed_tune, "cwnd_pct", "150", NULL), 0);
	return (struct weft_cc_params){
		.link_bps = link_bps, .brtt_ns = brtt_ns, .mtu_bytes = MTU_BYTES, .trimming = true, .tune = fixed_tune};
}

/* A wire of one queue: packets leave it at `bps`, and are acknowledged `rtt_ns` after they would have been on an idle
 * one. The sender keeps its window full. */
struct wire {
	struct weft_cc cc;
	weft_ns now, rtt_ns;
	uint64_t bps;
};

/* A window's worth of packets and their ACKs; every `trim_each`-th is trimmed instead (0: none). */
static void send_window(struct wire *w, uint32_t trim_each)
{
	uint32_t pkts = w->cc.cwnd_bytes / MTU_BYTES;
	weft_ns gap_ns = MTU_BYTES * 8 * WEFT_S(1) / w->bps, queue_ns = 0;
	if (pkts * gap_ns > w->rtt_ns)
		queue_ns = pkts * gap_ns - w->rtt_ns;
	else
		gap_ns = w->rtt_ns / pkts;
	for (uint32_t i = 0; i < pkts; i++) {
		uint64_t inflight = (uint64_t)(pkts - 1) * MTU_BYTES;
		const struct weft_cc_ack ack = {MTU_BYTES, inflight, w->rtt_ns + queue_ns, w->rtt_ns, false};
		const struct weft_cc_loss trim = {WEFT_CC_LOSS_TRIM, MTU_BYTES, inflight};
		w->now += gap_ns;
		if (trim_each && i % trim_each == 0)
			w->cc.ops->on_loss(&w->cc, &trim, w->now);
		else
			w->cc.ops->on_ack(&w->cc, &ack, w->now);
	}
}

static void wire_start(struct wire *w, struct rate *r, uint64_t bps, weft_ns rtt_ns)
{
	*w = (struct wire){.now = 1, .rtt_ns = rtt_ns, .bps = bps};
	rate_open(r, &w->cc, w->now);
}

/* From 40 Mb/s to 400 Gb/s nothing but the ACKs says which it is. */
static void start__finds_the_rate(void **state)
{
	const struct {
		uint64_t bps;
		weft_ns rtt_ns;
	} links[] = {{40000000, WEFT_US(3500)},
		     {1000000000, WEFT_US(200)},
		     {100000000000, WEFT_US(10)},
		     {400000000000, WEFT_US(8)}};
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		const struct weft_cc_params params = params_of(0, WEFT_US(100));
		struct rate r;
		struct wire w;
		rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, MTU_BYTES);
		wire_start(&w, &r, links[i].bps, links[i].rtt_ns);
		assert_int_equal(w.cc.cwnd_bytes, RATE_START_PKTS * MTU_BYTES);
		uint64_t bdp_pkts = links[i].bps / 8 * links[i].rtt_ns / WEFT_S(1) / MTU_BYTES;
		int windows = 0;
		while (r.starting && windows < 40) {
			send_window(&w, 0);
			windows++;
		}
		/* Doublings from the first window to the BDP, and the rounds that show that the link is full. */
		int doublings = 0;
		while ((UINT64_C(10) << doublings) < bdp_pkts)
			doublings++;
		assert_true(windows <= doublings + 5);
		assert_in_range(r.bps, links[i].bps / 10 * 9, links[i].bps / 10 * 11);
		/* The algorithm has taken over, with its window for the BDP, or for the first window. */
		assert_ptr_not_equal(w.cc.ops, &r.start);
		/* 150 % of it, times the queue that the last window before it was found may have met. */
		uint64_t most = 3 * (bdp_pkts > RATE_START_PKTS ? bdp_pkts : RATE_START_PKTS);
		assert_in_range(w.cc.cwnd_bytes / MTU_BYTES, bdp_pkts * 9 / 10, most);
	}
}

/* Trims end the doubling at once: they are no failure, the rate that they came with is what is learnt. */
static void start__trims_end_it(void **state)
{
	const struct weft_cc_params params = params_of(0, WEFT_US(100));
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 10000000000, WEFT_US(100));
	send_window(&w, 0);
	send_window(&w, 0);
	uint32_t before_bytes = w.cc.cwnd_bytes;
	send_window(&w, 2);
	assert_true(r.leaving || !r.starting);
	assert_true(w.cc.cwnd_bytes < before_bytes);
	for (int i = 0; i < 2; i++)
		send_window(&w, 0);
	assert_false(r.starting);
	assert_in_range(r.bps, 2000000000, 10500000000);
}

/* A token bucket lets the first packets pass as fast as they come, and the network is full at once. What these brought
 * is no rate of the link. */
static void start__a_burst_is_no_rate(void **state)
{
	const struct weft_cc_params params = params_of(0, WEFT_US(100));
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 80000000, WEFT_MS(2));
	send_window(&w, 3);
	w.bps = 40000000;
	for (int i = 0; i < 4 && r.starting; i++)
		send_window(&w, 0);
	assert_false(r.starting);
	assert_in_range(r.bps, 35000000, 45000000);
}

/* Timeouts before anything was heard say nothing of the rate: nobody listens yet. */
static void start__timeouts_without_an_answer(void **state)
{
	const struct weft_cc_params params = params_of(0, WEFT_US(100));
	const struct weft_cc_loss loss = {WEFT_CC_LOSS_TIMEOUT, MTU_BYTES, 0};
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 10000000000, WEFT_US(100));
	for (int i = 0; i < 10; i++)
		w.cc.ops->on_loss(&w.cc, &loss, w.now += WEFT_MS(100));
	assert_true(r.starting && !r.leaving);
	assert_int_equal(w.cc.cwnd_bytes, RATE_START_PKTS * MTU_BYTES);
}

/* A port of 100 Gb/s before a path of 10: windows begin with the port's rate, and losses bring the path's. */
static void bound__losses_lower_it(void **state)
{
	const struct weft_cc_params params = params_of(100000000000, WEFT_US(20));
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_BOUND, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 10000000000, WEFT_US(20));
	assert_int_equal(r.bps, 100000000000);
	assert_int_equal(w.cc.cwnd_bytes, 375000);
	for (int i = 0; i < 40; i++)
		send_window(&w, 4);
	assert_in_range(r.bps, 5000000000, 12000000000);
	assert_true(w.cc.cwnd_bytes < 375000 / 4);
	/* The path is as fast as the port again. */
	w.bps = 100000000000;
	for (int i = 0; i < 60; i++)
		send_window(&w, 0);
	assert_true(r.bps > 10000000000);
}

/* Slow rounds without losses may be those of slow CPUs. */
static void bound__kept_without_losses(void **state)
{
	const struct weft_cc_params params = params_of(100000000000, WEFT_US(20));
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_BOUND, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 10000000000, WEFT_US(20));
	for (int i = 0; i < 100; i++)
		send_window(&w, 0);
	assert_int_equal(r.bps, 100000000000);
}

static void set_bound__follows_the_port(void **state)
{
	const struct weft_cc_params params = params_of(100000000000, WEFT_US(20));
	struct rate r;
	rate_init(&r, fixed(), &params, RATE_BOUND, RATE_FLOOR_PKTS, MTU_BYTES);
	rate_set_bound(&r, 25000000000);
	assert_int_equal(r.bps, 25000000000);
	rate_set_bound(&r, 50000000000);
	assert_int_equal(r.bps, 50000000000);
	rate_set_bound(&r, 0);
	assert_int_equal(r.bps, 50000000000);
}

/* A connection that begins with small packets begins with few bytes, too: as many small packets as fit a window of full
 * ones would be trimmed to headers that take a tenth of their time. */
static void start__counts_packets_of_the_first_size(void **state)
{
	enum { FIRST_BYTES = MTU_BYTES / 4 };
	const struct weft_cc_params params = params_of(0, WEFT_US(100));
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, FIRST_BYTES);
	wire_start(&w, &r, 40000000, WEFT_US(3500));
	assert_int_equal(w.cc.cwnd_bytes, RATE_START_PKTS * FIRST_BYTES);
}

/* Where trims left a window of few packets, the algorithm begins with those and not with a BDP. */
static void start__ends_with_the_window_that_fits(void **state)
{
	const struct weft_cc_params params = params_of(0, WEFT_US(100));
	const struct weft_cc_loss trim = {WEFT_CC_LOSS_TRIM, MTU_BYTES, MTU_BYTES};
	struct rate r;
	struct wire w;
	rate_init(&r, fixed(), &params, RATE_UNKNOWN, RATE_FLOOR_PKTS, MTU_BYTES);
	wire_start(&w, &r, 40000000, WEFT_MS(10));
	send_window(&w, 0);
	for (int i = 0; i < 4 * RATE_START_PKTS; i++)
		w.cc.ops->on_loss(&w.cc, &trim, w.now);
	assert_int_equal(w.cc.cwnd_bytes, MTU_BYTES);
	while (r.starting)
		send_window(&w, 0);
	assert_int_equal(w.cc.cwnd_bytes, MTU_BYTES);
	assert_true(r.params.link_bps / 8 * r.params.brtt_ns / WEFT_S(1) > 2 * MTU_BYTES);
}

/* Five full packets at 40 Mb/s. */
static void floor__is_the_time_of_packets(void **state)
{
	assert_int_equal(rate_floor_ns(40000000, MTU_BYTES, 5), 5 * WEFT_S(1) * MTU_BYTES * 8 / 40000000);
	assert_int_equal(rate_floor_ns(40000000, MTU_BYTES, 0), 0);
}

/* The rate that was told is a hundredth of the link's: packets leave before their time, and RTTs seem to be nothing. */
static void brtt__is_no_less_than_a_packet(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.link_bps = 1000000000;
	conf.tune.brtt_ns = WEFT_US(80);
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 100 * 4096);
	assert_true(first_tx(d.e[0])->min_rtt_ns < WEFT_US(20));
	assert_in_range(first_tx(d.e[0])->brtt_ns, rate_floor_ns(conf.tune.link_bps, 4096, 1), conf.tune.brtt_ns);
	duo_close(&d);
}

/* A base RTT that a first burst brought is forgotten after its window; the next ACK has it probed. */
static void brtt__is_forgotten(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.brtt_ns = 0;
	conf.tune.brtt_window_ns = WEFT_S(100);
	conf.tune.idle_close_ns = 0;
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 100 * 4096);
	weft_ns short_ns = first_tx(d.e[0])->brtt_ns;
	d.latency_ns *= 10;
	duo_transfer(&d, 0, 100 * 4096);
	assert_int_equal(first_tx(d.e[0])->brtt_ns, short_ns);
	for (int i = 0; i < 4; i++) {
		duo_run(&d, d.now + WEFT_S(60));
		duo_transfer(&d, 0, 100 * 4096);
	}
	assert_true(first_tx(d.e[0])->brtt_ns >= 2 * d.latency_ns);
	assert_true(weft_engine_stats(d.e[0])->probes > 1);
	duo_close(&d);
}

/* Nothing is told to either engine: messages arrive, and nothing is sent twice. */
static void engine__with_an_unknown_link(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.brtt_ns = 0;
	conf.tune.probe_rate = RATE_UNKNOWN;
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 2000 * 4096);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	assert_true(first_tx(d.e[0])->cc.cwnd_bytes > 4 * RATE_START_PKTS * MTU_BYTES);
	weft_engine_link(d.e[0], 1000000000, d.now);
	duo_transfer(&d, 0, 2000 * 4096);
	duo_close(&d);
}

/* A link that is renegotiated: its sharers are told parts of the new speed. A link that is down keeps the last one. */
static void engine__shares_the_speed_that_a_link_has(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.link_bps = 1000000000;
	conf.tune.probe_rate = RATE_BOUND;
	duo_open(&d, &conf);
	d.e[0]->pds.conf.tune.link_bps = 0; /* as if the port had said it */
	struct sharers *s = &d.e[0]->pds.sharers;
	assert_int_equal(s->link_bps, 1000000000);
	uint64_t full_bytes = s->full_bytes;
	weft_engine_link(d.e[0], 10000000000, d.now);
	assert_int_equal(s->link_bps, 10000000000);
	assert_in_range(s->full_bytes, 9 * full_bytes, 11 * full_bytes);
	weft_engine_link(d.e[0], 0, d.now);
	assert_int_equal(s->link_bps, 10000000000);
	duo_close(&d);
}

/* A link that was down when the engine was opened: once it is up it has a speed, and is given packets at that. */
static void engine__paces_a_link_that_comes_up(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.link_bps = 0; /* and the port knows none, either */
	duo_open(&d, &conf);
	assert_int_equal(d.e[0]->pds.out.link_pace, 0);
	weft_engine_link(d.e[0], 1000000000, d.now);
	assert_int_equal(d.e[0]->pds.out.link_pace, 8 << 20); /* 8 ns a byte */
	weft_engine_link(d.e[0], 0, d.now);
	assert_int_equal(d.e[0]->pds.out.link_pace, 0);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floor__is_the_time_of_packets),
		cmocka_unit_test(start__finds_the_rate),
		cmocka_unit_test(start__trims_end_it),
		cmocka_unit_test(start__counts_packets_of_the_first_size),
		cmocka_unit_test(start__ends_with_the_window_that_fits),
		cmocka_unit_test(start__a_burst_is_no_rate),
		cmocka_unit_test(start__timeouts_without_an_answer),
		cmocka_unit_test(bound__losses_lower_it),
		cmocka_unit_test(bound__kept_without_losses),
		cmocka_unit_test(set_bound__follows_the_port),
		cmocka_unit_test(brtt__is_no_less_than_a_packet),
		cmocka_unit_test(brtt__is_forgotten),
		cmocka_unit_test(engine__with_an_unknown_link),
		cmocka_unit_test(engine__shares_the_speed_that_a_link_has),
		cmocka_unit_test(engine__paces_a_link_that_comes_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
