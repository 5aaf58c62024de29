/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "random_pkt.h"
#include "samples.h"

/* Encodes, appends payload and trailer, decodes from an exactly sized copy: the same packet must come out. */
static void check_round_trip(struct plain_pkt *p, struct rng *r)
{
	uint8_t buf[PACKET_MAX];
	struct plain_pkt q;

	memset(&q, 0, sizeof q);
	size_t at = plain_encode(p, buf);
	assert_in_range(at, 24, WEFT_PKT_HEAD_MAX);
	p->header_bytes = (uint16_t)at;
	for (unsigned i = 0; i < p->payload_bytes; i++)
		buf[at++] = (uint8_t)rng_next(r);
	if (p->net.crc) {
		uint32_t crc = htole32(wire_crc(buf, p->header_bytes, buf + p->header_bytes, p->payload_bytes));
		memcpy(buf + at, &crc, sizeof crc);
		at += sizeof crc;
	}
	uint8_t *exact = exact_copy(buf, at);
	assert_int_equal(plain_decode(exact, at, 0, WIRE_UDP_PORT, p->net.crc, &q), WIRE_OK);
	free(exact);
	assert_memory_equal(p, &q, sizeof q);
}

static void wire_encode__round_trip_of_every_type_and_form(void **state)
{
	struct rng r = {11};
	struct plain_pkt p;

	for (int round = 0; round < 50; round++) {
		for (uint8_t type = WIRE_PDS_RUD_REQ; type <= WIRE_PDS_ROD_CC_REQ; type++) {
			for (uint8_t form = WIRE_NH_NONE; form <= WIRE_NH_RSP_DATA_SMALL; form++) {
				random_pkt(&r, type, form, 0, &p);
				check_round_trip(&p, &r);
			}
		}
	}
}

static void wire_encode__round_trip_of_every_extension(void **state)
{
	struct rng r = {12};
	struct plain_pkt p;

	for (int round = 0; round < 200; round++) {
		for (uint8_t form = WIRE_NH_SMALL; form <= WIRE_NH_STD; form++) {
			for (unsigned ext = 1; ext <= (form == WIRE_NH_STD ? 3 : 2); ext++) {
				random_pkt(&r, WIRE_PDS_RUD_REQ, form, ext, &p);
				check_round_trip(&p, &r);
			}
		}
	}
}

static void wire_encode__largest_header_fits(void **state)
{
	struct rng r = {13};
	struct plain_pkt p;
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	random_pkt(&r, WIRE_PDS_ACK_CCX, WIRE_NH_STD, 2, &p);
	p.net.src.b[0] = p.net.dst.b[0] = 0xfd;
	p.net.native = 0;
	uint8_t *exact = exact_copy(buf, sizeof buf);
	assert_int_equal(plain_encode(&p, exact), 40 + 8 + 40 + 44 + 36);
	free(exact);
}

static void wire_encode__outer_headers(void **state)
{
	struct plain_pkt p = {
		.net = {.src = weft_ip_v4(0x0a010203),
			.dst = weft_ip_v4(0x0a0a0b0c),
			.entropy = 0xabcd,
			.dst_port = 99,
			.dscp = 46,
			.ecn = WEFT_ECN_ECT0,
			.crc = 1},
		.pds = {.type = WIRE_PDS_UUD_REQ},
		.payload_bytes = 1000,
	};
	static const uint8_t ip4[] = {0x45, 0xba, 0x04, 0x0c, 0, 0, 0x40, 0, 64, 17};
	static const uint8_t udp[] = {0xab, 0xcd, 0, 99, 0x03, 0xf8, 0, 0};
	static const uint8_t ip6[] = {0x6b, 0xa0, 0, 0, 0x03, 0xf8, 17, 64, 0x20};
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	assert_int_equal(plain_encode(&p, buf), 20 + 8 + 4);
	assert_memory_equal(buf, ip4, sizeof ip4);
	assert_int_equal(buf[10] << 8 | buf[11], ip4_checksum(buf));
	assert_memory_equal(buf + 12, ((uint8_t[]){10, 1, 2, 3, 10, 10, 11, 12}), 8);
	assert_memory_equal(buf + 20, udp, sizeof udp);
	p.net.src.b[0] = p.net.dst.b[0] = 0x20;
	assert_int_equal(plain_encode(&p, buf), 40 + 8 + 4);
	assert_memory_equal(buf, ip6, sizeof ip6);
	assert_memory_equal(buf + 40, udp, sizeof udp);
	p.net.native = 1;
	assert_int_equal(plain_encode(&p, buf), 40 + 4 + 4);
	assert_int_equal(buf[6], 253);
	assert_memory_equal(buf + 40, ((uint8_t[]){0xab, 0xcd, 0, 0}), 4);
}

/* Sets one field to its largest value, which must be encoded, and to one more, which must not. */
#define CHECK_WIDTH(base, field, bits)                                                                                 \
	do {                                                                                                           \
		struct plain_pkt q = base;                                                                             \
		q.field = (UINT64_C(1) << (bits)) - 1;                                                                 \
		assert_int_not_equal(plain_encode(&q, buf), 0);                                                        \
		q.field = UINT64_C(1) << (bits);                                                                       \
		assert_int_equal(plain_encode(&q, buf), 0);                                                            \
	} while (0)

static struct plain_pkt plain(uint8_t type, uint8_t next_hdr)
{
	return (struct plain_pkt){
		.net = {.src = weft_ip_v4(1), .dst = weft_ip_v4(2), .dst_port = WIRE_UDP_PORT},
		.pds = {.type = type, .next_hdr = next_hdr},
	};
}

static void wire_encode__rejects_too_wide_net_fields(void **state)
{
	struct plain_pkt p = plain(WIRE_PDS_RUD_REQ, WIRE_NH_NONE);
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	CHECK_WIDTH(p, net.dscp, 6);
	CHECK_WIDTH(p, net.ecn, 2);
	p.payload_bytes = UINT16_MAX - 20 - 8 - 12;
	assert_int_not_equal(plain_encode(&p, buf), 0);
	p.payload_bytes++;
	assert_int_equal(plain_encode(&p, buf), 0);
	p.net.src.b[0] = p.net.dst.b[0] = 0x20;
	p.payload_bytes = UINT16_MAX - 8 - 12;
	assert_int_not_equal(plain_encode(&p, buf), 0);
	p.net.crc = 1;
	assert_int_equal(plain_encode(&p, buf), 0);
}

static void wire_encode__rejects_mixed_families(void **state)
{
	struct plain_pkt p = plain(WIRE_PDS_RUD_REQ, WIRE_NH_NONE);
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	p.net.dst.b[0] = 0x20;
	assert_int_equal(plain_encode(&p, buf), 0);
	p.net.dst = weft_ip_v4(2);
	p.net.src.b[0] = 0x20;
	assert_int_equal(plain_encode(&p, buf), 0);
}

static void wire_encode__rejects_too_wide_pds_fields(void **state)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct plain_pkt p = plain(WIRE_PDS_RUD_CC_REQ, WIRE_NH_NONE);

	CHECK_WIDTH(p, pds.flags, 7);
	CHECK_WIDTH(p, pds.credit, 24);
	p.pds.flags = WIRE_F_SYN;
	CHECK_WIDTH(p, pds.psn_offset, 12);
	CHECK_WIDTH(p, pds.use_rsv_pdc, 1);
	p = plain(WIRE_PDS_CP, WIRE_NH_NONE);
	CHECK_WIDTH(p, pds.ctl, 4);
	p = plain(WIRE_PDS_ACK_CC, WIRE_NH_NONE);
	CHECK_WIDTH(p, pds.cc_type, 4);
	CHECK_WIDTH(p, pds.cc_flags, 4);
	CHECK_WIDTH(p, pds.rc, 1);
	CHECK_WIDTH(p, pds.rcv_cwnd_pend, 7);
	CHECK_WIDTH(p, pds.rcvd_bytes, 24);
	p.pds.cc_type = WIRE_CC_CREDIT;
	CHECK_WIDTH(p, pds.credit, 24);
}

static void wire_encode__rejects_too_wide_ses_fields(void **state)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct plain_pkt p = plain(WIRE_PDS_RUD_REQ, WIRE_NH_STD);

	CHECK_WIDTH(p, ses.opcode, 6);
	CHECK_WIDTH(p, ses.version, 2);
	CHECK_WIDTH(p, ses.flags, 6);
	CHECK_WIDTH(p, ses.job_id, 24);
	CHECK_WIDTH(p, ses.pid_on_fep, 12);
	CHECK_WIDTH(p, ses.resource_index, 12);
	CHECK_WIDTH(p, ses.payload_length, 14);
	p.ses.opcode = WIRE_OP_RENDEZVOUS_SEND;
	CHECK_WIDTH(p, ses.rndv_pid_on_fep, 12);
	CHECK_WIDTH(p, ses.rndv_resource_index, 12);
	for (uint8_t form = WIRE_NH_SMALL; form <= WIRE_NH_MEDIUM; form++) {
		p = plain(WIRE_PDS_RUD_REQ, form);
		CHECK_WIDTH(p, ses.request_length, 14);
	}
	p = plain(WIRE_PDS_ACK, WIRE_NH_RSP);
	CHECK_WIDTH(p, ses.list, 2);
	CHECK_WIDTH(p, ses.return_code, 6);
	CHECK_WIDTH(p, ses.opcode, 6);
	for (uint8_t form = WIRE_NH_RSP_DATA; form <= WIRE_NH_RSP_DATA_SMALL; form++) {
		p = plain(WIRE_PDS_ACK, form);
		CHECK_WIDTH(p, ses.payload_length, 14);
	}
}

/* header_data takes the place of payload_length in a first packet: its stale value must not matter. */
static void wire_encode__ignores_fields_the_form_does_not_carry(void **state)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct plain_pkt p = plain(WIRE_PDS_RUD_REQ, WIRE_NH_STD);

	p.ses.flags = WIRE_SES_SOM;
	p.ses.payload_length = UINT32_MAX;
	assert_int_not_equal(plain_encode(&p, buf), 0);
	p = plain(WIRE_PDS_ACK, WIRE_NH_NONE);
	memset(&p.ses, 0xff, sizeof p.ses);
	assert_int_not_equal(plain_encode(&p, buf), 0);
}

static void wire_encode__rejects_unknown_types_and_forms(void **state)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	for (unsigned type = 0; type <= UINT8_MAX; type++) {
		struct plain_pkt p = plain((uint8_t)type, WIRE_NH_NONE);
		bool known = type >= WIRE_PDS_RUD_REQ && type <= WIRE_PDS_ROD_CC_REQ;
		assert_int_equal(plain_encode(&p, buf) != 0, known);
	}
	for (unsigned form = 0; form <= UINT8_MAX; form++) {
		struct plain_pkt p = plain(WIRE_PDS_RUD_REQ, (uint8_t)form);
		assert_int_equal(plain_encode(&p, buf) != 0, form <= WIRE_NH_RSP_DATA_SMALL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_encode__round_trip_of_every_type_and_form),
		cmocka_unit_test(wire_encode__round_trip_of_every_extension),
		cmocka_unit_test(wire_encode__largest_header_fits),
		cmocka_unit_test(wire_encode__outer_headers),
		cmocka_unit_test(wire_encode__rejects_too_wide_net_fields),
		cmocka_unit_test(wire_encode__rejects_mixed_families),
		cmocka_unit_test(wire_encode__rejects_too_wide_pds_fields),
		cmocka_unit_test(wire_encode__rejects_too_wide_ses_fields),
		cmocka_unit_test(wire_encode__ignores_fields_the_form_does_not_carry),
		cmocka_unit_test(wire_encode__rejects_unknown_types_and_forms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
