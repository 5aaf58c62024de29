/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <string.h>

#include "inside.h"

enum { IP_BYTES = 20, UDP_BYTES = 8 };

/* A good packet for side 1 with one byte changed; the header checksum made right if asked for. */
static void inject_changed(struct duo *d, uint32_t at, uint8_t value, uint16_t len)
{
	struct wire_pkt w = duo_syn(1, 8);
	uint8_t buf[WEFT_PKT_HEAD_MAX + 8] = {0};
	w.net.src = weft_peer_addr(d->e[1], d->peer[1])->ip;
	w.net.dst = weft_peer_addr(d->e[0], d->peer[0])->ip;
	w.net.dst_port = WIRE_UDP_PORT;
	size_t bytes = wire_encode(&w, buf) + 8;
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
	inject_changed(&d, IP_BYTES + UDP_BYTES, WIRE_PDS_RUDI_REQ << 3 | 1, 0); /* known, not spoken here */
	assert_int_equal(s->rx_bad_pds, 2);
	inject_changed(&d, IP_BYTES + UDP_BYTES, WIRE_PDS_RUD_REQ << 3, 0); /* next header: small */
	assert_int_equal(s->rx_bad_ses, 1);
	assert_null(first_rx(d.e[1]));
	duo_close(&d);
}

static void bad__not_ours(void **state)
{
	struct duo d;
	struct wire_pkt w = duo_syn(1, 0);
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	open_default(&d);
	w.net.src = weft_ip_v4(0x0a000001);
	w.net.dst = weft_ip_v4(0x0a000055);
	w.net.dst_port = WIRE_UDP_PORT;
	duo_inject(&d, 1, buf, (uint16_t)wire_encode(&w, buf));
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
		struct wire_pkt w = duo_syn(1, 8);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad__counted_by_reason),
		cmocka_unit_test(bad__not_ours),
		cmocka_unit_test(crc__required),
		cmocka_unit_test(burst__more_is_announced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
