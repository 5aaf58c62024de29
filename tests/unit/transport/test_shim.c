/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting what arrives beyond a gap, as TCP does, and targets that keep short gaps to themselves. */
#include "cmocka_all.h"

#include "inside.h"

enum { PKT_NS = 336, BYTES = 200 * 4096 };

static void open_with(struct duo *d, uint32_t threshold, weft_ns shim_ns, uint32_t shim_pkts)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.dup_ack_threshold = threshold;
	conf.tune.reorder_shim_ns = shim_ns;
	conf.tune.reorder_shim_pkts = shim_pkts;
	duo_open(d, &conf);
	d->logging = true;
}

/* The same, with one message from side 0, of which the packets sent as the `hit` ones are lost. */
static void transfer_losing(struct duo *d, struct hit hit, weft_ns shim_ns, uint32_t shim_pkts)
{
	open_with(d, 3, shim_ns, shim_pkts);
	d->fate = hit_data;
	d->fate_arg = &hit;
	duo_transfer(d, 0, BYTES);
	d->fate = NULL;
}

/* One message, of which the packet sent as the sixth comes `late_ns` late. */
static void transfer_late(struct duo *d, weft_ns late_ns)
{
	static const struct hit sixth = {5, 5, DUO_LATE};
	d->late_ns = late_ns;
	d->fate = hit_data;
	d->fate_arg = (void *)(uintptr_t)&sixth;
	duo_transfer(d, 0, BYTES);
}

static void count__one_loss_is_found_after_three_packets(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){5, 5, DUO_DROP}, 0, 64);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_int_equal(s->tx_retx, 1);
	assert_int_equal(s->tx_retx_gap, 1);
	assert_int_equal(s->timeouts, 0);
	assert_int_equal(s->spurious, 0);
	duo_close(&d);
}

/* Three in a row, found at once: each has three acknowledged behind it. */
static void count__several_losses(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){5, 7, DUO_DROP}, 0, 64);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_gap, 3);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 3);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
	duo_close(&d);
}

static void count__two_late_packets_are_not_enough(void **state)
{
	struct duo d;
	open_with(&d, 3, 0, 64);
	transfer_late(&d, 2 * PKT_NS + PKT_NS / 2);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->lost_gap, 0);
	duo_close(&d);
}

static void count__reordering_by_three_is_taken_for_a_loss(void **state)
{
	struct duo d;
	open_with(&d, 3, 0, 64);
	transfer_late(&d, 3 * PKT_NS + PKT_NS / 2);
	assert_int_equal(weft_engine_stats(d.e[0])->lost_gap, 1);
	duo_close(&d);
}

/* The last two have nobody behind them, or too few: the timer is for those. */
static void count__the_tail_waits_for_the_timer(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){198, 198, DUO_DROP}, 0, 64);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_gap, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_rto, 1);
	duo_close(&d);
}

/* Drops the packet sent as the sixth, and what it is sent again as. */
static enum duo_fate sixth_twice(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *psn = arg;
	if (from != 0 || !is_data(w))
		return DUO_PASS;
	if (nth == 5)
		*psn = w->pds.psn;
	return nth >= 5 && nth < 100 && w->pds.psn == *psn ? DUO_DROP : DUO_PASS;
}

/* Packets behind a retransmission were sent before it, or say nothing about a single path that lost it: the timer is
 * for it, and so it is sent three times in all. */
static void count__a_lost_retransmission_waits_for_the_timer(void **state)
{
	struct duo d;
	uint32_t psn;
	open_with(&d, 3, 0, 64);
	d.fate = sixth_twice;
	d.fate_arg = &psn;
	duo_transfer(&d, 0, BYTES);
	assert_int_equal(duo_stats(&d, 0)->tx_retx_gap, 1);
	assert_int_equal(duo_stats(&d, 0)->tx_retx_rto, 1);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, 2);
	duo_close(&d);
}

static void create__counting_or_going_back(void **state)
{
	struct duo d;
	struct duo_conf conf;
	struct weft_engine *e = NULL;
	struct weft_err err = {""};
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	struct weft_engine_conf ec = {.ip = weft_ip_v4(0x0a000001),
				      .cc = weft_cc_find("newreno"),
				      .lb = weft_lb_find("ecmp"),
				      .tune = conf.tune,
				      .seed = 1};
	ec.tune.go_back_n = 1;
	ec.tune.dup_ack_threshold = 3;
	assert_int_equal(weft_engine_create(&ec, &d.port[0].port, 0, &e, &err), -22);
	assert_non_null(strstr(err.msg, "dup_ack_threshold"));
	ec.tune.dup_ack_threshold = 0;
	ec.tune.reorder_shim_ns = 1;
	assert_int_equal(weft_engine_create(&ec, &d.port[0].port, 0, &e, &err), -22);
	assert_non_null(strstr(err.msg, "reorder_shim_ns"));
	duo_close(&d);
}

/* No ACK tells of anything beyond a gap. */
static void assert_hidden(const struct duo *d)
{
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pds *pds = &d->log[i].w.pds;
		if (d->log[i].from == 1 && pds->type == WIRE_PDS_ACK_CC)
			assert_true(!pds->ooo_count && !pds->sack_bitmap);
	}
}

/* The sender never hears of the gap. */
static void shim__hides_what_is_short(void **state)
{
	struct duo d;
	open_with(&d, 3, WEFT_US(5), 64);
	transfer_late(&d, 6 * PKT_NS + PKT_NS / 2);
	const struct weft_stats *a = weft_engine_stats(d.e[0]), *b = weft_engine_stats(d.e[1]);
	assert_int_equal(a->lost_gap, 0);
	assert_int_equal(a->tx_retx, 0);
	assert_in_range(b->rx_held, 6, 7);
	assert_int_equal(b->rx_dup, 0);
	assert_hidden(&d);
	duo_close(&d);
}

/* A lost packet never closes its gap: the sender learns of it when the time is over. */
static void shim__gives_up_after_its_time(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){5, 5, DUO_DROP}, WEFT_US(5), 1000);
	const struct weft_stats *a = weft_engine_stats(d.e[0]), *b = weft_engine_stats(d.e[1]);
	assert_int_equal(a->tx_retx_gap, 1);
	assert_int_equal(a->timeouts, 0);
	assert_in_range(b->rx_held, 5000 / PKT_NS - 1, 5000 / PKT_NS + 1);
	duo_close(&d);
}

/* Nothing comes after the gap's nine packets, so that only the timer can tell of them. */
static void shim__gives_up_in_silence(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){190, 190, DUO_DROP}, WEFT_US(5), 64);
	assert_int_equal(duo_stats(&d, 0)->tx_retx_gap, 1);
	assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
	assert_int_equal(duo_stats(&d, 1)->rx_held, 9);
	duo_close(&d);
}

/* In order there is nothing to hold: ACKs are coalesced as without a shim. */
static void shim__is_not_there_in_order(void **state)
{
	uint64_t acks[2];
	for (int shim = 0; shim < 2; shim++) {
		struct duo d;
		struct duo_conf conf;
		duo_conf_init(&conf);
		conf.tune.ack_every = 4;
		conf.tune.reorder_shim_ns = shim ? WEFT_US(5) : 0;
		duo_open(&d, &conf);
		duo_transfer(&d, 0, BYTES);
		acks[shim] = duo_stats(&d, 1)->tx_ack;
		assert_int_equal(duo_stats(&d, 1)->rx_held, 0);
		duo_close(&d);
	}
	assert_int_equal(acks[0], acks[1]);
	assert_in_range(acks[0], BYTES / 4096 / 4, BYTES / 4096 / 3);
}

static bool has_ack(const struct duo *d, uint32_t psn)
{
	return duo_count(d, 1, WIRE_PDS_ACK_CC, &psn) > 0;
}

/* A shim beside ACKs that speak for several packets. */
static void open_acking(struct duo *d, uint32_t ack_every, uint8_t ack_burst)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.ack_every = ack_every;
	conf.tune.ack_burst = ack_burst;
	conf.tune.reorder_shim_ns = WEFT_US(5);
	duo_open(d, &conf);
	d->logging = true;
}

/* Held packets count for the next ACK: five in order and ten held are more than it takes, so that it goes with the one
 * that closes the gap. */
static void shim__held_packets_count(void **state)
{
	struct duo d;
	open_acking(&d, 8, 0);
	transfer_late(&d, 10 * PKT_NS + PKT_NS / 2);
	assert_int_equal(duo_stats(&d, 1)->rx_held, 10);
	assert_true(has_ack(&d, d.log[0].w.pds.psn + 15));
	assert_hidden(&d);
	duo_close(&d);
}

/* What one poll finds in order would share an ACK, but not with a gap that opens behind it: nothing says so yet. */
static void shim__bursts_do_not_tell_of_a_gap(void **state)
{
	static const uint16_t order[] = {0, 1, 3, 4, 5, 6};
	static const uint8_t payload[8];
	struct duo d;
	open_acking(&d, 1, 1);
	for (uint16_t i = 0; i < 6; i++) {
		struct plain_pkt w = duo_syn(1, sizeof payload);
		w.pds.psn += order[i];
		w.pds.psn_offset = order[i];
		w.ses.message_id = 1 + order[i];
		duo_inject_pkt(&d, 1, &w, payload);
	}
	duo_poll(&d, 1);
	assert_int_equal(duo_stats(&d, 1)->rx_held, 4);
	assert_true(duo_stats(&d, 1)->tx_ack > 0);
	assert_hidden(&d);
	duo_close(&d);
}

static void shim__gives_up_after_its_packets(void **state)
{
	struct duo d;
	transfer_losing(&d, (struct hit){5, 5, DUO_DROP}, WEFT_US(50), 8);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_gap, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_held, 8);
	duo_close(&d);
}

/* What one packet closes, another has opened meanwhile: acknowledged up to there, and the next gap has its own time. */
static enum duo_fate two_late(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && is_data(w) && (nth == 5 || nth == 8) ? DUO_LATE : DUO_PASS;
}

static void shim__one_gap_after_the_other(void **state)
{
	struct duo d;
	open_with(&d, 3, WEFT_US(2), 64);
	d.late_ns = 5 * PKT_NS + PKT_NS / 2; /* both together wait for longer than 2 us */
	d.fate = two_late;
	duo_transfer(&d, 0, BYTES);
	assert_int_equal(weft_engine_stats(d.e[0])->lost_gap, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
	assert_true(weft_engine_stats(d.e[1])->rx_held > 5);
	assert_hidden(&d);
	uint32_t first = d.log[0].w.pds.psn; /* the connection's */
	assert_true(has_ack(&d, first + 4));
	assert_false(has_ack(&d, first + 5));
	assert_false(has_ack(&d, first + 6));
	assert_true(has_ack(&d, first + 7)); /* as soon as the first gap is closed */
	duo_close(&d);
}

static enum duo_fate anything(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint64_t draw = rng_mix(nth * 2 + (uint64_t)from) % 100;
	return draw < 3 ? DUO_DROP : draw < 5 ? DUO_DUP : draw < 30 ? DUO_LATE : DUO_PASS;
}

static void shim__everything_now_and_then(void **state)
{
	for (uint32_t ack_every = 1; ack_every <= 16; ack_every *= 4) {
		for (uint32_t shim_us = 0; shim_us < 30; shim_us += 7) {
			struct duo d;
			struct duo_conf conf;
			duo_conf_init(&conf);
			conf.cc = "newreno";
			conf.tune.ack_every = ack_every;
			conf.tune.dup_ack_threshold = 3;
			conf.tune.reorder_shim_ns = WEFT_US(shim_us);
			duo_open(&d, &conf);
			d.late_ns = 3 * PKT_NS;
			d.fate = anything;
			duo_transfer(&d, 0, 1 << 20);
			duo_transfer(&d, 1, 1 << 18);
			assert_int_equal(first_rx(d.e[1])->win.ooo_pkts, 0);
			assert_null(first_rx(d.e[1])->win.received);
			duo_close(&d);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count__one_loss_is_found_after_three_packets),
		cmocka_unit_test(count__several_losses),
		cmocka_unit_test(count__two_late_packets_are_not_enough),
		cmocka_unit_test(count__reordering_by_three_is_taken_for_a_loss),
		cmocka_unit_test(count__the_tail_waits_for_the_timer),
		cmocka_unit_test(count__a_lost_retransmission_waits_for_the_timer),
		cmocka_unit_test(create__counting_or_going_back),
		cmocka_unit_test(shim__hides_what_is_short),
		cmocka_unit_test(shim__gives_up_after_its_time),
		cmocka_unit_test(shim__gives_up_in_silence),
		cmocka_unit_test(shim__is_not_there_in_order),
		cmocka_unit_test(shim__held_packets_count),
		cmocka_unit_test(shim__bursts_do_not_tell_of_a_gap),
		cmocka_unit_test(shim__gives_up_after_its_packets),
		cmocka_unit_test(shim__one_gap_after_the_other),
		cmocka_unit_test(shim__everything_now_and_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
