/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions per built, checked and peeked packet, and of the timing wheel. */
#include <stdbool.h>

#include "perf_case.h"
#include "plain_pkt.h"
#include "wheel.h"
#include "wire_build.h"

enum { PAYLOAD_BYTES = 4096 };

static const struct plain_pkt data = {
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
static const struct plain_pkt ack = {
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

/* The headers of a data packet, field by field. */
static __attribute__((noinline)) size_t measured_build_data(const struct plain_pkt *p, uint8_t *buf)
{
	struct wire_hdr *hdr = (struct wire_hdr *)(buf + wire_net_bytes(&p->net));
	struct wire_std *std = (struct wire_std *)wire_build_pds((uint8_t *)hdr, WIRE_PDS_RUD_REQ, WIRE_NH_STD, 0);
	uint8_t *end = wire_build_ses((uint8_t *)std, WIRE_NH_STD, p->ses.opcode, p->ses.flags);

	wire_hdr_set_clear_offset(hdr, p->pds.offset);
	wire_hdr_set_psn(hdr, p->pds.psn);
	wire_hdr_set_spdcid(hdr, p->pds.spdcid);
	wire_hdr_set_dpdcid(hdr, p->pds.dpdcid);
	wire_std_set_message_id(std, p->ses.message_id);
	wire_req_set_pid_on_fep(&std->req, p->ses.pid_on_fep);
	wire_req_set_resource_index(&std->req, p->ses.resource_index);
	wire_std_set_initiator(std, p->ses.initiator);
	wire_std_set_match(std, p->ses.match);
	wire_std_set_payload_length(std, (uint16_t)p->ses.payload_length);
	wire_std_set_message_offset(std, p->ses.message_offset);
	wire_std_set_request_length(std, p->ses.request_length);
	wire_build_net(buf, &p->net, (uint32_t)(end - (uint8_t *)hdr) + p->payload_bytes);
	return (size_t)(end - buf);
}

/* An ACK from its template. */
static __attribute__((noinline)) size_t measured_fill_ack(const struct plain_pkt *p, uint8_t *buf)
{
	static const uint8_t template[WIRE_ACK_BYTES] = {0x45, [28] = WIRE_PDS_ACK_CC << 3 | WIRE_NH_RSP >> 1};
	const struct wire_ack_patch patch = {.entropy = p->net.entropy,
					     .flags = p->pds.flags,
					     .ack_offset = p->pds.offset,
					     .cack = p->pds.psn,
					     .spdcid = p->pds.spdcid,
					     .dpdcid = p->pds.dpdcid,
					     .sack_offset = p->pds.sack_offset,
					     .sack_bitmap = p->pds.sack_bitmap,
					     .service_time = p->pds.service_time,
					     .rcvd_bytes = p->pds.rcvd_bytes,
					     .ooo_count = p->pds.ooo_count,
					     .echo = {.head = p->ses.message_id, .length = p->ses.request_length}};

	wire_fill_ack(buf, template, &patch);
	return WIRE_ACK_BYTES;
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

static int run_build(const struct perf_case *c, uint64_t n)
{
	const struct plain_pkt *p = c->arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	bool good = true;

	for (uint64_t i = 0; i < n; i++)
		good &= (p == &ack ? measured_fill_ack : measured_build_data)(p, buf) > 0;
	return good;
}

/* Always the same network headers, as from one connection. */
static int run_check(const struct perf_case *c, uint64_t n)
{
	const struct plain_pkt *p = c->arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_rules rules;
	uint32_t len = (uint32_t)plain_encode(p, buf);
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
	struct weft_pkt pkt = {.head = buf, .head_len = (uint16_t)plain_encode(c->arg, buf)};
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

	plain_encode(c->arg, buf);
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
		{"build_data", 0, "wire_build RUD_REQ + SEND", run_build, &data},
		{"fill_ack", 0, "wire_fill_ack ACK_CC + response", run_build, &ack},
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
