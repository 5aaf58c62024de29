/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoder, printer and switch calls on any bytes; what decodes must survive encoding.
 * Input: one byte of options, then the packet. */
#include <stdlib.h>
#include <string.h>

#include "wire_hot.h"

enum option {
	WITH_CRC = 1, /* a trailer is required */
	SPLIT = 2,    /* the last third of the packet lies elsewhere */
	REPAIR = 4    /* IP length and checksum are put right, so that changes get past them */
};

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static uint8_t *exact_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	CHECK(copy);
	memcpy(copy, data, len);
	return copy;
}

static void repair(uint8_t *ip, size_t len)
{
	uint32_t sum = 0;

	if (len >= 40 && ip[0] >> 4 == 6) {
		ip[4] = (uint8_t)((len - 40) >> 8);
		ip[5] = (uint8_t)(len - 40);
	}
	if (len < 20 || ip[0] >> 4 != 4)
		return;
	ip[2] = (uint8_t)(len >> 8);
	ip[3] = (uint8_t)len;
	for (int i = 0; i < 20; i += 2)
		sum += i == 10 ? 0 : (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Encoding gives headers of the same size that decode to the same fields. */
static void check_again(struct wire_pkt *p)
{
	uint8_t head[WEFT_PKT_HEAD_MAX];
	struct wire_pkt q;

	memset(&q, 0, sizeof q);
	p->net.crc = 0;
	size_t len = wire_encode(p, head);
	CHECK(len == p->header_bytes);
	uint8_t *copy = exact_copy(head, len);
	CHECK(wire_decode(copy, len, p->payload_bytes, p->net.dst_port, false, &q) == WIRE_OK);
	CHECK(memcmp(p, &q, sizeof q) == 0);
	free(copy);
}

static void check_decode(const uint8_t *data, size_t len, uint8_t options)
{
	size_t more = options & SPLIT ? len / 3 : 0;
	uint8_t *copy = exact_copy(data, len - more);
	struct wire_pkt p;
	char text[64];

	memset(&p, 0, sizeof p);
	if (wire_decode(copy, len - more, more, WIRE_UDP_PORT, options & WITH_CRC, &p) == WIRE_OK) {
		CHECK(p.header_bytes + p.payload_bytes <= len);
		CHECK(p.header_bytes <= len - more);
		CHECK(wire_print(&p, text, sizeof text) > 0);
		/* Without SES header there is nothing to encode where next_hdr says one follows. */
		if (p.has_ses || p.pds.next_hdr == WIRE_NH_NONE)
			check_again(&p);
	}
	free(copy);
}

/* The short decoder takes only what the general one does, and reads the same; also when the header is known already. */
static void check_hot(const uint8_t *data, size_t len, uint8_t options)
{
	size_t more = options & SPLIT ? len / 3 : 0;
	uint8_t *copy = exact_copy(data, len - more);
	struct wire_seen seen[2] = {{0}};
	struct wire_pkt p, hot;
	struct weft_ip dst = weft_ip_v4(0);

	if (len - more >= 20)
		memcpy(dst.b + 12, copy + 16, 4);
	enum wire_error error = wire_decode(copy, len - more, more, WIRE_UDP_PORT, false, &p);
	for (int i = 0; i < 2; i++) {
		enum wire_hot kind = wire_decode_hot(copy, len - more, more, WIRE_UDP_PORT, &dst, seen, &hot);
		if (kind == WIRE_HOT_NONE)
			break;
		CHECK(error == WIRE_OK && weft_ip_eq(&hot.net.src, &p.net.src) && !p.trimmed);
		CHECK(hot.header_bytes == p.header_bytes && hot.payload_bytes == p.payload_bytes);
		CHECK(hot.pds.type == p.pds.type && hot.pds.flags == p.pds.flags && hot.pds.psn == p.pds.psn);
		CHECK(hot.pds.dpdcid == p.pds.dpdcid && hot.pds.spdcid == p.pds.spdcid);
		CHECK(hot.pds.offset == p.pds.offset && hot.ses.opcode == p.ses.opcode);
		if (kind == WIRE_HOT_ACK)
			CHECK(hot.pds.sack_bitmap == p.pds.sack_bitmap);
		else
			CHECK(hot.ses.message_offset == p.ses.message_offset);
		if (hot.pds.next_hdr == WIRE_NH_STD)
			CHECK(hot.ses.match == p.ses.match);
		if (hot.pds.next_hdr == WIRE_NH_RSP_DATA)
			CHECK(hot.ses.return_code == p.ses.return_code &&
			      hot.ses.payload_length == p.ses.payload_length &&
			      hot.ses.read_message_id == p.ses.read_message_id);
	}
	free(copy);
}

static void check_same_ack(const struct wire_pkt *hot, const struct wire_pkt *p)
{
	CHECK(hot->pds.offset == p->pds.offset && hot->pds.sack_offset == p->pds.sack_offset);
	CHECK(hot->pds.cc_type == p->pds.cc_type && hot->pds.mpr == p->pds.mpr);
	CHECK(hot->pds.sack_bitmap == p->pds.sack_bitmap && hot->pds.service_time == p->pds.service_time);
	CHECK(hot->ses.return_code == p->ses.return_code);
}

static void check_same_data(const struct wire_pkt *hot, const struct wire_pkt *p)
{
	CHECK(hot->net.ecn == p->net.ecn && hot->ses.message_id == p->ses.message_id);
	CHECK(hot->ses.request_length == p->ses.request_length && hot->ses.payload_length == p->ses.payload_length);
	CHECK(hot->ses.message_offset == p->ses.message_offset);
}

/* What is taken after no more than a glance is sound, and reads the same, too. Extensions are the caller's to notice.
 */
static void check_glance(const uint8_t *data, size_t len, uint8_t options)
{
	size_t more = options & SPLIT ? len / 3 : 0, head = len - more;
	uint8_t *copy = exact_copy(data, head);
	struct wire_seen seen = {0};
	struct wire_pkt p, hot;
	struct weft_ip dst = weft_ip_v4(0);

	if (head >= 20)
		memcpy(dst.b + 12, copy + 16, 4);
	enum wire_hot kind = wire_glance_hot(copy, head);
	bool taken = kind == WIRE_HOT_ACK
			     ? wire_decode_hot_ack(copy, head, more, WIRE_UDP_PORT, &dst, &seen, &hot)
			     : kind == WIRE_HOT_DATA &&
				       wire_decode_hot_middle(copy, head, more, WIRE_UDP_PORT, &dst, &seen, &hot);
	if (taken && (kind == WIRE_HOT_ACK || ses_ext(WIRE_NH_STD, hot.ses.opcode) == EXT_NONE)) {
		CHECK(wire_decode(copy, head, more, WIRE_UDP_PORT, false, &p) == WIRE_OK);
		CHECK(weft_ip_eq(&hot.net.src, &p.net.src) && hot.net.entropy == p.net.entropy && !p.trimmed);
		CHECK(hot.payload_bytes == p.payload_bytes && hot.header_bytes == p.header_bytes);
		CHECK(hot.pds.flags == p.pds.flags && hot.pds.psn == p.pds.psn && hot.ses.opcode == p.ses.opcode);
		CHECK(hot.pds.dpdcid == p.pds.dpdcid && hot.pds.spdcid == p.pds.spdcid);
		(kind == WIRE_HOT_ACK ? check_same_ack : check_same_data)(&hot, &p);
	}
	free(copy);
}

static void check_switch(const uint8_t *data, size_t len, uint8_t options)
{
	size_t more = options & SPLIT ? len / 3 : 0;
	struct weft_pkt pkt = {.head = exact_copy(data, len - more),
			       .head_len = (uint16_t)(len - more),
			       .payload_len = (uint16_t)more},
			seen;

	wire_peek(&pkt);
	wire_mark_ce(&pkt);
	wire_trim(&pkt, options & WITH_CRC);
	CHECK(pkt.head_len <= len - more);
	seen = pkt;
	wire_peek(&seen);
	CHECK(seen.dscp == pkt.dscp && seen.ecn == pkt.ecn && seen.flags == pkt.flags);
	free(pkt.head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > UINT16_MAX)
		return 0;
	uint8_t options = data[0], *packet = exact_copy(data + 1, size - 1);
	if (options & REPAIR)
		repair(packet, size - 1);
	check_decode(packet, size - 1, options);
	check_hot(packet, size - 1, options);
	check_glance(packet, size - 1, options);
	check_switch(packet, size - 1, options);
	free(packet);
	return 0;
}
