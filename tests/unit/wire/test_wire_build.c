/* SPDX-License-Identifier: BSD-3-Clause */
/* Patched copies are what building gives. */
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "random_pkt.h"
#include "samples.h"
#include "wire_build.h"

/* A packet of the kind that is patched, with room for nothing unusual. */
static void random_middle(struct rng *r, struct plain_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_RUD_REQ, WIRE_NH_STD, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_SYN ||
	       p->ses.flags & WIRE_SES_SOM);
}

/* The answer to a read that is patched, likewise. */
static void random_answer(struct rng *r, struct plain_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_SYN);
}

/* Encoding what `draw` draws and patching it gives the bytes that encoding the changed packet gives. */
static void check_patch(struct rng r, void (*draw)(struct rng *, struct plain_pkt *),
			void (*patch)(uint8_t *, const struct wire_data_patch *))
{
	uint8_t patched[WEFT_PKT_HEAD_MAX], encoded[WEFT_PKT_HEAD_MAX];

	for (int round = 0; round < 200; round++) {
		struct plain_pkt from, to;
		draw(&r, &from);
		to = from;
		to.net.entropy = (uint16_t)rng_next(&r);
		to.pds.flags = (uint8_t)rng_next(&r) & (WIRE_F_RETX | WIRE_F_AR);
		to.pds.psn = (uint32_t)rng_next(&r);
		to.pds.offset = (int16_t)rng_next(&r);
		to.ses.message_offset = (uint32_t)rng_next(&r);
		size_t bytes = plain_encode(&from, patched);
		assert_int_equal(plain_encode(&to, encoded), bytes);
		patch(patched, &(struct wire_data_patch){to.pds.flags, to.pds.offset, to.pds.psn, to.net.entropy,
							 to.ses.message_offset});
		assert_memory_equal(patched, encoded, bytes);
	}
}

static void wire_patch_data__same_as_encoding(void **state)
{
	check_patch((struct rng){13}, random_middle, wire_patch_data);
}

static void wire_patch_read_data__same_as_encoding(void **state)
{
	check_patch((struct rng){15}, random_answer, wire_patch_read_data);
}

static void random_ack(struct rng *r, struct plain_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_ACK_CC, WIRE_NH_RSP, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_ACK_P ||
	       p->pds.cc_type != WIRE_CC_NSCC);
	p->pds.cc_flags = p->pds.cc_flags & 1 ? WIRE_SHARE_FLAG_ROOM : 0;
}

static void wire_fill_ack__same_as_encoding(void **state)
{
	struct rng r = {14};
	uint8_t template[WEFT_PKT_HEAD_MAX], filled[WIRE_ACK_BYTES], encoded[WEFT_PKT_HEAD_MAX];

	for (int round = 0; round < 2000; round++) {
		struct plain_pkt from, to;
		random_ack(&r, &to);
		from = to;
		from.net.dst = weft_ip_v4(0);
		from.net.entropy = 0;
		from.pds = (struct plain_pds){.type = WIRE_PDS_ACK_CC, .next_hdr = WIRE_NH_RSP, .mpr = to.pds.mpr};
		from.ses.message_id = 0;
		from.ses.ri_generation = 0;
		from.ses.job_id = 0;
		from.ses.modified_length = 0;
		struct wire_std asked;
		memset(&asked, 0xff, sizeof asked); /* the rest is not repeated */
		wire_std_set_message_id(&asked, to.ses.message_id);
		wire_req_set_ri_generation(&asked.req, to.ses.ri_generation);
		wire_req_set_job_id(&asked.req, to.ses.job_id);
		wire_std_set_request_length(&asked, to.ses.modified_length);
		const struct wire_ack_patch patch = {to.net.entropy,
						     to.pds.flags,
						     to.pds.offset,
						     to.pds.psn,
						     to.pds.spdcid,
						     to.pds.dpdcid,
						     to.pds.sack_offset,
						     to.pds.sack_bitmap,
						     to.pds.service_time,
						     to.pds.rcvd_bytes,
						     (uint8_t)(to.pds.rc << 7 | to.pds.rcv_cwnd_pend),
						     to.pds.cc_flags == WIRE_SHARE_FLAG_ROOM,
						     to.pds.ooo_count,
						     wire_echo_of(&asked)};
		size_t bytes = plain_encode(&from, template);
		assert_int_equal(bytes, WIRE_ACK_BYTES);
		assert_int_equal(plain_encode(&to, encoded), bytes);
		assert_int_equal(wire_ack_is_to(template, &to.net.dst), 0);
		wire_aim_ack(template, &to.net.dst);
		assert_true(wire_ack_is_to(template, &to.net.dst));
		wire_fill_ack(filled, template, &patch);
		assert_memory_equal(filled, encoded, bytes);
	}
}

static void wire_fill_short_ack__same_as_encoding(void **state)
{
	struct rng r = {15};
	uint8_t template[WEFT_PKT_HEAD_MAX], filled[WIRE_SHORT_ACK_BYTES], encoded[WEFT_PKT_HEAD_MAX];

	for (int round = 0; round < 2000; round++) {
		struct plain_pkt from, to;
		do
			random_pkt(&r, WIRE_PDS_ACK, WIRE_NH_NONE, 0, &to);
		while (!weft_ip_is_v4(&to.net.src) || to.net.native || to.pds.flags & WIRE_F_ACK_P);
		from = to;
		from.net.dst = weft_ip_v4(0);
		from.net.entropy = 0;
		from.pds = (struct plain_pds){.type = WIRE_PDS_ACK, .next_hdr = WIRE_NH_NONE};
		const struct wire_short_ack_patch patch = {to.net.entropy, to.pds.flags,  to.pds.offset,
							   to.pds.psn,     to.pds.spdcid, to.pds.dpdcid};
		assert_int_equal(plain_encode(&from, template), WIRE_SHORT_ACK_BYTES);
		assert_int_equal(plain_encode(&to, encoded), WIRE_SHORT_ACK_BYTES);
		wire_aim_ack(template, &to.net.dst);
		wire_fill_short_ack(filled, template, &patch);
		assert_memory_equal(filled, encoded, WIRE_SHORT_ACK_BYTES);
	}
}

/* Every code is a share of its own, and the share of every code has it; what is between two has the lower one. */
static void wire_share__codes(void **state)
{
	uint64_t last_bps = 0;
	for (unsigned code = 1; code <= WIRE_SHARE_MAX; code++) {
		uint64_t bps = wire_share_bps((uint8_t)code);
		assert_true(bps > last_bps);
		assert_int_equal(wire_share_code(bps + 1), code);
		assert_int_equal(wire_share_code(bps - 1), code > 1 ? code - 1 : 1);
		assert_true(code == 1 || bps - last_bps <= bps / 16);
		last_bps = bps;
	}
	assert_int_equal(wire_share_bps(WIRE_SHARE_NONE), 0);
	assert_int_equal(wire_share_code(0), 1);
	assert_int_equal(wire_share_code(UINT64_C(100000000000000)), WIRE_SHARE_MAX);
	for (uint64_t gbps = 25; gbps <= 800; gbps *= 2)
		assert_int_equal(wire_share_bps(wire_share_code(gbps * 1000000000 / 8)), gbps * 1000000000 / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_patch_data__same_as_encoding),
		cmocka_unit_test(wire_patch_read_data__same_as_encoding),
		cmocka_unit_test(wire_fill_ack__same_as_encoding),
		cmocka_unit_test(wire_fill_short_ack__same_as_encoding),
		cmocka_unit_test(wire_share__codes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
