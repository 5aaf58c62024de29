/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "msg_rx.h"

enum { IP_BYTES = 20, UDP_BYTES = 8 };

/* A good packet for side 1 with one byte changed; the header checksum made right if asked for. */
static void inject_changed(struct duo *d, uint32_t at, uint8_t value, uint16_t len)
{
	struct plain_pkt w = duo_syn(1, 8);
	uint8_t buf[WEFT_PKT_HEAD_MAX + 8] = {0};
	w.net.src = weft_peer_addr(d->e[1], d->peer[1])->ip;
	w.net.dst = weft_peer_addr(d->e[0], d->peer[0])->ip;
	w.net.dst_port = WIRE_UDP_PORT;
	size_t bytes = plain_encode(&w, buf) + 8;
	buf[at] = value;
	duo_inject(d, 1, buf, len ? len : (uint16_t)bytes);
	duo_poll(d, 1);
}

static void bad__counted_by_reason(void **state)
{
	struct duo d;
	open_default(&d);
	const struct weft_stats *s = weft_engine_stats(d.e[1]);
	inject_changed(&d, 0, 0x45, 10);
	assert_int_equal(s->rx_bad_short, 1);
	inject_changed(&d, 8, 77, 0); /* TTL without its checksum */
	assert_int_equal(s->rx_bad_ip, 1);
	inject_changed(&d, IP_BYTES + 2, 0, 0);
	assert_int_equal(s->rx_bad_udp, 1);
	inject_changed(&d, IP_BYTES + UDP_BYTES, 0xf8, 0); /* PDS type 31 */
	assert_int_equal(s->rx_bad_pds, 1);
	inject_changed(&d, IP_BYTES + UDP_BYTES, 0, 0); /* tunnelled data, of which Weft knows nothing */
	assert_int_equal(s->rx_bad_pds, 2);
	assert_null(first_rx(d.e[1]));
	inject_changed(&d, IP_BYTES + UDP_BYTES, WIRE_PDS_RUD_REQ << 3, 0); /* next header: small */
	assert_int_equal(s->rx_bad_ses, 1);
	assert_int_equal(s->tx_ack, 1); /* says so */
	duo_close(&d);
}

static void bad__not_ours(void **state)
{
	struct duo d;
	struct plain_pkt w = duo_syn(1, 0);
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	open_default(&d);
	w.net.src = weft_ip_v4(0x0a000001);
	w.net.dst = weft_ip_v4(0x0a000055);
	w.net.dst_port = WIRE_UDP_PORT;
	duo_inject(&d, 1, buf, (uint16_t)plain_encode(&w, buf));
	duo_poll(&d, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_not_ours, 1);
	duo_close(&d);
}

static void crc__required(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.crc = 1;
	duo_open(&d, &conf);
	inject_changed(&d, 0, 0x45, 0); /* no trailer */
	assert_int_equal(weft_engine_stats(d.e[1])->rx_bad_crc, 1);
	assert_null(first_rx(d.e[1]));
	duo_close(&d);
}

static void burst__more_is_announced(void **state)
{
	static const uint8_t payload[8];
	struct duo d;
	open_default(&d);
	for (uint16_t i = 0; i < 70; i++) {
		struct plain_pkt w = duo_syn(1, 8);
		w.pds.psn += i;
		w.pds.psn_offset = i;
		w.ses.message_id = (uint16_t)(1 + i);
		duo_inject_pkt(&d, 1, &w, payload);
	}
	assert_true(weft_engine_poll(d.e[1], d.now) == d.now);
	assert_true(weft_engine_poll(d.e[1], d.now) == d.now);
	assert_true(weft_engine_poll(d.e[1], d.now) > d.now);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_data, 70);
	duo_close(&d);
}

enum { MESSAGES = 6, MESSAGE_BYTES = 150000 };

/* Every sixth packet or so does not simply arrive. Only data is trimmed or marked. */
static enum duo_fate hard_times(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const enum duo_fate kinds[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_MARK, DUO_TRIM, DUO_LATE};
	uint64_t dice = rng_mix(nth * 2 + (uint64_t)from);
	enum duo_fate fate = dice % 6 ? DUO_PASS : kinds[(dice >> 8) % 6];
	return (fate == DUO_MARK || fate == DUO_TRIM) && !is_data(w) ? DUO_DROP : fate;
}

/* The receiver of every second message has not asked for it when it begins. */
static void both_ways(struct duo *d, uint8_t *out, uint8_t *in)
{
	static int context;
	for (int i = 0; i < MESSAGES; i++) {
		int side = i & 1;
		if (i & 2)
			duo_recv(d, !side, in, MESSAGE_BYTES, (uint64_t)i, 0, &context);
		duo_send(d, side, out, MESSAGE_BYTES - (uint64_t)i, (uint64_t)i, &context);
		duo_run(d, d->now + 30000);
		if (!(i & 2))
			duo_recv(d, !side, in, MESSAGE_BYTES, (uint64_t)i, 0, &context);
		duo_run(d, d->now + WEFT_S(1));
		assert_memory_equal(in, out, MESSAGE_BYTES - i);
	}
}

static uint32_t usual_data; /* packets of data that were found to be usual ones */

static bool count_more_data(void *ses, struct pdc_rx *p, const struct wire_std *h, const uint8_t *payload, uint32_t len,
			    uint8_t flags)
{
	usual_data++;
	return msg_rx_more_data(ses, p, h, payload, len, flags);
}

/* Without short cuts every packet is checked, taken and built like any other: no network headers are seen twice, and
 * there are no templates. */
static void run_logged(struct duo *d, bool short_cuts)
{
	static struct pds_events events;
	uint8_t *out = duo_pattern(MESSAGE_BYTES, 1), *in = calloc(1, MESSAGE_BYTES);
	struct weft_cqe cqe;
	open_default(d);
	d->logging = true;
	d->fate = hard_times;
	d->late_ns = 7000;
	d->numbers_packets = !short_cuts;
	events = *d->e[0]->pds.events;
	events.on_more_data = count_more_data;
	usual_data = 0;
	for (int side = 0; side < 2; side++) {
		assert_true(d->e[side]->pds.conf.has_templates);
		d->e[side]->pds.conf.has_templates = short_cuts;
		d->e[side]->pds.events = &events;
	}
	both_ways(d, out, in);
	for (int side = 0; side < 2; side++)
		while (duo_cqe(d, side, &cqe))
			assert_int_equal(cqe.err, 0);
	assert_true(short_cuts ? usual_data > 20 : usual_data == 0);
	free(out);
	free(in);
}

static void check_same_packet(const struct duo_rec *a, const struct duo_rec *b)
{
	uint8_t x[WEFT_PKT_HEAD_MAX], y[WEFT_PKT_HEAD_MAX];
	size_t bytes = plain_encode(&a->w, x);
	assert_true(bytes > 0);
	assert_int_equal(bytes, plain_encode(&b->w, y));
	assert_memory_equal(x, y, bytes);
	assert_int_equal(a->w.payload_bytes, b->w.payload_bytes);
	assert_true(a->at == b->at && a->from == b->from && a->fate == b->fate);
}

static void short_cuts__same_as_general(void **state)
{
	struct duo with, general;
	run_logged(&with, true);
	run_logged(&general, false);
	assert_int_equal(with.log_len, general.log_len);
	for (uint32_t i = 0; i < with.log_len; i++)
		check_same_packet(&with.log[i], &general.log[i]);
	for (int side = 0; side < 2; side++) {
		const struct weft_stats *s = weft_engine_stats(with.e[side]);
		assert_memory_equal(s, weft_engine_stats(general.e[side]), sizeof *s);
		assert_true(s->rx_data > 100 && s->rx_dup && s->rx_trimmed && s->rx_ce && s->rx_ack_ce && s->tx_retx);
	}
	duo_close(&with);
	duo_close(&general);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad__counted_by_reason),
		cmocka_unit_test(bad__not_ours),
		cmocka_unit_test(crc__required),
		cmocka_unit_test(burst__more_is_announced),
		cmocka_unit_test(short_cuts__same_as_general),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
