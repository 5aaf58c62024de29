/* SPDX-License-Identifier: BSD-3-Clause */
/* Check, accessors, printer and switch calls on any bytes; what is read must survive being built again.
 * Input: one byte of options, then the packet. */
#include <stdlib.h>
#include <string.h>

#include "plain_pkt.h"
#include "wire_field.h"
#include "wire_print.h"

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

/* Building gives headers of the same size that are read the same. */
static void check_again(struct plain_pkt *p)
{
	uint8_t head[WEFT_PKT_HEAD_MAX];
	struct plain_pkt q;

	p->net.crc = 0;
	size_t len = plain_encode(p, head);
	CHECK(len == p->header_bytes);
	uint8_t *copy = exact_copy(head, len);
	CHECK(plain_decode(copy, len, p->payload_bytes, p->net.dst_port, false, &q) == WIRE_OK);
	CHECK(memcmp(p, &q, sizeof q) == 0);
	free(copy);
}

/* Every field there is can be read. */
static uint64_t read_all(const struct wire_view *v)
{
	struct wire_part parts[WIRE_PARTS_MAX];
	uint32_t n = wire_parts(v, parts);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct wire_field *f = wire_fields;
		while (f->name || f->group != parts[i].group)
			f++;
		for (f++; f->name; f++)
			sum += f->show == WIRE_SHOW_BYTES ? parts[i].header[f->at + f->bytes - 1]
							  : wire_field_value(f, parts[i].header);
	}
	return sum;
}

/* What a kind promises, the receiver relies on. */
static void check_kind(const struct wire_view *v)
{
	CHECK(v->kind != WIRE_KIND_NONE && v->kind <= WIRE_KIND_RUDI);
	CHECK((v->kind == WIRE_KIND_TRIMMED) <= v->outer->trimmed);
	if (v->kind == WIRE_KIND_DATA) {
		uint64_t offset = wire_req_som(v->req) ? 0 : wire_std_message_offset(v->std);
		CHECK(wire_hdr_next_hdr(v->hdr) == WIRE_NH_STD && v->ses_bytes >= sizeof *v->std);
		CHECK(offset + v->payload_bytes <= wire_std_request_length(v->std));
	}
	if (v->kind == WIRE_KIND_READ_DATA)
		CHECK(v->ses_bytes == sizeof *v->rsp_data &&
		      wire_rsp_data_payload_length(v->rsp_data) == v->payload_bytes);
}

static void check_view(const struct wire_view *v, const struct wire_rules *rules, size_t len, size_t more,
		       struct plain_pkt *p)
{
	char text[64];

	CHECK(v->header_bytes + v->payload_bytes <= len + more);
	CHECK(v->header_bytes <= len);
	CHECK(wire_print(v, text, sizeof text) > 0);
	check_kind(v);
	if (read_all(v) == 42)
		text[0] = 0;
	plain_of(v, rules, p);
}

/* A remembered answer is the one that checking everything gives. */
static void check_usual(const struct wire_view *v, struct wire_rules rules, uint32_t len, uint32_t more)
{
	struct wire_view w = wire_check_any(&rules, v->ip, len, more);

	CHECK(w.error == WIRE_OK && v->kind == w.kind && v->type == w.type && v->next_hdr == w.next_hdr);
	CHECK(v->hdr == w.hdr && v->ses == w.ses && v->entropy == w.entropy && v->ses_bytes == w.ses_bytes);
	CHECK(v->header_bytes == w.header_bytes && v->payload_bytes == w.payload_bytes);
	CHECK(weft_ip_eq(&v->outer->src, &w.outer->src) && v->outer->end == w.outer->end &&
	      v->outer->tos == w.outer->tos);
	CHECK(!v->outer->trimmed && !w.outer->trimmed && !v->outer->crc && !w.outer->crc);
}

/* Checked twice, for what was seen before must make no difference. */
static void check_packet(const uint8_t *data, size_t len, uint8_t options)
{
	size_t more = options & SPLIT ? len / 3 : 0, head = len - more;
	uint8_t *copy = exact_copy(data, head);
	struct plain_pkt p[2];
	struct wire_rules rules;
	struct wire_view v;
	enum wire_error error[2];

	wire_rules_init(&rules, WIRE_UDP_PORT, options & WITH_CRC);
	for (int i = 0; i < 2; i++) {
		error[i] = wire_check(&rules, copy, (uint32_t)head, (uint32_t)more, &v);
		if (error[i] == WIRE_OK)
			check_view(&v, &rules, head, more, &p[i]);
		if (error[i] == WIRE_OK && v.usual)
			check_usual(&v, rules, (uint32_t)head, (uint32_t)more);
	}
	CHECK(error[0] == error[1]);
	if (error[0] == WIRE_OK) {
		CHECK(memcmp(&p[0], &p[1], sizeof p[0]) == 0);
		/* Without SES header there is nothing to build where next_hdr says one follows. */
		if (p[0].has_ses || p[0].pds.next_hdr == WIRE_NH_NONE)
			check_again(&p[0]);
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
	check_packet(packet, size - 1, options);
	check_switch(packet, size - 1, options);
	free(packet);
	return 0;
}
