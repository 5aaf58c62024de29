/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoders and templates of the data path say the same as the general ones. */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "random_pkt.h"
#include "samples.h"
#include "wire_hot.h"

enum { ROUNDS = 20000 };

static void check_data(const struct wire_pkt *a, const struct wire_pkt *b)
{
	assert_int_equal(a->net.dscp, b->net.dscp);
	assert_int_equal(a->net.ecn, b->net.ecn);
	if (a->pds.flags & WIRE_F_SYN) {
		assert_int_equal(a->pds.psn_offset, b->pds.psn_offset);
		assert_int_equal(a->pds.use_rsv_pdc, b->pds.use_rsv_pdc);
	}
	assert_int_equal(a->ses.job_id, b->ses.job_id);
	assert_int_equal(a->ses.message_id, b->ses.message_id);
	assert_int_equal(a->ses.flags, b->ses.flags);
	assert_int_equal(a->ses.opcode, b->ses.opcode);
	assert_int_equal(a->ses.ri_generation, b->ses.ri_generation);
	assert_int_equal(a->ses.resource_index, b->ses.resource_index);
	assert_int_equal(a->ses.pid_on_fep, b->ses.pid_on_fep);
	assert_int_equal(a->ses.buffer_offset, b->ses.buffer_offset);
	assert_int_equal(a->ses.initiator, b->ses.initiator);
	assert_int_equal(a->ses.match, b->ses.match);
	assert_int_equal(a->ses.request_length, b->ses.request_length);
	assert_int_equal(a->ses.message_offset, b->ses.message_offset);
	assert_int_equal(a->ses.payload_length, b->ses.payload_length);
	if (a->ses.flags & WIRE_SES_SOM)
		assert_int_equal(a->ses.header_data, b->ses.header_data);
}

static void check_answer(const struct wire_pkt *a, const struct wire_pkt *b)
{
	assert_int_equal(a->net.dscp, b->net.dscp);
	assert_int_equal(a->net.ecn, b->net.ecn);
	if (a->pds.flags & WIRE_F_SYN) {
		assert_int_equal(a->pds.psn_offset, b->pds.psn_offset);
		assert_int_equal(a->pds.use_rsv_pdc, b->pds.use_rsv_pdc);
	}
	assert_int_equal(a->ses.job_id, b->ses.job_id);
	assert_int_equal(a->ses.message_id, b->ses.message_id);
	assert_int_equal(a->ses.opcode, b->ses.opcode);
	assert_int_equal(a->ses.return_code, b->ses.return_code);
	assert_int_equal(a->ses.read_message_id, b->ses.read_message_id);
	assert_int_equal(a->ses.payload_length, b->ses.payload_length);
	assert_int_equal(a->ses.message_offset, b->ses.message_offset);
}

static void check_ack(const struct wire_pkt *a, const struct wire_pkt *b)
{
	assert_int_equal(a->pds.cc_type, b->pds.cc_type);
	assert_int_equal(a->pds.sack_offset, b->pds.sack_offset);
	assert_int_equal(a->pds.mpr, b->pds.mpr);
	assert_int_equal(a->pds.cc_flags, b->pds.cc_flags);
	assert_int_equal(a->pds.sack_bitmap, b->pds.sack_bitmap);
	assert_int_equal(a->pds.service_time, b->pds.service_time);
	assert_int_equal(a->ses.opcode, b->ses.opcode);
	assert_int_equal(a->ses.return_code, b->ses.return_code);
}

/* What every fast decoder reads. */
static void check_basics(const struct wire_pkt *a, const struct wire_pkt *b)
{
	assert_true(weft_ip_eq(&a->net.src, &b->net.src));
	assert_int_equal(a->net.entropy, b->net.entropy);
	assert_int_equal(a->pds.flags, b->pds.flags);
	assert_int_equal(a->pds.psn, b->pds.psn);
	assert_int_equal(a->pds.dpdcid, b->pds.dpdcid);
	assert_int_equal(a->pds.spdcid, b->pds.spdcid);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
	assert_int_equal(a->has_ses, b->has_ses);
}

static void check_common(const struct wire_pkt *a, const struct wire_pkt *b)
{
	check_basics(a, b);
	assert_int_equal(a->pds.type, b->pds.type);
	assert_int_equal(a->pds.next_hdr, b->pds.next_hdr);
	assert_int_equal(a->pds.offset, b->pds.offset);
	assert_int_equal(a->header_bytes, b->header_bytes);
	assert_int_equal(a->trimmed, b->trimmed);
}

/* What the fast decoder has to make of a packet which the general one reads as `p`. */
static enum wire_hot expected(const struct wire_pkt *p, const struct weft_ip *dst)
{
	if (!weft_ip_is_v4(&p->net.src) || p->net.native || p->trimmed || !weft_ip_eq(&p->net.dst, dst))
		return WIRE_HOT_NONE;
	if (p->pds.type == WIRE_PDS_RUD_REQ && p->pds.next_hdr == WIRE_NH_STD && p->header_bytes == HOT_DATA_BYTES)
		return WIRE_HOT_DATA;
	if (p->pds.type == WIRE_PDS_RUD_REQ && p->pds.next_hdr == WIRE_NH_RSP_DATA)
		return WIRE_HOT_DATA;
	bool plain = p->pds.cc_type == WIRE_CC_NSCC && !(p->pds.flags & WIRE_F_ACK_P);
	return p->pds.type == WIRE_PDS_ACK_CC && p->pds.next_hdr == WIRE_NH_RSP && plain ? WIRE_HOT_ACK : WIRE_HOT_NONE;
}

static void check_middle(const struct wire_pkt *a, const struct wire_pkt *b)
{
	check_basics(a, b);
	assert_int_equal(a->net.ecn, b->net.ecn);
	assert_int_equal(a->ses.message_id, b->ses.message_id);
	assert_int_equal(a->ses.opcode, b->ses.opcode);
	assert_int_equal(a->ses.request_length, b->ses.request_length);
	assert_int_equal(a->ses.message_offset, b->ses.message_offset);
	assert_int_equal(a->ses.payload_length, b->ses.payload_length);
}

/* The decoders of one kind, after a glance, take what that of all does, and read it the same. */
static void check_single(const uint8_t *buf, size_t len, size_t more, const struct weft_ip *dst,
			 struct wire_seen seen[2], enum wire_hot kind, const struct wire_pkt *general)
{
	struct wire_pkt p;
	enum wire_hot glance = wire_glance_hot(buf, len);
	bool middle = kind == WIRE_HOT_DATA && general->pds.next_hdr == WIRE_NH_STD &&
		      !(general->pds.flags & WIRE_F_SYN) && !(general->ses.flags & WIRE_SES_SOM);
	bool is_ack = glance == WIRE_HOT_ACK && wire_decode_hot_ack(buf, len, more, WIRE_UDP_PORT, dst, &seen[1], &p);

	assert_int_equal(is_ack, kind == WIRE_HOT_ACK);
	if (is_ack) {
		check_common(&p, general);
		check_ack(&p, general);
	}
	bool is_middle =
		glance == WIRE_HOT_DATA && wire_decode_hot_middle(buf, len, more, WIRE_UDP_PORT, dst, &seen[0], &p);
	assert_true(is_middle >= middle);
	if (middle)
		check_middle(&p, general);
	else if (is_middle)
		assert_int_not_equal(ses_ext(WIRE_NH_STD, p.ses.opcode), EXT_NONE);
}

/* Decodes both ways; the fast one finds stale fields, as in a packet on the stack. */
static enum wire_hot check_same(const uint8_t *buf, size_t len, size_t more, const struct weft_ip *dst,
				struct wire_seen seen[2])
{
	struct wire_pkt general, hot;
	uint8_t *exact = exact_copy(buf, len);

	memset(&hot, 0xa5, sizeof hot);
	enum wire_error error = wire_decode(exact, len, more, WIRE_UDP_PORT, false, &general);
	enum wire_hot kind = wire_decode_hot(exact, len, more, WIRE_UDP_PORT, dst, seen, &hot);
	assert_int_equal(kind, error == WIRE_OK ? expected(&general, dst) : WIRE_HOT_NONE);
	if (kind != WIRE_HOT_NONE)
		check_common(&hot, &general);
	if (kind == WIRE_HOT_DATA && hot.pds.next_hdr == WIRE_NH_STD)
		check_data(&hot, &general);
	else if (kind == WIRE_HOT_DATA)
		check_answer(&hot, &general);
	if (kind == WIRE_HOT_ACK)
		check_ack(&hot, &general);
	check_single(exact, len, more, dst, seen, kind, &general);
	free(exact);
	return kind;
}

static void fix_checksum(uint8_t *buf)
{
	buf[10] = buf[11] = 0;
	uint16_t sum = ip4_checksum(buf);
	buf[10] = (uint8_t)(sum >> 8);
	buf[11] = (uint8_t)sum;
}

/* A sound packet of one of the three kinds, or of any. */
static size_t random_bytes(struct rng *r, struct wire_pkt *p, uint8_t *buf)
{
	static const uint8_t kinds[][2] = {{WIRE_PDS_RUD_REQ, WIRE_NH_STD},      {WIRE_PDS_ACK_CC, WIRE_NH_RSP},
					   {WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA}, {WIRE_PDS_ROD_REQ, WIRE_NH_STD},
					   {WIRE_PDS_RUD_REQ, WIRE_NH_MEDIUM},   {WIRE_PDS_ACK_CC, WIRE_NH_NONE}};
	uint64_t dice = rng_next(r);
	unsigned kind = dice % 4 ? dice / 4 % 3 : dice / 4 % 6;

	random_pkt(r, kinds[kind][0], kinds[kind][1], dice >> 32 & 7 ? 0 : dice >> 40 & 3, p);
	p->net.crc = 0;
	return wire_encode(p, buf);
}

static void wire_decode_hot__random_packets(void **state)
{
	struct rng r = {17};
	unsigned found[3] = {0};

	for (int round = 0; round < ROUNDS; round++) {
		struct wire_pkt p;
		uint8_t buf[WEFT_PKT_HEAD_MAX + 16384] = {0};
		size_t head = random_bytes(&r, &p, buf), total = head + p.payload_bytes;
		size_t len = rng_next(&r) & 1 ? head : rng_next(&r) % (total + 1);
		struct weft_ip other = weft_ip_v4(0x0a000001);
		if (!head || total > sizeof buf)
			continue;
		struct wire_seen seen[2] = {{0}};
		found[check_same(buf, len, total - len, rng_next(&r) % 16 ? &p.net.dst : &other, seen)]++;
	}
	for (int kind = 0; kind < 3; kind++)
		assert_true(found[kind] > ROUNDS / 200);
}

/* One or two bytes or bits differ; mostly the checksum is right nevertheless. */
static void wire_decode_hot__mutated_packets(void **state)
{
	struct rng r = {18};
	unsigned found[3] = {0};

	for (int round = 0; round < 5 * ROUNDS; round++) {
		struct wire_pkt p;
		uint8_t buf[WEFT_PKT_HEAD_MAX] = {0};
		size_t head = random_bytes(&r, &p, buf);
		struct wire_seen seen[2] = {{0}};
		if (round % 4) /* what came before it was sound, and often has the same header */
			check_same(buf, head, p.payload_bytes, &p.net.dst, seen);
		for (int i = 0; head && i <= round % 2; i++) {
			uint64_t dice = rng_next(&r);
			uint8_t *byte = &buf[dice >> 8 & 1 ? (dice >> 16) % 32 : (dice >> 16) % head];
			*byte = (uint8_t)(dice >> 9 & 1 ? *byte ^ 1u << (dice & 7) : dice);
		}
		if (rng_next(&r) % 4)
			fix_checksum(buf);
		found[check_same(buf, head, p.payload_bytes, &p.net.dst, seen)]++;
		check_same(buf, head, p.payload_bytes, &p.net.dst, seen);
	}
	for (int kind = 0; kind < 3; kind++)
		assert_true(found[kind] > ROUNDS / 200);
}

/* A packet of the kind that is patched, with room for nothing unusual. */
static void random_middle(struct rng *r, struct wire_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_RUD_REQ, WIRE_NH_STD, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_SYN ||
	       p->ses.flags & WIRE_SES_SOM);
}

/* The answer to a read that is patched, likewise. */
static void random_answer(struct rng *r, struct wire_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_SYN);
}

/* Encoding what `draw` draws and patching it gives the bytes that encoding the changed packet gives. */
static void check_patch(struct rng r, void (*draw)(struct rng *, struct wire_pkt *),
			void (*patch)(uint8_t *, const struct wire_data_patch *))
{
	uint8_t patched[WEFT_PKT_HEAD_MAX], encoded[WEFT_PKT_HEAD_MAX];

	for (int round = 0; round < 200; round++) {
		struct wire_pkt from, to;
		draw(&r, &from);
		to = from;
		to.net.entropy = (uint16_t)rng_next(&r);
		to.pds.flags = (uint8_t)rng_next(&r) & (WIRE_F_RETX | WIRE_F_AR);
		to.pds.psn = (uint32_t)rng_next(&r);
		to.pds.offset = (int16_t)rng_next(&r);
		to.ses.message_offset = (uint32_t)rng_next(&r);
		size_t bytes = wire_encode(&from, patched);
		assert_int_equal(wire_encode(&to, encoded), bytes);
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

static void random_ack(struct rng *r, struct wire_pkt *p)
{
	do
		random_pkt(r, WIRE_PDS_ACK_CC, WIRE_NH_RSP, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native || p->pds.flags & WIRE_F_ACK_P ||
	       p->pds.cc_type != WIRE_CC_NSCC);
	p->pds.rc = p->pds.rcv_cwnd_pend = 0;
}

static void wire_fill_ack__same_as_encoding(void **state)
{
	struct rng r = {14};
	uint8_t template[WEFT_PKT_HEAD_MAX], filled[HOT_ACK_BYTES], encoded[WEFT_PKT_HEAD_MAX];

	for (int round = 0; round < 2000; round++) {
		struct wire_pkt from, to;
		random_ack(&r, &to);
		from = to;
		from.net.dst = weft_ip_v4(0);
		from.net.entropy = 0;
		from.pds = (struct wire_pds){.type = WIRE_PDS_ACK_CC,
					     .next_hdr = WIRE_NH_RSP,
					     .mpr = to.pds.mpr,
					     .cc_flags = to.pds.cc_flags};
		from.ses.message_id = 0;
		const struct wire_ack_patch patch = {to.net.entropy,     to.pds.flags,       to.pds.offset,
						     to.pds.psn,         to.pds.spdcid,      to.pds.dpdcid,
						     to.pds.sack_offset, to.pds.sack_bitmap, to.pds.service_time,
						     to.pds.rcvd_bytes,  to.pds.ooo_count,   to.ses.message_id};
		size_t bytes = wire_encode(&from, template);
		assert_int_equal(bytes, HOT_ACK_BYTES);
		assert_int_equal(wire_encode(&to, encoded), bytes);
		assert_int_equal(wire_ack_is_to(template, &to.net.dst), 0);
		wire_aim_ack(template, &to.net.dst);
		assert_true(wire_ack_is_to(template, &to.net.dst));
		wire_fill_ack(filled, template, &patch);
		assert_memory_equal(filled, encoded, bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_decode_hot__random_packets),
		cmocka_unit_test(wire_decode_hot__mutated_packets),
		cmocka_unit_test(wire_patch_data__same_as_encoding),
		cmocka_unit_test(wire_patch_read_data__same_as_encoding),
		cmocka_unit_test(wire_fill_ack__same_as_encoding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
