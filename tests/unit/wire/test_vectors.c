/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte-for-byte agreement with sample packets of other origin (vectors/README.md). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plain_pkt.h"
#include "samples.h"

static const char *const derived[] = {"uet_derived_ip_v4.pcap", "uet_derived_udp_v4.pcap", "uet_derived_ip_v6.pcap",
				      "uet_derived_udp_v6.pcap"};
enum { ENCAPSULATIONS = 4, DERIVED_PACKETS = 40, TRIMMED_PACKET = 37 /* D38 */ };

/* decode, encode, and the same bytes again, trailer included. */
static void check_exact(const uint8_t *packet, size_t len, bool crc, struct plain_pkt *p)
{
	uint8_t again[PACKET_MAX];

	memset(p, 0, sizeof *p);
	assert_int_equal(plain_decode(packet, len, 0, WIRE_UDP_PORT, crc, p), WIRE_OK);
	size_t header_bytes = plain_encode(p, again);
	assert_int_equal(header_bytes, p->header_bytes);
	const uint8_t *payload = packet + header_bytes;
	memcpy(again + header_bytes, payload, p->payload_bytes);
	if (crc) {
		uint32_t trailer = htole32(wire_crc(again, header_bytes, payload, p->payload_bytes));
		memcpy(again + header_bytes + p->payload_bytes, &trailer, sizeof trailer);
	}
	assert_int_equal(header_bytes + p->payload_bytes + (crc ? 4 : 0), len);
	assert_memory_equal(again, packet, len);
}

/* ---- the derived packets ---- */

static void derived__decode_encode_exact(void **state)
{
	struct samples s;
	struct plain_pkt p;

	for (int i = 0; i < ENCAPSULATIONS; i++) {
		samples_load(&s, derived[i]);
		assert_int_equal(s.count, DERIVED_PACKETS);
		for (size_t k = 0; k < s.count; k++) {
			if (k != TRIMMED_PACKET)
				check_exact(s.packets[k].data, s.packets[k].len, true, &p);
		}
		samples_free(&s);
	}
}

/* D38 carries no trimmed DSCP: which one means that is the operator's choice. With ours it is accepted, and what a
 * switch leaves untouched comes out as in D05, the packet before it was trimmed. */
static void derived__trimmed(void **state)
{
	struct samples s;
	struct plain_pkt p = {0}, whole = {0};

	for (int i = 0; i < ENCAPSULATIONS; i++) {
		samples_load(&s, derived[i]);
		uint8_t *d38 = s.packets[TRIMMED_PACKET].data;
		size_t len = s.packets[TRIMMED_PACKET].len;
		assert_int_not_equal(plain_decode(d38, len, 0, WIRE_UDP_PORT, true, &p), WIRE_OK);
		set_ip_tos(d38, WIRE_DSCP_TRIMMED << 2 | WEFT_ECN_ECT0);
		assert_int_equal(plain_decode(d38, len, 0, WIRE_UDP_PORT, true, &p), WIRE_OK);
		assert_true(p.trimmed && p.has_ses);
		assert_int_equal(p.payload_bytes, 0);
		assert_int_equal(p.header_bytes, len);
		check_exact(s.packets[4].data, s.packets[4].len, true, &whole);
		assert_memory_equal(&p.pds, &whole.pds, sizeof p.pds);
		assert_memory_equal(&p.ses, &whole.ses, sizeof p.ses);
		samples_free(&s);
	}
}

/* The PDS fields as derived.txt writes them. */
static void describe_tail(const struct plain_pds *d, char *text, size_t size)
{
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ: {
		int n = snprintf(text, size, "; clear_off=%d psn=0x%08x spdcid=0x%04x; ", d->offset, d->psn, d->spdcid);
		if (d->flags & WIRE_F_SYN)
			n += snprintf(text + n, size - n, "use_rsv=%u psn_offset=%u", d->use_rsv_pdc, d->psn_offset);
		else
			n += snprintf(text + n, size - n, "dpdcid=0x%04x", d->dpdcid);
		if (d->type == WIRE_PDS_RUD_CC_REQ)
			snprintf(text + n, size - n, "; ccc=%u credit_target=%u", d->ccc_id, d->credit);
		break;
	}
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC: {
		int n = d->flags & WIRE_F_ACK_P ? snprintf(text, size, "; opaque=0x%04x", d->opaque)
						: snprintf(text, size, "; ack_off=%d", d->offset);
		n += snprintf(text + n, size - n, " cack=0x%08x spdcid=0x%04x dpdcid=0x%04x", d->psn, d->spdcid,
			      d->dpdcid);
		if (d->type == WIRE_PDS_ACK)
			break;
		n += snprintf(text + n, size - n, "; cc_type=%u ccfl=%u mpr=%u sack_off=%d bitmap=0x%016" PRIx64,
			      d->cc_type, d->cc_flags, d->mpr, d->sack_offset, d->sack_bitmap);
		if (d->cc_type == WIRE_CC_NSCC)
			snprintf(text + n, size - n, "; service=%u rc=%u pend=%u rcvd=%u ooo=%u", d->service_time,
				 d->rc, d->rcv_cwnd_pend, d->rcvd_bytes, d->ooo_count);
		else
			snprintf(text + n, size - n, "; credit=%u ooo=%u", d->credit, d->ooo_count);
		break;
	}
	case WIRE_PDS_NACK:
		snprintf(text, size,
			 "; code=0x%02x vendor=0x%02x psn/pkt_id=0x%08x spdcid=0x%04x dpdcid=0x%04x payload=0x%08x",
			 d->code, d->vendor_code, d->psn, d->spdcid, d->dpdcid, d->payload);
		break;
	case WIRE_PDS_CP:
		snprintf(text, size, "; opaque=0x%04x psn=0x%08x spdcid=0x%04x dpdcid/info=0x%04x payload=0x%08x",
			 d->opaque, d->psn, d->spdcid, d->dpdcid, d->payload);
		break;
	case WIRE_PDS_RUDI_REQ:
	case WIRE_PDS_RUDI_RESP:
		snprintf(text, size, "; pkt_id=0x%08x", d->psn);
		break;
	}
}

static void describe(const struct plain_pds *d, char *text, size_t size)
{
	int n = snprintf(text, size, "%s nh/ctl=%u flags=0x%02x", wire_pds_name(d->type),
			 d->type == WIRE_PDS_CP ? d->ctl : d->next_hdr, d->flags);

	describe_tail(d, text + n, size - (size_t)n);
}

static void check_hex(const char *hex, const uint8_t *bytes)
{
	for (; hex[0] && hex[1]; hex += 2, bytes++) {
		char digits[3] = {hex[0], hex[1]};
		assert_int_equal(strtoul(digits, NULL, 16), *bytes);
	}
}

/* One line of derived.txt against one packet. */
static void check_line(char *columns[7], int encapsulation, const uint8_t *packet, size_t len, bool trimmed)
{
	struct plain_pkt p;
	char text[512];

	if (trimmed)
		return;
	check_exact(packet, len, true, &p);
	describe(&p.pds, text, sizeof text);
	assert_string_equal(text, columns[2]);
	const uint8_t *uet = packet + uet_offset(&p.net);
	check_hex(columns[3], uet);
	check_hex(columns[4], uet + strlen(columns[3]) / 2);
	assert_int_equal(p.header_bytes, uet_offset(&p.net) + (strlen(columns[3]) + strlen(columns[4])) / 2);
	if (strstr(columns[5], "pattern")) {
		assert_int_equal(p.payload_bytes, atoi(columns[5]));
	} else {
		assert_int_equal(p.payload_bytes, strlen(columns[5]) / 2);
		check_hex(columns[5], packet + p.header_bytes);
	}
	char *trailer = strtok(columns[6], " \n");
	for (int i = 0; i < encapsulation; i++)
		trailer = strtok(NULL, " \n");
	check_hex(trailer, packet + len - 4);
}

static void derived__fields_as_in_text(void **state)
{
	struct samples s;
	char line[1024];

	for (int i = 0; i < ENCAPSULATIONS; i++) {
		FILE *text = samples_open("derived.txt");
		size_t packet = 0;
		samples_load(&s, derived[i]);
		while (fgets(line, sizeof line, text)) {
			char *columns[7], *rest = line;
			for (int c = 0; c < 7; c++)
				columns[c] = strsep(&rest, "\t");
			assert_non_null(columns[6]);
			check_line(columns, i, s.packets[packet].data, s.packets[packet].len, packet == TRIMMED_PACKET);
			packet++;
		}
		assert_int_equal(packet, DERIVED_PACKETS);
		fclose(text);
		samples_free(&s);
	}
}

/* SES fields that other tests only see as bytes. */
static void derived__ses_fields(void **state)
{
	struct samples s;
	struct plain_pkt p;

	samples_load(&s, derived[1]);
	check_exact(s.packets[1].data, s.packets[1].len, true, &p);
	assert_int_equal(p.ses.opcode, WIRE_OP_TAGGED_SEND);
	assert_int_equal(p.ses.flags, WIRE_SES_REL | WIRE_SES_HD | WIRE_SES_SOM | WIRE_SES_EOM);
	assert_int_equal(p.ses.message_id, 0x102);
	assert_int_equal(p.ses.job_id, 0x123);
	assert_int_equal(p.ses.pid_on_fep, 7);
	assert_int_equal(p.ses.resource_index, 5);
	assert_int_equal(p.ses.initiator, 10);
	assert_int_equal(p.ses.match, 0xabcd);
	assert_int_equal(p.ses.header_data, UINT64_C(0x1122334455667788));
	assert_int_equal(p.ses.request_length, 16);
	check_exact(s.packets[4].data, s.packets[4].len, true, &p); /* D05: later packet of a WRITE */
	assert_int_equal(p.ses.payload_length, 952);
	assert_int_equal(p.ses.message_offset, 2048);
	assert_int_equal(p.ses.buffer_offset, 0x100);
	assert_int_equal(p.ses.request_length, 3000);
	check_exact(s.packets[23].data, s.packets[23].len, true, &p); /* D24: rendezvous */
	assert_int_equal(p.ses.rndv_eager_length, 16);
	assert_int_equal(p.ses.rndv_pid_on_fep, 7);
	assert_int_equal(p.ses.rndv_resource_index, 2);
	assert_int_equal(p.ses.rndv_match, UINT64_C(0x0001000000000009));
	check_exact(s.packets[26].data, s.packets[26].len, true, &p); /* D27: read response */
	assert_int_equal(p.ses.opcode, WIRE_RSP_W_DATA);
	assert_int_equal(p.ses.return_code, WIRE_RC_OK);
	assert_int_equal(p.ses.read_message_id, 0x107);
	assert_int_equal(p.ses.payload_length, 1024);
	assert_int_equal(p.ses.message_offset, 1024);
	assert_int_equal(p.ses.modified_length, 4096);
	check_exact(s.packets[28].data, s.packets[28].len, true, &p); /* D29: compare and swap */
	assert_int_equal(p.ses.amo_opcode, 0x0d);
	assert_int_equal(p.ses.amo_compare[1], 5);
	assert_int_equal(p.ses.amo_swap[1], 6);
	check_exact(s.packets[34].data, s.packets[34].len, true, &p); /* D35: small data response */
	assert_int_equal(p.ses.original_psn, 0x1000b);
	assert_int_equal(p.ses.payload_length, 16);
	samples_free(&s);
}

/* ---- the generated packets ---- */

/* What becomes of a packet that deviates from the specification; 0: its UET bytes are reproduced exactly. */
enum deviation {
	NONE,
	CCX_STATE_8, /* vendor state of 8 bytes instead of 16: too short for what follows */
	SOM_MISSING, /* header data without SOM: taken for length and offset, reserved bits lost */
	NO_EXTENSION /* rendezvous without its extension */
};

static const enum deviation pds_deviations[19] = {[11] = CCX_STATE_8, [13] = CCX_STATE_8};
static const enum deviation ses_deviations[17] = {[2] = SOM_MISSING, [3] = SOM_MISSING, [15] = NO_EXTENSION};

enum { UET_AT = 28 };

/* Their outer headers deviate always (IPv4 id 1, no DF, computed UDP checksum), so only the UET bytes count. */
static enum wire_error uet_again(const uint8_t *packet, size_t len, uint8_t *again, struct plain_pkt *p)
{
	memset(p, 0, sizeof *p);
	enum wire_error error = plain_decode(packet, len, 0, WIRE_UDP_PORT, false, p);

	if (error == WIRE_OK) {
		assert_int_equal(plain_encode(p, again), p->header_bytes);
		memcpy(again + p->header_bytes, packet + p->header_bytes, p->payload_bytes);
	}
	return error;
}

/* With the missing 8 bytes of vendor state put in, the packet decodes. */
static void check_ccx(const uint8_t *packet, size_t len)
{
	uint8_t uet[PACKET_MAX] = {0}, fixed[PACKET_MAX], again[PACKET_MAX];
	struct plain_pkt p;
	size_t after_state = len - UET_AT - 12;

	assert_int_equal(uet_again(packet, len, again, &p), WIRE_ERR_SHORT);
	memcpy(uet, packet + UET_AT, after_state);
	memcpy(uet + after_state + 8, packet + len - 12, 12);
	size_t fixed_len = wrap_uet(true, uet, after_state + 8 + 12, fixed);
	assert_int_equal(uet_again(fixed, fixed_len, again, &p), WIRE_OK);
	assert_memory_equal(fixed, again, fixed_len);
	assert_int_equal(p.pds.ccx[0],
			 p.pds.type == WIRE_PDS_ACK_CCX ? UINT64_C(0x1122334455667788) : UINT64_C(0x3fdcba9876543210));
	assert_int_equal(p.pds.ccx[1], 0);
}

static void check_som(uint8_t *packet, size_t len)
{
	enum { SES_FLAGS_AT = UET_AT + 12 + 1, DATA_AT = UET_AT + 12 + 32 };
	uint8_t again[PACKET_MAX];
	struct plain_pkt p;

	assert_int_equal(uet_again(packet, len, again, &p), WIRE_OK);
	assert_memory_equal(again + UET_AT, packet + UET_AT, DATA_AT - UET_AT);
	assert_memory_not_equal(again + DATA_AT, packet + DATA_AT, 8);
	packet[SES_FLAGS_AT] |= WIRE_SES_SOM;
	assert_int_equal(uet_again(packet, len, again, &p), WIRE_OK);
	assert_memory_equal(again + UET_AT, packet + UET_AT, len - UET_AT);
	assert_int_equal(p.ses.header_data, UINT64_C(0xfedcba9876543210));
}

static void check_generated(const char *name, const enum deviation *deviations, size_t count)
{
	uint8_t again[PACKET_MAX];
	struct samples s;
	struct plain_pkt p;

	samples_load(&s, name);
	assert_int_equal(s.count, count);
	for (size_t i = 0; i < count; i++) {
		uint8_t *packet = s.packets[i].data;
		size_t len = s.packets[i].len;
		switch (deviations[i]) {
		case NONE:
			assert_int_equal(uet_again(packet, len, again, &p), WIRE_OK);
			assert_memory_equal(again + UET_AT, packet + UET_AT, len - UET_AT);
			break;
		case CCX_STATE_8:
			check_ccx(packet, len);
			break;
		case SOM_MISSING:
			check_som(packet, len);
			break;
		case NO_EXTENSION:
			assert_int_equal(uet_again(packet, len, again, &p), WIRE_ERR_SHORT);
			break;
		}
	}
	samples_free(&s);
}

static void xdp2_pds__reproduced_or_known_deviation(void **state)
{
	check_generated("uet_pds.pcap", pds_deviations, 19);
}

static void xdp2_ses__reproduced_or_known_deviation(void **state)
{
	check_generated("uet_ses.pcap", ses_deviations, 17);
}

/* A control packet of 12 bytes followed by a response reads as 16 bytes and 8 bytes of payload; a NACK may be followed
 * by a response although the specification sends none. */
static void xdp2_pds__other_deviations(void **state)
{
	struct samples s;
	struct plain_pkt p = {0};

	samples_load(&s, "uet_pds.pcap");
	assert_int_equal(plain_decode(s.packets[14].data, s.packets[14].len, 0, WIRE_UDP_PORT, false, &p), WIRE_OK);
	assert_int_equal(p.pds.ctl, WIRE_CTL_CREDIT_REQ);
	assert_int_equal(p.pds.payload, 0xc1091234);
	assert_int_equal(p.payload_bytes, 8);
	assert_int_equal(plain_decode(s.packets[12].data, s.packets[12].len, 0, WIRE_UDP_PORT, false, &p), WIRE_OK);
	assert_int_equal(p.pds.code, WIRE_NACK_PDC_MODE_MISMATCH);
	assert_int_equal(p.ses.modified_length, 0x09abcdef);
	samples_free(&s);
}

/* ---- golden headers of a model of specification 1.0.3 ---- */

static struct plain_pkt blank(void)
{
	return (struct plain_pkt){
		.net = {.src = weft_ip_v4(1), .dst = weft_ip_v4(2), .dst_port = WIRE_UDP_PORT},
	};
}

/* `p` encodes to these bytes behind UDP, and they decode to `p`. */
static void check_golden(const struct plain_pkt *p, const char *hex)
{
	uint8_t buf[PACKET_MAX] = {0}, again[PACKET_MAX];
	struct plain_pkt q = {0};
	size_t header_bytes = plain_encode(p, buf);

	assert_int_equal(header_bytes, UET_AT + strlen(hex) / 2);
	check_hex(hex, buf + UET_AT);
	assert_int_equal(plain_decode(buf, header_bytes + p->payload_bytes, 0, WIRE_UDP_PORT, false, &q), WIRE_OK);
	assert_int_equal(plain_encode(&q, again), header_bytes);
	assert_memory_equal(again, buf, header_bytes);
}

static void golden__pds(void **state)
{
	struct plain_pkt p = blank();

	p.pds = (struct plain_pds){
		.type = WIRE_PDS_ACK, .offset = 2, .psn = 0x10203040, .spdcid = 0x0102, .dpdcid = 0x0304};
	check_golden(&p, "380000021020304001020304");
	p.pds = (struct plain_pds){.type = WIRE_PDS_NACK,
				   .code = WIRE_NACK_ROD_OOO,
				   .psn = 0x01020304,
				   .spdcid = 0x1122,
				   .dpdcid = 0x3344,
				   .payload = 0x05060708};
	check_golden(&p, "50000d00010203041122334405060708");
	p.pds = (struct plain_pds){.type = WIRE_PDS_ACK_CC,
				   .flags = WIRE_F_ACK_M,
				   .offset = -2,
				   .psn = 0x10203040,
				   .spdcid = 0x0102,
				   .dpdcid = 0x0304,
				   .mpr = 0x80,
				   .sack_offset = -16,
				   .sack_bitmap = UINT64_C(1) << 63 | 1,
				   .service_time = 0x1234,
				   .rc = 1,
				   .rcv_cwnd_pend = 0x12,
				   .rcvd_bytes = 0x345678,
				   .ooo_count = 0x9abc};
	check_golden(&p, "4020fffe10203040010203040080fff0800000000000000112349234"
			 "56789abc");
}

static void golden__cp(void **state)
{
	struct plain_pkt p = blank();

	/* The model has a 12-byte header; the first word of its payload takes the fourth's place. It puts 0x3344 into
	 * the last two bytes, of which a SYN reserves 0x3000. */
	p.pds = (struct plain_pds){.type = WIRE_PDS_CP,
				   .ctl = WIRE_CTL_NEGOTIATION,
				   .flags = WIRE_F_ISROD | WIRE_F_AR | WIRE_F_SYN,
				   .opaque = 0x1234,
				   .psn = 0x01020304,
				   .spdcid = 0x1122,
				   .psn_offset = 0x344,
				   .payload = 0x01020000};
	p.payload_bytes = 4;
	check_golden(&p, "5cac1234010203041122034401020000");
}

static void golden__ses(void **state)
{
	struct plain_pkt p = blank();

	p.pds = (struct plain_pds){.type = WIRE_PDS_RUD_REQ,
				   .next_hdr = WIRE_NH_STD,
				   .flags = WIRE_F_RETX | WIRE_F_AR,
				   .offset = 0x1234,
				   .psn = 0x01020304,
				   .spdcid = 0x1122,
				   .dpdcid = 0x3344};
	p.ses = (struct plain_ses){.opcode = WIRE_OP_WRITE,
				   .flags = WIRE_SES_DC | WIRE_SES_REL | WIRE_SES_HD | WIRE_SES_EOM | WIRE_SES_SOM,
				   .message_id = 0x0102,
				   .ri_generation = 0x12,
				   .job_id = 0x345678,
				   .pid_on_fep = 0xabc,
				   .resource_index = 0xdef,
				   .buffer_offset = UINT64_C(0x0102030405060708),
				   .initiator = 0x11223344,
				   .match = UINT64_C(0x1020304050607080),
				   .header_data = UINT64_C(0xa1a2a3a4a5a6a7a8),
				   .request_length = 8};
	check_golden(&p, "119812340102030411223344"
			 "012f0102123456780abc0def0102030405060708112233441020304050607080a1a2a3a4a5a6a7a800000008");
	p.pds = (struct plain_pds){.type = WIRE_PDS_UUD_REQ, .next_hdr = WIRE_NH_MEDIUM};
	p.ses = (struct plain_ses){
		.opcode = WIRE_OP_DATAGRAM_SEND, .flags = WIRE_SES_SOM | WIRE_SES_EOM, .request_length = 128};
	check_golden(&p, "31000000"
			 "0703008000000000000000000000000000000000000000000000000000000000");
	p.pds = (struct plain_pds){.type = WIRE_PDS_RUDI_RESP, .next_hdr = WIRE_NH_RSP};
	p.ses = (struct plain_ses){.list = 1,
				   .opcode = WIRE_RSP_RESPONSE,
				   .return_code = WIRE_RC_BAD_GENERATION,
				   .message_id = 0x1234,
				   .ri_generation = 0x56,
				   .job_id = 0x789abc,
				   .modified_length = 0x01020304};
	check_golden(&p, "2a00000000000000410212345678"
			 "9abc01020304");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derived__decode_encode_exact),
		cmocka_unit_test(derived__trimmed),
		cmocka_unit_test(derived__fields_as_in_text),
		cmocka_unit_test(derived__ses_fields),
		cmocka_unit_test(xdp2_pds__reproduced_or_known_deviation),
		cmocka_unit_test(xdp2_ses__reproduced_or_known_deviation),
		cmocka_unit_test(xdp2_pds__other_deviations),
		cmocka_unit_test(golden__pds),
		cmocka_unit_test(golden__cp),
		cmocka_unit_test(golden__ses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
