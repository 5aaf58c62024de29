/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>

#include "duo.h"

static void poll__messages_of_all_sizes_arrive(void **state)
{
	static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, 100000, 8 << 20};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		duo_transfer(&d, 0, sizes[i]);
	const struct weft_stats *a = weft_engine_stats(d.e[0]), *b = weft_engine_stats(d.e[1]);
	assert_int_equal(a->tx_retx, 0);
	assert_int_equal(a->timeouts, 0);
	assert_int_equal(b->rx_dup, 0);
	assert_int_equal(a->msg_sent, 7);
	assert_int_equal(b->msg_received, 7);
	duo_close(&d);
}

static void poll__ipv6_and_crc(void **state)
{
	for (int i = 1; i < 4; i++) {
		struct duo_conf conf;
		struct duo d;
		duo_conf_init(&conf);
		conf.ipv6 = i & 1;
		conf.tune.crc = i >> 1 & 1;
		duo_open(&d, &conf);
		duo_transfer(&d, 0, 50000);
		duo_transfer(&d, 1, 50000);
		assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
		duo_close(&d);
	}
}

static void poll__both_directions_at_once(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	enum { LEN = 300000 };
	uint8_t *out[2], *in[2];
	for (int i = 0; i < 2; i++) {
		out[i] = duo_pattern(LEN, (uint64_t)i);
		in[i] = duo_pattern(LEN, 77);
		duo_recv(&d, i, in[i], LEN, 1, 0, in[i]);
		duo_send(&d, i, out[i], LEN, 1, out[i]);
	}
	duo_run(&d, d.now + WEFT_MS(100));
	for (int i = 0; i < 2; i++)
		assert_memory_equal(in[i], out[!i], LEN);
	assert_int_equal(weft_engine_stats(d.e[0])->msg_received, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->msg_received, 1);
	duo_close(&d);
	for (int i = 0; i < 2; i++) {
		free(out[i]);
		free(in[i]);
	}
}

static void poll__nothing_to_do_is_never(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	assert_true(weft_engine_poll(d.e[0], d.now) == WEFT_NEVER);
	assert_true(weft_engine_poll(d.e[0], d.now + WEFT_S(100)) == WEFT_NEVER);
	duo_close(&d);
}

static void push__sends_and_leaves_what_arrived(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t out[100] = {1}, in[100];
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	duo_send(&d, 0, out, sizeof out, 7, out);
	assert_true(weft_engine_xmit(d.e[0], d.now) > d.now);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_data, 1);
	d.now += d.latency_ns;
	weft_engine_xmit(d.e[1], d.now);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_data, 0);
	duo_run(&d, d.now + WEFT_US(20));
	duo_expect(&d, 1, in, 0);
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
}

/* The next deadline lies in the future whenever the port takes everything and no burst limit was hit. */
static void poll__deadline_is_ahead(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	uint8_t *out = duo_pattern(20000, 1);
	duo_send(&d, 0, out, 20000, 7, out);
	for (int i = 0; i < 2000; i++) {
		d.now += 100;
		assert_true(weft_engine_poll(d.e[0], d.now) > d.now);
		assert_true(weft_engine_poll(d.e[1], d.now) > d.now);
	}
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
	free(out);
}

/* An application that calls us far too rarely still recovers from loss. */
static enum duo_fate drop_first(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && nth == 0 ? DUO_DROP : DUO_PASS;
}

static void poll__always_late_still_times_out(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	d.fate = drop_first;
	uint8_t out[100] = {1};
	duo_send(&d, 0, out, sizeof out, 7, out);
	for (int i = 0; i < 10; i++) {
		d.now += WEFT_MS(5);
		duo_poll(&d, 0);
		duo_poll(&d, 1);
	}
	duo_expect(&d, 0, out, 0);
	assert_in_range(weft_engine_stats(d.e[0])->timeouts, 1, 3);
	duo_close(&d);
}

static void view_one(void *arg, const struct weft_conn_view *v)
{
	struct weft_conn_view *out = arg;
	assert_null(out->ip);
	*out = *v;
}

static void view__shows_the_connection(void **state)
{
	struct weft_conn_view v = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	weft_engine_view(d.e[0], view_one, &v);
	assert_null(v.ip);
	duo_transfer(&d, 0, 100000);
	weft_engine_view(d.e[0], view_one, &v);
	assert_memory_equal(v.ip, &weft_peer_addr(d.e[0], d.peer[0])->ip, sizeof *v.ip);
	assert_int_equal(v.inflight_bytes, 0);
	assert_true(v.cwnd_bytes > 4096);
	assert_in_range(v.brtt_ns, WEFT_US(7), WEFT_US(10)); /* the wire takes no time to serialise, the link does */
	assert_in_range(v.srtt_ns, WEFT_US(7), WEFT_US(10));
	assert_int_equal(v.ev, -1);
	assert_false(v.background);
	duo_close(&d);
}

struct last_sent {
	int32_t ev;
	uint32_t count;
};

static void note_sent(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct last_sent *last = arg;
	if (e->kind != WEFT_EVENT_SENT)
		return;
	last->ev = e->ev;
	last->count++;
}

static void view__shows_the_entropy_in_flight(void **state)
{
	static uint8_t out[20000];
	struct last_sent last = {.ev = -1};
	struct weft_recording recording;
	size_t bytes = weft_recorder_bytes(64);
	void *recorder = aligned_alloc(64, bytes);
	struct weft_conn_view v = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	assert_int_equal(weft_engine_record(d.e[0], recorder, bytes), 0);
	duo_send(&d, 0, out, sizeof out, 7, out);
	duo_poll(&d, 0);
	weft_engine_view(d.e[0], view_one, &v);
	assert_int_equal(weft_recorder_read(recorder, bytes, recorder, &recording, note_sent, &last), 0);
	assert_true(last.count > 1);
	assert_int_equal(v.ev, last.ev);
	assert_true(v.inflight_bytes > 0);
	duo_close(&d);
	free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__messages_of_all_sizes_arrive),  cmocka_unit_test(poll__ipv6_and_crc),
		cmocka_unit_test(poll__both_directions_at_once),       cmocka_unit_test(poll__nothing_to_do_is_never),
		cmocka_unit_test(push__sends_and_leaves_what_arrived), cmocka_unit_test(poll__deadline_is_ahead),
		cmocka_unit_test(poll__always_late_still_times_out),   cmocka_unit_test(view__shows_the_connection),
		cmocka_unit_test(view__shows_the_entropy_in_flight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
