/* SPDX-License-Identifier: BSD-3-Clause */
/* What is built is what is read again, and a value that does not fit its field is a mistake of the caller. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "random_pkt.h"
#include "samples.h"
#include "wire_build.h"

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
	enum wire_error error = plain_decode(exact, at, 0, WIRE_UDP_PORT, p->net.crc, &q);
	free(exact);
	if (error == WIRE_ERR_CRC && !p->net.crc) /* four bytes that can be nothing but a trailer */
		return;
	assert_int_equal(error, WIRE_OK);
	assert_memory_equal(p, &q, sizeof q);
}

static void wire_build__round_trip_of_every_type_and_form(void **state)
{
	struct rng r = {11};
	struct plain_pkt p;

	for (int round = 0; round < 50; round++) {
		for (unsigned type = WIRE_PDS_RUD_REQ; type <= WIRE_PDS_ROD_CC_REQ; type++) {
			for (unsigned form = WIRE_NH_NONE; form <= WIRE_NH_RSP_DATA_SMALL; form++) {
				random_pkt(&r, (uint8_t)type, (uint8_t)form, 0, &p);
				check_round_trip(&p, &r);
			}
		}
	}
}

static void wire_build__round_trip_of_every_extension(void **state)
{
	struct rng r = {12};
	struct plain_pkt p;

	for (int round = 0; round < 200; round++) {
		for (unsigned form = WIRE_NH_SMALL; form <= WIRE_NH_STD; form++) {
			for (unsigned ext = 1; ext <= (form == WIRE_NH_STD ? 3 : 2); ext++) {
				random_pkt(&r, WIRE_PDS_RUD_REQ, (uint8_t)form, ext, &p);
				check_round_trip(&p, &r);
			}
		}
	}
}

static void wire_build__largest_header_fits(void **state)
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

static void wire_build__outer_headers(void **state)
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

static uint8_t room[WEFT_PKT_HEAD_MAX];

/* Whether a child that calls `set` lives; if not an assertion has ended it. */
static bool lives(void (*set)(uint64_t value), uint64_t value)
{
	int status;
	pid_t child = fork();

	if (!child) {
		fclose(stderr);
		set(value);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 0;
	assert_int_equal(WTERMSIG(status), SIGABRT);
	return false;
}

#define SETTER(hdr, field)                                                                                             \
	static void set_##hdr##_##field(uint64_t value)                                                                \
	{                                                                                                              \
		wire_##hdr##_set_##field((struct wire_##hdr *)room, value);                                            \
	}
#define SETTER_TEST(hdr, field) {#hdr "." #field, set_##hdr##_##field, WIRE_BITS_##hdr##_##field},

/* Fields narrower than the type that holds them. */
#define NARROW(F)                                                                                                      \
	F(hdr, flags)                                                                                                  \
	F(hdr, psn_offset)                                                                                             \
	F(hdr, use_rsv_pdc)                                                                                            \
	F(hdr, ctl)                                                                                                    \
	F(request_cc, credit_target)                                                                                   \
	F(ack_cc, cc_type)                                                                                             \
	F(ack_cc, cc_flags)                                                                                            \
	F(ack_cc, rc)                                                                                                  \
	F(ack_cc, rcv_cwnd_pend)                                                                                       \
	F(ack_cc, rcvd_bytes)                                                                                          \
	F(ack_cc, credit)                                                                                              \
	F(req, opcode)                                                                                                 \
	F(req, version)                                                                                                \
	F(req, flags)                                                                                                  \
	F(req, job_id)                                                                                                 \
	F(req, pid_on_fep)                                                                                             \
	F(req, resource_index)                                                                                         \
	F(std, payload_length)                                                                                         \
	F(rndv, pid_on_fep)                                                                                            \
	F(rndv, resource_index)                                                                                        \
	F(small, length)                                                                                               \
	F(medium, length)                                                                                              \
	F(rsp, list)                                                                                                   \
	F(rsp, return_code)                                                                                            \
	F(rsp, opcode)                                                                                                 \
	F(rsp, payload_length)                                                                                         \
	F(rsp_data, payload_length)

NARROW(SETTER)

/* The largest value of each is taken, one more is not. */
static void wire_build__too_wide_values_are_caught(void **state)
{
	static const struct {
		const char *name;
		void (*set)(uint64_t value);
		unsigned bits;
	} fields[] = {NARROW(SETTER_TEST)};

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		print_message("%s\n", fields[i].name);
		assert_true(lives(fields[i].set, (UINT64_C(1) << fields[i].bits) - 1));
		assert_false(lives(fields[i].set, UINT64_C(1) << fields[i].bits));
	}
}

/* The longest packets that length fields can tell of; the trailer is in it. */
static void wire_build__longest_packets(void **state)
{
	struct wire_net net = {.src = weft_ip_v4(1), .dst = weft_ip_v4(2), .dst_port = WIRE_UDP_PORT, .crc = 1};

	wire_build_net(room, &net, UINT16_MAX - 20 - 8 - 4);
	assert_int_equal(room[2] << 8 | room[3], UINT16_MAX);
	assert_int_equal(room[24] << 8 | room[25], UINT16_MAX - 20);
	net.src.b[0] = net.dst.b[0] = 0x20;
	wire_build_net(room, &net, UINT16_MAX - 8 - 4);
	assert_int_equal(room[4] << 8 | room[5], UINT16_MAX);
	assert_int_equal(room[44] << 8 | room[45], UINT16_MAX);
}

static void build_type(uint64_t type)
{
	wire_build_pds(room, (uint8_t)type, WIRE_NH_NONE, 0);
}

static void build_form(uint64_t form)
{
	wire_build_ses(room, (uint8_t)form, 0, 0);
}

static void wire_build__unknown_types_and_forms_are_caught(void **state)
{
	for (unsigned type = 0; type < 32; type++)
		assert_int_equal(lives(build_type, type), wire_pds_bytes((uint8_t)type) != 0);
	for (unsigned form = WIRE_NH_SMALL; form < 16; form++)
		assert_int_equal(lives(build_form, form), form <= WIRE_NH_RSP_DATA_SMALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_build__round_trip_of_every_type_and_form),
		cmocka_unit_test(wire_build__round_trip_of_every_extension),
		cmocka_unit_test(wire_build__largest_header_fits),
		cmocka_unit_test(wire_build__outer_headers),
		cmocka_unit_test(wire_build__longest_packets),
		cmocka_unit_test(wire_build__too_wide_values_are_caught),
		cmocka_unit_test(wire_build__unknown_types_and_forms_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
