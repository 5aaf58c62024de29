/* SPDX-License-Identifier: BSD-3-Clause */
/* What a receiver finds a packet to be: its kind, every reason to refuse it, and that what it has seen before makes no
 * difference. Fields and lengths: test_wire_check_fields. */
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

enum { ROUNDS = 30000, KINDS = WIRE_KIND_RUDI + 1 };

static struct plain_pkt request(uint8_t next_hdr, uint8_t opcode)
{
	return (struct plain_pkt){
		.net = {.src = weft_ip_v4(1), .dst = weft_ip_v4(2), .dst_port = WIRE_UDP_PORT},
		.pds = {.type = WIRE_PDS_RUD_REQ, .next_hdr = next_hdr},
		.ses = {.opcode = opcode,
			.message_id = 1,
			.request_length = 1000,
			.message_offset = 900,
			.payload_length = 100},
		.payload_bytes = 100,
	};
}

static struct wire_view view_of(const struct plain_pkt *p, uint8_t *buf)
{
	static struct wire_rules rules;
	struct wire_view v;

	wire_rules_init(&rules, WIRE_UDP_PORT, false);
	size_t bytes = plain_encode(p, buf);
	assert_int_equal(wire_check(&rules, buf, (uint32_t)bytes, p->payload_bytes, &v), WIRE_OK);
	assert_ptr_equal(v.ip, buf);
	assert_int_equal(v.header_bytes, bytes);
	return v;
}

static enum wire_kind kind_of(const struct plain_pkt *p)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	return view_of(p, buf).kind;
}

static void wire_check__kinds_of_types(void **state)
{
	static const uint8_t kinds[16] = {
		[WIRE_PDS_RUD_REQ] = WIRE_KIND_DATA,     [WIRE_PDS_ROD_REQ] = WIRE_KIND_DATA,
		[WIRE_PDS_RUD_CC_REQ] = WIRE_KIND_DATA,  [WIRE_PDS_ROD_CC_REQ] = WIRE_KIND_DATA,
		[WIRE_PDS_RUDI_REQ] = WIRE_KIND_RUDI,    [WIRE_PDS_RUDI_RESP] = WIRE_KIND_RUDI,
		[WIRE_PDS_UUD_REQ] = WIRE_KIND_DATAGRAM, [WIRE_PDS_ACK] = WIRE_KIND_ACK,
		[WIRE_PDS_ACK_CC] = WIRE_KIND_ACK,       [WIRE_PDS_ACK_CCX] = WIRE_KIND_ACK,
		[WIRE_PDS_NACK] = WIRE_KIND_NACK,        [WIRE_PDS_CP] = WIRE_KIND_CP,
		[WIRE_PDS_NACK_CCX] = WIRE_KIND_NACK,
	};
	struct plain_pkt p = request(WIRE_NH_STD, WIRE_OP_SEND);

	for (unsigned type = WIRE_PDS_RUD_REQ; type <= WIRE_PDS_ROD_CC_REQ; type++) {
		p.pds.type = (uint8_t)type;
		assert_int_equal(kind_of(&p), kinds[type]);
		p.net.native = 1;
		p.net.src.b[0] = p.net.dst.b[0] = 0x20;
		assert_int_equal(kind_of(&p), kinds[type]);
		p.net = request(0, 0).net;
	}
}

/* A request that no receiver can place: one field is changed. */
#define REFUSED(field, value)                                                                                          \
	do {                                                                                                           \
		struct plain_pkt q = request(WIRE_NH_STD, WIRE_OP_SEND);                                               \
		assert_int_equal(kind_of(&q), WIRE_KIND_DATA);                                                         \
		q.field = (value);                                                                                     \
		assert_int_equal(kind_of(&q), WIRE_KIND_REFUSED);                                                      \
	} while (0)

static void wire_check__requests_that_do_not_fit(void **state)
{
	REFUSED(ses.request_length, UINT32_MAX);
	REFUSED(ses.request_length, 999);
	REFUSED(ses.message_offset, 901);
	REFUSED(ses.message_offset, UINT32_MAX);
	REFUSED(ses.payload_length, 99);
	REFUSED(payload_bytes, 101);
	REFUSED(pds.next_hdr, WIRE_NH_MEDIUM);
	REFUSED(pds.next_hdr, WIRE_NH_SMALL);
	REFUSED(pds.next_hdr, WIRE_NH_RSP);
	REFUSED(pds.next_hdr, WIRE_NH_NONE);
}

static void wire_check__requests_without_payload(void **state)
{
	for (unsigned op = WIRE_OP_NO_OP; op <= WIRE_OP_MSG_ERROR; op++) {
		struct plain_pkt p = request(WIRE_NH_STD, (uint8_t)op);
		bool may = op == WIRE_OP_READ || op == WIRE_OP_ATOMIC || op == WIRE_OP_FETCHING_ATOMIC ||
			   op == WIRE_OP_RENDEZVOUS_SEND || op == WIRE_OP_RENDEZVOUS_TSEND || op == WIRE_OP_MSG_ERROR;
		p.payload_bytes = 0;
		p.ses.payload_length = 0;
		assert_int_equal(kind_of(&p), may ? WIRE_KIND_DATA : WIRE_KIND_REFUSED);
		p.ses.request_length = p.ses.message_offset = 0;
		assert_int_equal(kind_of(&p), WIRE_KIND_DATA);
		p.ses.flags = WIRE_SES_SOM;
		assert_int_equal(kind_of(&p), WIRE_KIND_DATA);
	}
}

static void wire_check__first_packets_have_no_offset(void **state)
{
	struct plain_pkt p = request(WIRE_NH_STD, WIRE_OP_SEND);

	p.ses.flags = WIRE_SES_SOM;
	p.ses.header_data = UINT64_MAX; /* where others have offset and length */
	assert_int_equal(kind_of(&p), WIRE_KIND_DATA);
	p.payload_bytes = 1001;
	assert_int_equal(kind_of(&p), WIRE_KIND_REFUSED);
}

static void wire_check__read_data(void **state)
{
	struct plain_pkt p = request(WIRE_NH_RSP_DATA, WIRE_RSP_W_DATA);

	assert_int_equal(kind_of(&p), WIRE_KIND_READ_DATA);
	p.ses.payload_length = 99;
	assert_int_equal(kind_of(&p), WIRE_KIND_REFUSED);
	p = request(WIRE_NH_RSP_DATA, WIRE_RSP_RESPONSE);
	assert_int_equal(kind_of(&p), WIRE_KIND_REFUSED);
}

static void wire_check__trimmed(void **state)
{
	struct plain_pkt p = request(WIRE_NH_STD, WIRE_OP_SEND);
	uint8_t buf[WEFT_PKT_HEAD_MAX];

	p.payload_bytes = 0;
	p.net.dscp = WIRE_DSCP_TRIMMED_LASTHOP;
	struct wire_view v = view_of(&p, buf);
	assert_int_equal(v.kind, WIRE_KIND_TRIMMED);
	assert_int_equal(v.payload_bytes, 0);
	assert_int_equal(v.ses_bytes, 44);
	p.pds.next_hdr = WIRE_NH_NONE;
	assert_int_equal(view_of(&p, buf).kind, WIRE_KIND_TRIMMED);
	p.pds.type = WIRE_PDS_ACK;
	assert_int_equal(view_of(&p, buf).kind, WIRE_KIND_ACK);
}

static void wire_check__not_ours(void **state)
{
	struct plain_pkt p = request(WIRE_NH_STD, WIRE_OP_SEND);
	const struct weft_ip us = p.net.dst, other = weft_ip_v4(3);
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_rules rules;
	struct wire_view v;

	wire_rules_init(&rules, WIRE_UDP_PORT, false);
	uint32_t bytes = (uint32_t)plain_encode(&p, buf);
	for (int i = 0; i < 3; i++) {
		wire_rules_set_dst(&rules, i & 1 ? &other : &us);
		for (int k = 0; k < 2; k++)
			assert_int_equal(wire_check(&rules, buf, bytes, 100, &v), i & 1 ? WIRE_NOT_OURS : WIRE_OK);
	}
}

/* All that two views say, but which rules they are of. */
static void check_equal_views(const struct wire_view *v, const struct wire_view *w)
{
	assert_int_equal(v->kind, w->kind);
	assert_int_equal(v->type, w->type);
	assert_int_equal(v->next_hdr, w->next_hdr);
	assert_ptr_equal(v->ip, w->ip);
	assert_ptr_equal(v->hdr, w->hdr);
	assert_ptr_equal(v->ses, w->ses);
	assert_ptr_equal(v->entropy, w->entropy);
	assert_int_equal(v->ses_bytes, w->ses_bytes);
	assert_int_equal(v->header_bytes, w->header_bytes);
	assert_int_equal(v->payload_bytes, w->payload_bytes);
	assert_true(weft_ip_eq(&v->outer->src, &w->outer->src));
	assert_int_equal(v->outer->end, w->outer->end);
	assert_int_equal(v->outer->bytes, w->outer->bytes);
	assert_int_equal(v->outer->tos, w->outer->tos);
	assert_int_equal(v->outer->trimmed, w->outer->trimmed);
	assert_int_equal(v->outer->native, w->outer->native);
	assert_int_equal(v->outer->crc, w->outer->crc);
}

/* The same packet after others: rules that have seen other packets say the same. */
static enum wire_error check_both(const uint8_t *buf, size_t len, size_t more, struct wire_rules *used,
				  enum wire_kind *kind)
{
	struct wire_rules fresh;
	struct wire_view v = {0}, w = {0};
	struct plain_pkt p, q;
	uint8_t *exact = exact_copy(buf, len);

	wire_rules_init(&fresh, WIRE_UDP_PORT, used->require_crc);
	if (!used->any_dst)
		wire_rules_set_dst(&fresh, &used->dst);
	enum wire_error error = wire_check(&fresh, exact, (uint32_t)len, (uint32_t)more, &v);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wire_check(used, exact, (uint32_t)len, (uint32_t)more, &w), error);
		if (error != WIRE_OK)
			break;
		plain_of(&v, &fresh, &p);
		plain_of(&w, used, &q);
		assert_memory_equal(&p, &q, sizeof p);
		assert_int_equal(v.kind, w.kind);
		assert_int_equal(v.ses_bytes, w.ses_bytes);
		*kind = w.kind;
	}
	free(exact);
	return error;
}

/* What wire_check answers, quickly or not, is what wire_check_any answers with the same rules. Whether it was quick. */
static bool check_usual(const uint8_t *buf, size_t len, size_t more, const struct wire_rules *used)
{
	struct wire_rules rules = *used, again = *used;
	struct wire_view v = {0};
	uint8_t *exact = exact_copy(buf, len);

	enum wire_error error = wire_check(&rules, exact, (uint32_t)len, (uint32_t)more, &v);
	struct wire_view w = wire_check_any(&again, exact, (uint32_t)len, (uint32_t)more);
	assert_int_equal(error, w.error);
	if (error == WIRE_OK)
		check_equal_views(&v, &w);
	free(exact);
	return error == WIRE_OK && v.usual;
}

static void fix_checksum(uint8_t *ip)
{
	set_ip_tos(ip, (uint8_t)(ip[0] >> 4 == 4 ? ip[1] : ip[0] << 4 | ip[1] >> 4));
}

/* One or two bytes or bits differ; mostly the checksum is right nevertheless. */
static void mutate(struct rng *r, uint8_t *buf, size_t head)
{
	for (uint32_t n = 1 + rng_below(r, 2); n > 0; n--) {
		uint64_t dice = rng_next(r);
		uint8_t *byte = &buf[dice >> 8 & 1 ? (dice >> 16) % 32 : (dice >> 16) % head];
		*byte = (uint8_t)(dice >> 9 & 1 ? *byte ^ 1u << (dice & 7) : dice);
	}
	if (rng_next(r) % 4)
		fix_checksum(buf);
}

static void wire_check__whatever_came_before(void **state)
{
	static const uint8_t types[][2] = {{WIRE_PDS_RUD_REQ, WIRE_NH_STD},      {WIRE_PDS_ACK_CC, WIRE_NH_RSP},
					   {WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA}, {WIRE_PDS_ROD_CC_REQ, WIRE_NH_STD},
					   {WIRE_PDS_UUD_REQ, WIRE_NH_MEDIUM},   {WIRE_PDS_NACK, WIRE_NH_NONE},
					   {WIRE_PDS_RUDI_REQ, WIRE_NH_STD}};
	unsigned errors[WIRE_ERRORS + 1] = {0}, kinds[KINDS] = {0};
	struct wire_rules rules;
	struct rng r = {18};

	wire_rules_init(&rules, WIRE_UDP_PORT, false);
	for (int round = 0; round < ROUNDS; round++) {
		struct plain_pkt p;
		enum wire_kind kind = WIRE_KIND_NONE;
		uint8_t buf[PACKET_MAX] = {0}, type = rng_below(&r, 7);
		random_pkt(&r, types[type][0], types[type][1], rng_below(&r, 8) ? 0 : types[type][1] == WIRE_NH_STD,
			   &p);
		rules.require_crc = rng_below(&r, 8) == 0;
		p.net.crc = 0;
		p.ses.payload_length = p.payload_bytes;
		if (types[type][1] == WIRE_NH_STD)
			p.ses.request_length |= 1u << 31;
		p.ses.message_offset &= UINT32_MAX >> 2;
		if (types[type][1] == WIRE_NH_RSP_DATA)
			p.ses.opcode = WIRE_RSP_W_DATA;
		size_t head = plain_encode(&p, buf), len = rng_below(&r, 4) ? head : rng_below(&r, 2 * (uint32_t)head);
		size_t more = head + p.payload_bytes > len ? head + p.payload_bytes - len : 0;
		wire_rules_set_dst(&rules, &p.net.dst);
		for (int i = 0; i < 4; i++) {
			errors[check_both(buf, len, more, &rules, &kind)]++;
			kinds[kind]++;
			mutate(&r, buf, head);
		}
	}
	for (int error = 0; error <= WIRE_ERRORS; error++)
		assert_true(errors[error] > 10);
	for (int kind = 0; kind < KINDS; kind++)
		assert_true(kinds[kind] > 10);
}

/* The usual forms. */
static const struct {
	uint8_t type, next_hdr;
} forms[] = {{WIRE_PDS_RUD_REQ, WIRE_NH_STD}, {WIRE_PDS_ACK_CC, WIRE_NH_RSP}, {WIRE_PDS_ACK, WIRE_NH_NONE}};
enum { FORMS = sizeof forms / sizeof *forms };

/* One of them, mostly: over IPv4 and UDP, in the middle of a message that it fits into. */
static void random_usual(struct rng *r, uint32_t form, struct plain_pkt *p)
{
	do
		random_pkt(r, forms[form].type, forms[form].next_hdr, 0, p);
	while (!weft_ip_is_v4(&p->net.src) || p->net.native);
	p->net.crc = 0;
	p->net.dscp = rng_below(r, 8) ? WIRE_DSCP_TRIMMABLE : p->net.dscp;
	if (forms[form].type != WIRE_PDS_RUD_REQ)
		return;
	p->pds.flags &= (uint8_t) ~(rng_below(r, 8) ? WIRE_F_SYN : 0);
	p->ses.flags &= (uint8_t) ~(rng_below(r, 8) ? WIRE_SES_SOM : 0);
	p->ses.payload_length = p->payload_bytes;
	p->ses.message_offset &= UINT32_MAX >> 2;
	p->ses.request_length = rng_below(r, 8) ? p->ses.request_length | 1u << 31 : UINT32_MAX;
}

/* Anything behind the network headers differs, now and then within them. */
static void mutate_inner(struct rng *r, uint8_t *buf, size_t head)
{
	uint32_t dice = (uint32_t)rng_next(r);

	if (dice % 4 == 0)
		mutate(r, buf, head);
	else if (dice % 4 == 1) /* type, next header and flags */
		buf[WIRE_USUAL_NET_BYTES + (dice >> 8 & 1)] ^= (uint8_t)(1u << (dice >> 16 & 7));
	else
		buf[WIRE_USUAL_NET_BYTES + rng_below(r, (uint32_t)head - WIRE_USUAL_NET_BYTES)] = (uint8_t)(dice >> 8);
}

static void wire_check__usual_is_any_remembered(void **state)
{
	unsigned usual[FORMS] = {0}, others = 0;
	struct wire_rules rules;
	struct wire_view v;
	struct rng r = {19};

	wire_rules_init(&rules, WIRE_UDP_PORT, false);
	for (int round = 0; round < ROUNDS; round++) {
		uint8_t buf[PACKET_MAX] = {0};
		struct plain_pkt p;
		uint32_t form = rng_below(&r, FORMS);
		random_usual(&r, form, &p);
		size_t head = plain_encode(&p, buf);
		(void)wire_check(&rules, buf, (uint32_t)head, p.payload_bytes, &v);
		for (int i = 0; i < 8; i++) {
			size_t len = rng_below(&r, 8) ? head : rng_below(&r, (uint32_t)head);
			bool quick = check_usual(buf, len, head + p.payload_bytes - len, &rules);
			usual[form] += quick;
			others += !quick;
			mutate_inner(&r, buf, head);
		}
	}
	for (uint32_t form = 0; form < FORMS; form++)
		assert_true(usual[form] > ROUNDS / 3);
	assert_true(others > ROUNDS);
}

/* A step that trips an assertion. */
static void dies(void (*step)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		fclose(stderr);
		step();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static uint8_t room[WEFT_PKT_HEAD_MAX];

static void too_wide(void)
{
	wire_req_set_job_id((struct wire_req *)room, 1 << 24);
}

static void no_type(void)
{
	wire_build_pds(room, WIRE_PDS_TSS, WIRE_NH_NONE, 0);
}

static void no_form(void)
{
	wire_build_ses(room, WIRE_NH_RSP_DATA_SMALL + 1, 0, 0);
}

static void reserved_flag(void)
{
	wire_build_pds(room, WIRE_PDS_ACK, WIRE_NH_NONE, 0x80);
}

static void wrong_template(void)
{
	static const struct wire_data_patch patch;
	wire_build_pds(room + WIRE_IP4_UDP_BYTES, WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA, 0);
	room[0] = 0x45;
	wire_patch_read_data(room, &patch);
	wire_patch_data(room, &patch);
}

static void wire_build__asserts(void **state)
{
	dies(too_wide);
	dies(no_type);
	dies(no_form);
	dies(reserved_flag);
	dies(wrong_template);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_check__kinds_of_types),
		cmocka_unit_test(wire_check__requests_that_do_not_fit),
		cmocka_unit_test(wire_check__requests_without_payload),
		cmocka_unit_test(wire_check__first_packets_have_no_offset),
		cmocka_unit_test(wire_check__read_data),
		cmocka_unit_test(wire_check__trimmed),
		cmocka_unit_test(wire_check__not_ours),
		cmocka_unit_test(wire_check__whatever_came_before),
		cmocka_unit_test(wire_check__usual_is_any_remembered),
		cmocka_unit_test(wire_build__asserts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
