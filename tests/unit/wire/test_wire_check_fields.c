/* SPDX-License-Identifier: BSD-3-Clause */
/* Where headers end and what makes them wrong: packets cut, shortened and damaged everywhere. */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "rng.h"
#include "samples.h"

static const char *const files[] = {"uet_derived_ip_v4.pcap", "uet_derived_udp_v4.pcap",
				    "uet_derived_ip_v6.pcap", "uet_derived_udp_v6.pcap",
				    "uet_pds.pcap",           "uet_ses.pcap"};
enum { FILES = sizeof files / sizeof files[0], DERIVED_FILES = 4, D05 = 4, D38 = 37 };

static void for_each_packet(unsigned file_count, void (*check)(const uint8_t *packet, size_t len))
{
	struct samples s;

	for (unsigned i = 0; i < file_count; i++) {
		samples_load(&s, files[i]);
		for (size_t k = 0; k < s.count; k++)
			check(s.packets[k].data, s.packets[k].len);
		samples_free(&s);
	}
}

static enum wire_error decode(const uint8_t *packet, size_t len, bool crc)
{
	struct plain_pkt p;

	return plain_decode(packet, len, 0, WIRE_UDP_PORT, crc, &p);
}

/* The bytes end, the headers don't know. */
static void check_cut(const uint8_t *packet, size_t len)
{
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *exact = exact_copy(packet, cut);
		assert_int_equal(decode(exact, cut, false), WIRE_ERR_SHORT);
		assert_int_equal(decode(exact, cut, true) == WIRE_OK, false);
		free(exact);
	}
}

static void wire_check__cut_at_every_length(void **state)
{
	for_each_packet(FILES, check_cut);
}

/* The lengths agree with what is left: an error, or a packet that fits. */
static void check_shortened(const uint8_t *packet, size_t len, uint8_t dscp)
{
	bool v4 = packet[0] >> 4 == 4, udp = packet[v4 ? 9 : 6] == 17;
	size_t ip_bytes = v4 ? 20 : 40;

	for (size_t cut = ip_bytes; cut < len; cut++) {
		uint8_t *exact = exact_copy(packet, cut);
		struct plain_pkt p;
		set_ip_length(exact, cut);
		set_ip_tos(exact, (uint8_t)(dscp << 2));
		if (udp && dscp != WIRE_DSCP_TRIMMED && cut >= ip_bytes + 6) {
			exact[ip_bytes + 4] = (uint8_t)((cut - ip_bytes) >> 8);
			exact[ip_bytes + 5] = (uint8_t)(cut - ip_bytes);
		}
		enum wire_error error = plain_decode(exact, cut, 0, WIRE_UDP_PORT, false, &p);
		if (error == WIRE_OK && !p.trimmed)
			assert_int_equal(p.header_bytes + p.payload_bytes, cut);
		else if (error == WIRE_OK)
			assert_in_range(p.header_bytes, ip_bytes + 8, cut);
		else
			assert_int_equal(error, WIRE_ERR_SHORT);
		free(exact);
	}
}

static void check_shortened_data(const uint8_t *packet, size_t len)
{
	check_shortened(packet, len, WIRE_DSCP_TRIMMABLE);
}

static void check_shortened_trimmed(const uint8_t *packet, size_t len)
{
	check_shortened(packet, len, WIRE_DSCP_TRIMMED);
}

/* D38 claims more UDP bytes than it has and is left out here; its trimmed form is tested with the vectors. */
static void wire_check__shortened_at_every_length(void **state)
{
	for_each_packet(FILES, check_shortened_data);
	for_each_packet(FILES, check_shortened_trimmed);
}

/* What a trimming switch leaves may end within the SES header. */
static void wire_check__trimmed_within_ses(void **state)
{
	struct samples s;
	struct plain_pkt p;

	samples_load(&s, "uet_derived_udp_v4.pcap");
	uint8_t *d05 = s.packets[D05].data;
	set_ip_tos(d05, WIRE_DSCP_TRIMMED_LASTHOP << 2);
	for (size_t len = 20 + 8 + 12; len <= 20 + 8 + 12 + 44; len++) {
		set_ip_length(d05, len);
		assert_int_equal(plain_decode(d05, len, 0, WIRE_UDP_PORT, true, &p), WIRE_OK);
		assert_true(p.trimmed);
		assert_int_equal(p.net.crc, 0);
		assert_int_equal(p.has_ses, len == 20 + 8 + 12 + 44);
		assert_int_equal(p.pds.psn, 0x10004);
		assert_int_equal(p.payload_bytes, 0);
	}
	samples_free(&s);
}

/* A flipped bit anywhere in an IPv4 packet with trailer is noticed. */
static void check_flips(const uint8_t *packet, size_t len)
{
	uint8_t *copy = exact_copy(packet, len);

	for (size_t bit = 0; bit < 8 * len; bit++) {
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(decode(copy, len, true), WIRE_OK);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(copy);
}

static void wire_check__every_flipped_bit_is_noticed(void **state)
{
	for_each_packet(2, check_flips);
}

/* Noise in place of any byte, and in all of them: whatever comes out, no byte outside is read. */
static void check_noise(const uint8_t *packet, size_t len)
{
	struct rng r = {len};
	uint8_t *copy = exact_copy(packet, len);

	for (int round = 0; round < 300; round++) {
		memcpy(copy, packet, len);
		for (uint32_t changes = 1 + rng_below(&r, 4); changes > 0; changes--)
			copy[rng_below(&r, len < 120 ? len : 120)] = (uint8_t)rng_next(&r);
		set_ip_length(copy, len);
		enum wire_error error = decode(copy, len, false);
		assert_in_range(error, WIRE_OK, WIRE_ERRORS - 1);
	}
	free(copy);
}

static void wire_check__noise(void **state)
{
	for_each_packet(FILES, check_noise);
}

static const uint8_t ack[] = {0x38, 0, 0, 2, 0x10, 0x20, 0x30, 0x40, 1, 2, 3, 4};

/* One changed byte of a valid packet and the error it must cause; IPv4 checksum put right again. */
static void check_byte(bool v4, size_t at, uint8_t value, enum wire_error expected)
{
	uint8_t buf[PACKET_MAX];
	size_t len = wrap_uet(v4, ack, sizeof ack, buf);

	assert_int_equal(decode(buf, len, false), WIRE_OK);
	buf[at] = value;
	set_ip_tos(buf, 0);
	assert_int_equal(decode(buf, len, false), expected);
}

static void wire_check__bad_ip(void **state)
{
	check_byte(true, 0, 0x46, WIRE_ERR_IP);  /* options */
	check_byte(true, 0, 0x44, WIRE_ERR_IP);  /* header length below the minimum */
	check_byte(true, 6, 0x20, WIRE_ERR_IP);  /* more fragments */
	check_byte(true, 7, 1, WIRE_ERR_IP);     /* fragment offset */
	check_byte(true, 3, 19, WIRE_ERR_IP);    /* length below the header's */
	check_byte(true, 2, 1, WIRE_ERR_SHORT);  /* length beyond the bytes there are */
	check_byte(false, 4, 1, WIRE_ERR_SHORT); /* same */
	check_byte(false, 5, 0, WIRE_ERR_SHORT); /* no UDP header */
	check_byte(true, 9, 6, WIRE_ERR_UDP);    /* TCP */
	check_byte(false, 6, 0, WIRE_ERR_UDP);   /* extension header */
}

static void wire_check__bad_version_or_checksum(void **state)
{
	uint8_t buf[PACKET_MAX];
	size_t len = wrap_uet(true, ack, sizeof ack, buf);

	buf[10] ^= 1;
	assert_int_equal(decode(buf, len, false), WIRE_ERR_IP);
	buf[0] = 0x55;
	assert_int_equal(decode(buf, len, false), WIRE_ERR_IP);
	buf[0] = 0x60;
	assert_int_equal(decode(buf, 39, false), WIRE_ERR_SHORT);
	assert_int_equal(decode(buf, 0, false), WIRE_ERR_SHORT);
}

static void wire_check__mapped_address_in_ipv6(void **state)
{
	const struct weft_ip mapped = weft_ip_v4(0x0a000001);
	uint8_t buf[PACKET_MAX];
	size_t len = wrap_uet(false, ack, sizeof ack, buf);

	memcpy(buf + 24, mapped.b, sizeof mapped.b);
	assert_int_equal(decode(buf, len, false), WIRE_ERR_IP);
	len = wrap_uet(false, ack, sizeof ack, buf);
	memcpy(buf + 8, mapped.b, sizeof mapped.b);
	assert_int_equal(decode(buf, len, false), WIRE_ERR_IP);
}

static void wire_check__bad_udp(void **state)
{
	check_byte(true, 22, 0, WIRE_ERR_UDP);       /* port */
	check_byte(true, 25, 8 + 13, WIRE_ERR_UDP);  /* one more byte than IP has */
	check_byte(true, 25, 8 + 11, WIRE_ERR_UDP);  /* one less */
	check_byte(false, 45, 8 + 13, WIRE_ERR_UDP); /* same */
	check_byte(true, 26, 0xff, WIRE_OK);         /* checksum: ignored */
}

static void wire_check__bad_pds_or_ses(void **state)
{
	check_byte(true, 28, 0x00, WIRE_ERR_PDS);   /* type 0 */
	check_byte(true, 28, 0x08, WIRE_ERR_PDS);   /* TSS, not supported */
	check_byte(true, 28, 0xf8, WIRE_ERR_PDS);   /* type 31 */
	check_byte(true, 28, 0x40, WIRE_ERR_SHORT); /* ACK_CC does not fit */
	check_byte(true, 29, 0x80, WIRE_ERR_SHORT); /* small request does not fit */
	check_byte(true, 28, 0x3b, WIRE_ERR_SHORT); /* small data response does not fit */
}

static void wire_check__unknown_ses_form(void **state)
{
	uint8_t uet[64] = {0x38}, buf[PACKET_MAX];

	for (unsigned form = 0; form < 16; form++) {
		uet[0] = (uint8_t)(0x38 | form >> 1);
		uet[1] = (uint8_t)(form << 7);
		size_t len = wrap_uet(false, uet, sizeof uet, buf);
		assert_int_equal(decode(buf, len, false), form <= WIRE_NH_RSP_DATA_SMALL ? WIRE_OK : WIRE_ERR_SES);
	}
}

static void wire_check__padding_is_not_payload(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct plain_pkt p;
	size_t len = wrap_uet(true, ack, sizeof ack, buf);

	memset(buf + len, 0xee, 20);
	assert_int_equal(plain_decode(buf, len + 20, 0, WIRE_UDP_PORT, false, &p), WIRE_OK);
	assert_int_equal(p.payload_bytes, 0);
	assert_int_equal(p.header_bytes, len);
}

static void wire_check__payload_elsewhere(void **state)
{
	uint8_t uet[500] = {0x31}, buf[PACKET_MAX];
	struct plain_pkt p;
	size_t len = wrap_uet(true, uet, sizeof uet, buf), head = 20 + 8 + 4 + 32;
	uint8_t *exact = exact_copy(buf, head);

	assert_int_equal(plain_decode(exact, head, len - head, WIRE_UDP_PORT, false, &p), WIRE_OK);
	assert_int_equal(p.header_bytes, head);
	assert_int_equal(p.payload_bytes, len - head);
	assert_int_equal(plain_decode(exact, head, len - head - 1, WIRE_UDP_PORT, false, &p), WIRE_ERR_SHORT);
	assert_int_equal(plain_decode(exact, head - 1, len - head + 1, WIRE_UDP_PORT, false, &p), WIRE_ERR_SHORT);
	assert_int_equal(plain_decode(exact, head, len - head, WIRE_UDP_PORT, true, &p), WIRE_ERR_CRC);
	free(exact);
}

static void wire_check__crc_required_but_missing(void **state)
{
	uint8_t buf[PACKET_MAX], *trailer;
	size_t len = wrap_uet(true, ack, sizeof ack, buf);

	assert_int_equal(decode(buf, len, true), WIRE_ERR_CRC);
	set_ip_length(buf, 23);
	assert_int_equal(decode(buf, 23, true), WIRE_ERR_SHORT);
	/* A right trailer, but it leaves too little for the headers. */
	len = wrap_uet(true, ack, sizeof ack, buf);
	trailer = buf + len - 4;
	uint32_t crc = htole32(wire_crc(buf, len - 4, NULL, 0));
	memcpy(trailer, &crc, sizeof crc);
	assert_int_equal(decode(buf, len, true), WIRE_ERR_SHORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_check__cut_at_every_length),
		cmocka_unit_test(wire_check__shortened_at_every_length),
		cmocka_unit_test(wire_check__trimmed_within_ses),
		cmocka_unit_test(wire_check__every_flipped_bit_is_noticed),
		cmocka_unit_test(wire_check__noise),
		cmocka_unit_test(wire_check__bad_ip),
		cmocka_unit_test(wire_check__bad_version_or_checksum),
		cmocka_unit_test(wire_check__mapped_address_in_ipv6),
		cmocka_unit_test(wire_check__bad_udp),
		cmocka_unit_test(wire_check__bad_pds_or_ses),
		cmocka_unit_test(wire_check__unknown_ses_form),
		cmocka_unit_test(wire_check__padding_is_not_payload),
		cmocka_unit_test(wire_check__payload_elsewhere),
		cmocka_unit_test(wire_check__crc_required_but_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
