/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of the scripted peer agrees with packets of other origin, trailers included; and the independent
 * implementation answers as we ask of others. */
#include "capture_file.h"
#include "conform.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const captures[] = {"no_answer.pcap",  "ids.pcap",          "id_gap.pcap",     "job.pcap",
				       "deferrable.pcap", "ordered.pcap",      "read16.pcap",     "read3000.pcap",
				       "read1000.pcap",   "uud_standard.pcap", "uud_medium.pcap", "bad_index.pcap",
				       "bad_key.pcap",    "close_req.pcap"};
static const char *const derived[] = {"vectors/uet_derived_ip_v4.pcap", "vectors/uet_derived_udp_v4.pcap",
				      "vectors/uet_derived_ip_v6.pcap", "vectors/uet_derived_udp_v6.pcap"};
enum {
	CAPTURES = sizeof captures / sizeof captures[0],
	ENCAPSULATIONS = 4,
	DERIVED_PACKETS = 40,
	TRIMMED_PACKET = 37, /* D38 has no trailer */
	IP_ICMP = 1,
};

static void captures__trailers_verify(void **state)
{
	struct capture *c = malloc(sizeof *c);
	uint32_t verified = 0;

	assert_non_null(c);
	for (int i = 0; i < CAPTURES; i++) {
		capture_load(c, captures[i]);
		for (uint32_t k = 0; k < c->count; k++) {
			const struct capture_packet *p = &c->packets[k];
			if (p->ip[9] == IP_ICMP)
				continue;
			assert_true(p->uet && p->frame.crc_ok && p->frame.reserved_clear);
			p->ip[p->len - 1] ^= 1;
			struct uet_link link = {.crc = true};
			memcpy(link.remote, p->ip + 12, 4);
			memcpy(link.local, p->ip + 16, 4);
			struct uet_frame broken;
			assert_true(uet_unwrap(&link, p->ip, p->len, &broken) && !broken.crc_ok);
			verified++;
		}
		capture_free(c);
	}
	assert_int_equal(verified, 372);
	free(c);
}

static void check_hex(const char *hex, const uint8_t *bytes)
{
	for (; hex[0] && hex[1]; hex += 2, bytes++) {
		char digits[3] = {hex[0], hex[1]};
		assert_int_equal(strtoul(digits, NULL, 16), *bytes);
	}
}

/* Headers written from what was read are those of the text, and its trailer is the packet's. */
static void check_vector(const struct capture_packet *p, char *columns[7], int encapsulation)
{
	uint8_t again[UET_PACKET_MAX];
	struct uet_pkt headers = p->frame.pkt;

	assert_true(p->uet && p->frame.crc_ok && p->frame.reserved_clear);
	assert_true(uet_write(&headers, again) > 0);
	check_hex(columns[3], again);
	check_hex(columns[4], again + strlen(columns[3]) / 2);
	char *rest = columns[6], *trailer = NULL;
	for (int i = 0; i <= encapsulation; i++)
		trailer = strsep(&rest, " \n");
	check_hex(trailer, p->ip + p->len - 4);
}

static void vectors__fields_and_trailers(void **state)
{
	struct capture *c = malloc(sizeof *c);
	char line[1024];

	assert_non_null(c);
	for (int i = 0; i < ENCAPSULATIONS; i++) {
		FILE *text = fopen(VECTOR_DIR "/derived.txt", "r");
		uint32_t packet = 0;
		assert_non_null(text);
		capture_load(c, derived[i]);
		for (; fgets(line, sizeof line, text); packet++) {
			char *columns[7], *rest = line;
			for (int k = 0; k < 7; k++)
				columns[k] = strsep(&rest, "\t");
			assert_non_null(columns[6]);
			if (packet != TRIMMED_PACKET)
				check_vector(&c->packets[packet], columns, i);
		}
		assert_int_equal(packet, DERIVED_PACKETS);
		fclose(text);
		capture_free(c);
	}
	free(c);
}

/* The request of the other side that an acknowledgement is for. */
static const struct uet_pkt *request_of(const struct capture *c, const struct uet_pkt *ack)
{
	uint32_t psn = (uint32_t)ack->f[UET_CACK] + (uint32_t)uet_signed(ack, UET_ACK_OFFSET);

	for (uint32_t i = 0; i < c->count; i++) {
		const struct capture_packet *p = &c->packets[i];
		uint64_t type = p->frame.pkt.f[UET_TYPE];
		if (p->uet && !p->from_first && (type == UET_RUD_REQ || type == UET_CP) &&
		    p->frame.pkt.f[UET_PSN] == psn)
			return &p->frame.pkt;
	}
	return NULL;
}

/* So what the peer asks of answers is not our invention. */
static void other_implementation__answers_as_wanted(void **state)
{
	static const char *const asked[] = {"job.pcap", "read1000.pcap", "close_req.pcap"};
	struct capture *c = malloc(sizeof *c);
	uint32_t judged = 0, nulls = 0;

	assert_non_null(c);
	for (int i = 0; i < 3; i++) {
		capture_load(c, asked[i]);
		for (uint32_t k = 0; k < c->count; k++) {
			const struct capture_packet *p = &c->packets[k];
			if (!p->uet || !p->from_first || p->frame.pkt.f[UET_TYPE] != UET_ACK)
				continue;
			if (p->frame.pkt.f[UET_NEXT] == UET_RSP && p->frame.pkt.f[UET_RETURN_CODE] == UET_RC_NULL) {
				nulls++;
				continue;
			}
			const struct uet_pkt *request = request_of(c, &p->frame.pkt);
			struct uet_pkt want;
			assert_non_null(request);
			conform_wanted_ack(request, &p->frame, UET_RC_OK, (uint32_t)p->frame.pkt.f[UET_CACK], &want);
			want.f[UET_FLAGS] =
				p->frame.pkt.f[UET_FLAGS]; /* which of two transmissions it answers is open */
			assert_int_equal(uet_difference(&want, &p->frame.pkt, 0), UET_FIELDS);
			judged++;
		}
		capture_free(c);
	}
	assert_true(judged > 8);
	assert_int_equal(nulls, 1); /* of the READ that was sent twice */
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures__trailers_verify),
		cmocka_unit_test(vectors__fields_and_trailers),
		cmocka_unit_test(other_implementation__answers_as_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
