/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "random_pkt.h"
#include "samples.h"
#include "wire_field.h"
#include "wire_print.h"

static void check_line(const struct samples *s, unsigned packet, const char *expected)
{
	struct wire_rules rules;
	struct wire_view v;
	char text[1024];

	wire_rules_init(&rules, WIRE_UDP_PORT, true);
	assert_int_equal(wire_check(&rules, s->packets[packet].data, (uint32_t)s->packets[packet].len, 0, &v), WIRE_OK);
	assert_int_equal(wire_print(&v, text, sizeof text), strlen(expected));
	assert_string_equal(text, expected);
}

static void wire_print__samples(void **state)
{
	struct samples s;

	samples_load(&s, "uet_derived_udp_v4.pcap");
	check_line(&s, 1,
		   "192.0.2.1 > 192.0.2.2 port=4793 ev=16962 dscp=0 ect0 | RUD_REQ psn=65537 pdc=17>new syn_offset=1 "
		   "clear=-2 AR SYN | TAGGED_SEND REL HD EOM SOM id=258 gen=0 job=291 pid=7 ri=5 length=16 "
		   "data=0x1122334455667788 buffer=0x0 initiator=10 match=0xabcd | 16 payload crc");
	check_line(&s, 5,
		   "192.0.2.2 > 192.0.2.1 port=4793 ev=16962 dscp=46 not-ect | ACK_CC cack=65538 pdc=34>17 ack=+2 "
		   "cc_type=0 cc_flags=0 mpr=8 sack=+1:0x0000000000000002 service=4 rc=0 pend=0 rcvd=9 ooo=1 | "
		   "DEFAULT_RESPONSE list=0 rc=OK id=259 job=291 gen=0 modified=3000 | 0 payload crc");
	samples_free(&s);
	samples_load(&s, "uet_derived_ip_v6.pcap");
	check_line(&s, 10,
		   "2001:db8::2 > 2001:db8::1 native ev=16962 dscp=46 not-ect | NACK TRIMMED psn=65541 pdc=34>17 "
		   "payload=0 | 0 payload crc");
	check_line(&s, 13,
		   "2001:db8::1 > 2001:db8::2 native ev=16962 dscp=46 not-ect | CP PROBE psn=0 pdc=17>34 opaque=0xbeef "
		   "payload=65541 AR | 0 payload crc");
	check_line(&s, 34,
		   "2001:db8::2 > 2001:db8::1 native ev=16962 dscp=46 not-ect | ACK cack=65546 pdc=34>17 ack=+1 CLEAR "
		   "| RESPONSE_W_DATA list=0 rc=OK job=291 part=16 psn=65547 | 16 payload crc");
	samples_free(&s);
}

/* What is sent of `p`, without payload, in `buf`. */
static int print_plain(const struct plain_pkt *p, char *text, size_t size)
{
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	struct wire_rules rules;
	struct wire_view v;

	wire_rules_init(&rules, p->net.dst_port, false);
	uint32_t bytes = (uint32_t)plain_encode(p, buf);
	assert_int_equal(wire_check(&rules, buf, bytes, p->payload_bytes, &v), WIRE_OK);
	return wire_print(&v, text, size);
}

static void wire_print__numbers_without_name(void **state)
{
	struct plain_pkt p = {
		.net = {.src = weft_ip_v4(1), .dst = weft_ip_v4(2), .dst_port = 1},
		.pds = {.type = WIRE_PDS_NACK, .next_hdr = WIRE_NH_RSP, .code = 0x2d, .flags = 0x41},
		.ses = {.opcode = 0x30, .return_code = 0x37},
		.has_ses = 1,
	};
	char text[512];

	print_plain(&p, text, sizeof text);
	assert_string_equal(text, "0.0.0.1 > 0.0.0.2 port=1 ev=0 dscp=0 not-ect | NACK 0x2d psn=0 pdc=0>0 payload=0 "
				  "flags=0x41 | 0x30 list=0 rc=0x37 id=0 job=0 gen=0 modified=0 | 0 payload");
}

/* Every packet in a buffer of every size up to the text's: same length returned, always terminated, never overrun. */
static void wire_print__cut_like_snprintf(void **state)
{
	struct rng r = {31};
	struct plain_pkt p;
	char whole[1024];

	for (uint8_t type = WIRE_PDS_RUD_REQ; type <= WIRE_PDS_ROD_CC_REQ; type++) {
		for (uint8_t form = WIRE_NH_NONE; form <= WIRE_NH_RSP_DATA_SMALL; form++) {
			random_pkt(&r, type, form, form % 4, &p);
			p.net.crc = 0;
			size_t len = (size_t)print_plain(&p, whole, sizeof whole);
			assert_true(len < sizeof whole);
			assert_int_equal(strlen(whole), len);
			assert_int_equal(print_plain(&p, NULL, 0), len);
			for (size_t size = 1; size <= len; size += 1 + size / 4) {
				char *text = malloc(size);
				assert_int_equal(print_plain(&p, text, size), len);
				assert_int_equal(strlen(text), size - 1);
				assert_memory_equal(text, whole, size - 1);
				free(text);
			}
		}
	}
}

/* No packet has more parts than there is room for, and one has as many. */
static void wire_parts__as_many_as_there_can_be(void **state)
{
	struct rng r = {16};
	uint32_t most = 0;

	for (int round = 0; round < 2000; round++) {
		struct wire_part parts[WIRE_PARTS_MAX];
		uint8_t buf[WEFT_PKT_HEAD_MAX];
		struct wire_rules rules;
		struct wire_view v;
		struct plain_pkt p;
		random_pkt(&r, (uint8_t)(WIRE_PDS_RUD_REQ + round % WIRE_PDS_ROD_CC_REQ), WIRE_NH_STD, rng_below(&r, 4),
			   &p);
		if (!wire_pds_bytes(p.pds.type))
			continue;
		p.net.crc = 0;
		uint32_t bytes = (uint32_t)plain_encode(&p, buf);
		wire_rules_init(&rules, WIRE_UDP_PORT, false);
		assert_int_equal(wire_check(&rules, buf, bytes, p.payload_bytes, &v), WIRE_OK);
		uint32_t count = wire_parts(&v, parts);
		most = count > most ? count : most;
	}
	assert_int_equal(most, WIRE_PARTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_print__samples),
		cmocka_unit_test(wire_print__numbers_without_name),
		cmocka_unit_test(wire_print__cut_like_snprintf),
		cmocka_unit_test(wire_parts__as_many_as_there_can_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
