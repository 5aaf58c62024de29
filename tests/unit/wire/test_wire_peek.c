/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "rng.h"
#include "samples.h"

static const char *const files[] = {"uet_derived_ip_v4.pcap", "uet_derived_udp_v4.pcap", "uet_derived_ip_v6.pcap",
				    "uet_derived_udp_v6.pcap"};
enum { FILES = 4, D05 = 4, D38 = 37 };

/* A switch has the packet in one piece; the allocation ends where the packet does. */
static struct weft_pkt held(const uint8_t *data, size_t len)
{
	return (struct weft_pkt){.head = exact_copy(data, len), .head_len = (uint16_t)len};
}

static void for_each_packet(void (*check)(const uint8_t *data, size_t len))
{
	struct samples s;

	for (int i = 0; i < FILES; i++) {
		samples_load(&s, files[i]);
		for (size_t k = 0; k < s.count; k++)
			check(s.packets[k].data, s.packets[k].len);
		samples_free(&s);
	}
}

static void check_agrees(const uint8_t *data, size_t len)
{
	struct weft_pkt pkt = held(data, len);
	struct plain_pkt p;

	pkt.flags = WEFT_PKT_TRAILER | WEFT_PKT_TRIMMED;
	assert_true(wire_peek(&pkt));
	assert_int_equal(pkt.wire_bytes, len + 38 < 84 ? 84 : len + 38);
	if (plain_decode(data, len, 0, WIRE_UDP_PORT, true, &p) == WIRE_OK) {
		assert_int_equal(pkt.src, weft_ip_low32(&p.net.src));
		assert_int_equal(pkt.dst, weft_ip_low32(&p.net.dst));
		assert_int_equal(pkt.entropy, p.net.entropy);
		assert_int_equal(pkt.dscp, p.net.dscp);
		assert_int_equal(pkt.ecn, p.net.ecn);
		assert_int_equal(pkt.flags, WEFT_PKT_TRAILER | wire_class_flags(p.net.dscp));
	}
	free(pkt.head);
}

static void wire_peek__agrees_with_decode(void **state)
{
	for_each_packet(check_agrees);
}

static void wire_peek__classes(void **state)
{
	const uint8_t uet[4] = {0x30};
	uint8_t buf[PACKET_MAX];
	static const struct {
		uint8_t dscp, flags;
	} classes[] = {{0, 0},
		       {WIRE_DSCP_TRIMMABLE, 0},
		       {WIRE_DSCP_CONTROL, WEFT_PKT_CONTROL},
		       {WIRE_DSCP_CREDIT, WEFT_PKT_CONTROL | WEFT_PKT_CREDIT},
		       {WIRE_DSCP_TRIMMED, WEFT_PKT_CONTROL | WEFT_PKT_TRIMMED},
		       {WIRE_DSCP_TRIMMED_LASTHOP, WEFT_PKT_CONTROL | WEFT_PKT_TRIMMED}};

	for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		size_t len = wrap_uet(i & 1, uet, sizeof uet, buf);
		set_ip_tos(buf, (uint8_t)(classes[i].dscp << 2 | WEFT_ECN_CE));
		struct weft_pkt pkt = {.head = buf, .head_len = (uint16_t)len};
		assert_true(wire_peek(&pkt));
		assert_int_equal(pkt.dscp, classes[i].dscp);
		assert_int_equal(pkt.ecn, WEFT_ECN_CE);
		assert_int_equal(pkt.flags, classes[i].flags);
	}
}

static void wire_peek__not_ours(void **state)
{
	const uint8_t uet[4] = {0x30};
	uint8_t buf[PACKET_MAX];
	size_t len = wrap_uet(true, uet, sizeof uet, buf);
	struct weft_pkt pkt = {.head = buf, .head_len = (uint16_t)len};

	buf[9] = 6;
	assert_false(wire_peek(&pkt));
	assert_int_equal(pkt.src, 0x0a000001);
	assert_int_equal(pkt.dst, 0x0a000002);
	assert_int_equal(pkt.entropy, 0);
	buf[9] = 17;
	buf[7] = 1; /* a later fragment has no UDP header */
	assert_false(wire_peek(&pkt));
	buf[7] = 0;
	pkt.head_len = 27;
	assert_false(wire_peek(&pkt));
	assert_int_equal(pkt.dst, 0x0a000002);
	pkt.head_len = 19;
	assert_false(wire_peek(&pkt));
	assert_int_equal(pkt.src, 0);
	assert_int_equal(pkt.dst, 0);
	assert_int_equal(pkt.wire_bytes, WEFT_WIRE_MIN_BYTES);
}

static void wire_peek__huge_length_saturates(void **state)
{
	const uint8_t uet[4] = {0x30};
	uint8_t buf[PACKET_MAX];
	struct weft_pkt pkt = {.head = buf, .head_len = (uint16_t)wrap_uet(true, uet, sizeof uet, buf)};

	set_ip_length(buf, UINT16_MAX);
	assert_true(wire_peek(&pkt));
	assert_int_equal(pkt.wire_bytes, UINT16_MAX);
}

/* Any bytes, any length: nothing beyond head_len is touched, and the packet never grows. */
static void wire_peek__noise(void **state)
{
	struct rng r = {21};
	uint8_t data[160];

	for (int round = 0; round < 20000; round++) {
		size_t len = rng_below(&r, sizeof data);
		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)rng_next(&r);
		data[0] = rng_below(&r, 2) ? 0x45 : 0x60;
		data[9] = data[6] = rng_below(&r, 2) ? 17 : 253;
		struct weft_pkt pkt = held(data, len);
		wire_peek(&pkt);
		wire_mark_ce(&pkt);
		wire_trim(&pkt, round & 1);
		assert_true(pkt.head_len <= len);
		free(pkt.head);
	}
}

static void check_mark(const uint8_t *data, size_t len)
{
	struct weft_pkt pkt = held(data, len);
	uint8_t *expected = exact_copy(data, len);

	wire_peek(&pkt);
	set_ip_tos(expected, (uint8_t)(pkt.dscp << 2 | WEFT_ECN_CE));
	for (int again = 0; again < 2; again++) {
		wire_mark_ce(&pkt);
		assert_int_equal(pkt.ecn, WEFT_ECN_CE);
		assert_memory_equal(pkt.head, expected, len);
	}
	free(expected);
	free(pkt.head);
}

static void wire_mark_ce__changes_ecn_and_checksum_only(void **state)
{
	for_each_packet(check_mark);
}

static void check_trim(const uint8_t *data, size_t len)
{
	struct weft_pkt pkt = held(data, len);
	struct plain_pkt before, after;

	if (plain_decode(data, len, 0, WIRE_UDP_PORT, true, &before) != WIRE_OK) {
		free(pkt.head);
		return; /* D38, trimmed already */
	}
	memset(&after, 0, sizeof after);
	pkt.flags = WEFT_PKT_TRAILER;
	wire_peek(&pkt);
	wire_trim(&pkt, true);
	assert_int_equal(pkt.flags, WEFT_PKT_CONTROL | WEFT_PKT_TRIMMED);
	/* Small packets keep at least 16 bytes behind UDP or entropy header, as far as they have them. */
	size_t least = uet_offset(&before.net) + 16, headers = before.header_bytes;
	assert_int_equal(pkt.head_len, headers > least ? headers : least < len ? least : len);
	assert_int_equal(plain_decode(pkt.head, pkt.head_len, 0, WIRE_UDP_PORT, false, &after), WIRE_OK);
	assert_int_equal(after.net.dscp, WIRE_DSCP_TRIMMED_LASTHOP);
	assert_int_equal(after.net.ecn, before.net.ecn);
	assert_memory_equal(&after.pds, &before.pds, sizeof after.pds);
	assert_int_equal(after.has_ses, before.has_ses);
	assert_int_equal(after.header_bytes, before.header_bytes);
	struct weft_pkt seen = pkt;
	assert_true(wire_peek(&seen));
	assert_memory_equal(&seen, &pkt, offsetof(struct weft_pkt, entropy));
	assert_int_equal(seen.dscp, pkt.dscp);
	assert_int_equal(seen.flags, pkt.flags);
	free(pkt.head);
}

static void wire_trim__keeps_all_headers(void **state)
{
	for_each_packet(check_trim);
}

/* D38 is D05 trimmed, with its first DSCP. */
static void wire_trim__gives_the_sample(void **state)
{
	struct samples s;

	for (int i = 0; i < FILES; i++) {
		samples_load(&s, files[i]);
		struct weft_pkt pkt = held(s.packets[D05].data, s.packets[D05].len);
		wire_peek(&pkt);
		wire_trim(&pkt, false);
		assert_int_equal(pkt.head_len, s.packets[D38].len);
		assert_int_equal(pkt.dscp, WIRE_DSCP_TRIMMED);
		set_ip_tos(s.packets[D38].data, WIRE_DSCP_TRIMMED << 2 | WEFT_ECN_ECT0);
		assert_memory_equal(pkt.head, s.packets[D38].data, pkt.head_len);
		free(pkt.head);
		samples_free(&s);
	}
}

/* Nobody on the way knows what the headers are: the TSS header and as much as those of a request stay. */
static void wire_trim__encrypted(void **state)
{
	enum { BYTES = 1500, KEPT = 20 + 8 + 16 + 60 };
	static const uint8_t begin[40] = {0x45, 0, BYTES >> 8, BYTES & 0xff, [9] = 17, [28] = WIRE_PDS_TSS << 3};
	uint8_t data[BYTES] = {0};

	memcpy(data, begin, sizeof begin);
	for (size_t len = BYTES; len > 20; len -= len > KEPT ? 700 : 9) {
		data[2] = (uint8_t)(len >> 8);
		data[3] = (uint8_t)len;
		struct weft_pkt pkt = held(data, len);
		wire_peek(&pkt);
		wire_trim(&pkt, false);
		assert_int_equal(pkt.head_len, len < KEPT ? len : KEPT);
		free(pkt.head);
	}
}

/* In the lab the payload is only a length behind the headers. */
static void wire_trim__payload_elsewhere(void **state)
{
	struct samples s;

	samples_load(&s, files[1]);
	struct weft_pkt pkt = held(s.packets[D05].data, 20 + 8 + 12 + 44);
	pkt.payload_len = 952;
	pkt.payload = s.packets[D05].data;
	wire_peek(&pkt);
	assert_int_equal(pkt.wire_bytes, s.packets[D05].len + WEFT_L1_OVERHEAD_BYTES);
	wire_trim(&pkt, false);
	assert_int_equal(pkt.head_len, 20 + 8 + 12 + 44);
	assert_int_equal(pkt.payload_len, 0);
	assert_null(pkt.payload);
	assert_int_equal(pkt.wire_bytes, 20 + 8 + 12 + 44 + WEFT_L1_OVERHEAD_BYTES);
	free(pkt.head);
	samples_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_peek__agrees_with_decode),
		cmocka_unit_test(wire_peek__classes),
		cmocka_unit_test(wire_peek__not_ours),
		cmocka_unit_test(wire_peek__huge_length_saturates),
		cmocka_unit_test(wire_peek__noise),
		cmocka_unit_test(wire_mark_ce__changes_ecn_and_checksum_only),
		cmocka_unit_test(wire_trim__keeps_all_headers),
		cmocka_unit_test(wire_trim__gives_the_sample),
		cmocka_unit_test(wire_trim__encrypted),
		cmocka_unit_test(wire_trim__payload_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
