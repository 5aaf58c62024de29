/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions per encoded, decoded and peeked packet, and of the timing wheel. */
#include <stdbool.h>

#include "perf_case.h"
#include "wheel.h"
#include "wire_check.h"
#include "wire_hot.h"

enum { PAYLOAD_BYTES = 4096 };

static const struct wire_pkt data = {
	.net = {.src.b = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		.dst.b = {[10] = 0xff, 0xff, 10, 0, 0, 2},
		.entropy = 7,
		.dst_port = WIRE_UDP_PORT,
		.dscp = WIRE_DSCP_TRIMMABLE,
		.ecn = WEFT_ECN_ECT0},
	.pds = {.type = WIRE_PDS_RUD_REQ, .next_hdr = WIRE_NH_STD, .offset = -3, .psn = 4711, .spdcid = 1, .dpdcid = 2},
	.ses = {.opcode = WIRE_OP_SEND,
		.flags = WIRE_SES_REL,
		.message_id = 1,
		.pid_on_fep = 5,
		.payload_length = PAYLOAD_BYTES,
		.message_offset = 8192,
		.request_length = 1 << 20},
	.payload_bytes = PAYLOAD_BYTES,
};
static const struct wire_pkt ack = {
	.net = {.src.b = {[10] = 0xff, 0xff, 10, 0, 0, 2},
		.dst.b = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		.entropy = 7,
		.dst_port = WIRE_UDP_PORT,
		.dscp = WIRE_DSCP_CONTROL},
	.pds = {.type = WIRE_PDS_ACK_CC,
		.next_hdr = WIRE_NH_RSP,
		.offset = 2,
		.psn = 4711,
		.spdcid = 2,
		.dpdcid = 1,
		.mpr = 8,
		.sack_bitmap = 5,
		.service_time = 3},
	.ses = {.opcode = WIRE_RSP_DEFAULT, .return_code = WIRE_RC_OK, .message_id = 1},
};

static __attribute__((noinline)) size_t measured_encode(const struct wire_pkt *p, uint8_t *buf)
{
	return wire_encode(p, buf);
}

static __attribute__((noinline)) enum wire_error measured_decode(const uint8_t *buf, size_t len, size_t more,
								 struct wire_pkt *p)
{
	return wire_decode(buf, len, more, WIRE_UDP_PORT, false, p);
}

static __attribute__((noinline)) enum wire_hot measured_hot(const uint8_t *buf, size_t len, size_t more,
							    const struct weft_ip *dst, struct wire_seen *seen,
							    struct wire_pkt *p)
{
	return wire_decode_hot(buf, len, more, WIRE_UDP_PORT, dst, seen, p);
}

/* The check, and all that a target reads of data packets. */
static __attribute__((noinline)) uint64_t measured_data(struct wire_rules *rules, const uint8_t *buf, uint32_t len,
							uint32_t more)
{
	struct wire_view v;

	if (wire_check(rules, buf, len, more, &v) != WIRE_OK || v.kind != WIRE_KIND_DATA)
		return 0;
	return wire_view_entropy(&v) + wire_view_ecn(&v) + (uint64_t)wire_hdr_flags(v.hdr) + wire_hdr_psn(v.hdr) +
	       (uint16_t)wire_hdr_clear_offset(v.hdr) + wire_hdr_spdcid(v.hdr) + wire_hdr_dpdcid(v.hdr) +
	       wire_req_opcode(v.req) + wire_std_message_id(v.std) + wire_std_request_length(v.std) +
	       wire_std_offset(v.std) + v.payload_bytes;
}

/* The check, and all that an initiator reads of ACKs. */
static __attribute__((noinline)) uint64_t measured_ack(struct wire_rules *rules, const uint8_t *buf, uint32_t len,
						       uint32_t more)
{
	struct wire_view v;

	if (wire_check(rules, buf, len, more, &v) != WIRE_OK || v.kind != WIRE_KIND_ACK)
		return 0;
	return wire_view_entropy(&v) + (uint64_t)wire_hdr_flags(v.hdr) + wire_hdr_cack(v.hdr) +
	       (uint16_t)wire_hdr_ack_offset(v.hdr) + wire_hdr_spdcid(v.hdr) + wire_hdr_dpdcid(v.hdr) +
	       wire_ack_cc_cc_type(v.ack_cc) + wire_ack_cc_mpr(v.ack_cc) + (uint16_t)wire_ack_cc_sack_offset(v.ack_cc) +
	       wire_ack_cc_sack_bitmap(v.ack_cc) + wire_ack_cc_service_time(v.ack_cc) + wire_rsp_opcode(v.rsp) +
	       wire_rsp_return_code(v.rsp);
}

static __attribute__((noinline)) bool measured_peek(struct weft_pkt *pkt)
{
	return wire_peek(pkt);
}

static __attribute__((noinline)) uint32_t measured_crc(const uint8_t *buf, const uint8_t *payload)
{
	return wire_crc(buf, 84, payload, PAYLOAD_BYTES);
}

static __attribute__((noinline)) weft_ns measured_idle(struct wheel *w, weft_ns now)
{
	return wheel_expire(w, now) ? 0 : wheel_next(w);
}

static __attribute__((noinline)) void measured_rearm(struct wheel *w, struct wheel_node *n, weft_ns at)
{
	wheel_set(w, n, at);
}

static int run_encode(const struct perf_case *c, uint64_t n)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	bool good = true;

	for (uint64_t i = 0; i < n; i++)
		good &= measured_encode(c->arg, buf) > 0;
	return good;
}

static int run_decode(const struct perf_case *c, uint64_t n)
{
	const struct wire_pkt *p = c->arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_pkt q;
	size_t len = wire_encode(p, buf);
	bool good = true;

	for (uint64_t i = 0; i < n; i++)
		good &= measured_decode(buf, len, p->payload_bytes, &q) == WIRE_OK && q.pds.psn == p->pds.psn;
	return good;
}

/* Always the same header, as from one connection. */
static int run_hot(const struct perf_case *c, uint64_t n)
{
	const struct wire_pkt *p = c->arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_seen seen[2] = {{0}};
	struct wire_pkt q;
	size_t len = wire_encode(p, buf);
	bool good = true;

	for (uint64_t i = 0; i < n; i++)
		good &= measured_hot(buf, len, p->payload_bytes, &p->net.dst, seen, &q) != WIRE_HOT_NONE &&
			q.pds.psn == p->pds.psn;
	return good;
}

/* Always the same network headers, as from one connection, or never. */
static int run_check(const struct perf_case *c, uint64_t n)
{
	const struct wire_pkt *p = c->arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_rules rules;
	uint32_t len = (uint32_t)wire_encode(p, buf);
	bool good = true;

	wire_rules_init(&rules, WIRE_UDP_PORT, false);
	wire_rules_set_dst(&rules, &p->net.dst);
	for (uint64_t i = 0; i < n; i++)
		good &= (p == &ack ? measured_ack : measured_data)(&rules, buf, len, p->payload_bytes) != 0;
	return good;
}

static int run_peek(const struct perf_case *c, uint64_t n)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct weft_pkt pkt = {.head = buf, .head_len = (uint16_t)wire_encode(c->arg, buf)};
	bool good = true;

	for (uint64_t i = 0; i < n; i++)
		good &= measured_peek(&pkt) && pkt.entropy == 7;
	return good;
}

static int run_crc(const struct perf_case *c, uint64_t n)
{
	static const uint8_t payload[PAYLOAD_BYTES] = {1};
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	uint32_t crc = 0;

	wire_encode(c->arg, buf);
	for (uint64_t i = 0; i < n; i++)
		crc |= measured_crc(buf, payload);
	return crc != 0;
}

/* One node far ahead, polled without anything due. */
static int run_idle(const struct perf_case *c, uint64_t n)
{
	static struct wheel w;
	struct wheel_node node;
	bool good = true;

	wheel_init(&w, 0);
	wheel_node_init(&node);
	wheel_set(&w, &node, WEFT_S(1000));
	for (uint64_t i = 0; i < n; i++)
		good &= measured_idle(&w, i) > i;
	return good;
}

/* The earliest of two timers moves to 100 us from now, in steps of 1 us: the shape of a retransmission timer. */
static int run_rearm(const struct perf_case *c, uint64_t n)
{
	static struct wheel w;
	struct wheel_node node, other;
	bool good = true;

	wheel_init(&w, 0);
	wheel_node_init(&node);
	wheel_node_init(&other);
	wheel_set(&w, &other, WEFT_S(1000));
	for (uint64_t i = 0; i < n; i++) {
		good &= wheel_expire(&w, WEFT_US(i)) == NULL;
		measured_rearm(&w, &node, WEFT_US(i + 100));
	}
	return good;
}

int main(int argc, char **argv)
{
	const struct perf_case cases[] = {
		{"enc_data", 0, "wire_encode RUD_REQ + SEND", run_encode, &data},
		{"enc_ack", 0, "wire_encode ACK_CC + response", run_encode, &ack},
		{"dec_data", 0, "wire_decode RUD_REQ + SEND", run_decode, &data},
		{"dec_ack", 0, "wire_decode ACK_CC + response", run_decode, &ack},
		{"hot_data", 0, "wire_decode_hot RUD_REQ + SEND", run_hot, &data},
		{"hot_ack", 0, "wire_decode_hot ACK_CC + response", run_hot, &ack},
		{"check_data", 0, "wire_check RUD_REQ + SEND", run_check, &data},
		{"check_ack", 0, "wire_check ACK_CC + response", run_check, &ack},
		{"peek", 0, "wire_peek", run_peek, &data},
		{"crc", 0, "wire_crc over headers and 4 KiB", run_crc, &data},
		{"wheel_idle", 0, "wheel_expire + wheel_next, nothing due", run_idle, NULL},
		{"wheel_rearm", 0, "wheel_set of the earliest timer", run_rearm, NULL},
		{NULL},
	};

	return perf_main(argc, argv, cases);
}
