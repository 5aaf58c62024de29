/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"
#include "plain_pkt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

enum { PCAP_FILE_HEADER_BYTES = 24, ETHERNET_BYTES = 14 };

FILE *samples_open(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", VECTOR_DIR, name);
	FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: cannot be opened", path);
	return file;
}

void samples_load(struct samples *s, const char *name)
{
	uint8_t file_header[PCAP_FILE_HEADER_BYTES], frame[PACKET_MAX];
	uint32_t record[4]; /* seconds, microseconds, captured bytes, original bytes */
	FILE *file = samples_open(name);

	s->count = 0;
	assert_int_equal(fread(file_header, sizeof file_header, 1, file), 1);
	while (fread(record, sizeof record, 1, file) == 1) {
		assert_in_range(record[2], ETHERNET_BYTES, sizeof frame);
		assert_int_equal(fread(frame, record[2], 1, file), 1);
		assert_true(s->count < SAMPLES_MAX);
		s->packets[s->count].len = record[2] - ETHERNET_BYTES;
		s->packets[s->count].data = exact_copy(frame + ETHERNET_BYTES, record[2] - ETHERNET_BYTES);
		s->count++;
	}
	fclose(file);
}

void samples_free(struct samples *s)
{
	while (s->count > 0)
		free(s->packets[--s->count].data);
}

uint8_t *exact_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

size_t uet_offset(const struct wire_net *net)
{
	return (weft_ip_is_v4(&net->src) ? 20 : 40) + (net->native ? 4 : 8);
}

size_t wrap_uet(bool v4, const uint8_t *uet, size_t len, uint8_t *buf)
{
	struct plain_pkt p = {
		.net = {.src = weft_ip_v4(0x0a000001), .dst = weft_ip_v4(0x0a000002), .dst_port = WIRE_UDP_PORT},
		.pds = {.type = WIRE_PDS_UUD_REQ},
		.payload_bytes = (uint16_t)(len - 4),
	};

	if (!v4)
		p.net.src.b[0] = p.net.dst.b[0] = 0xfd;
	assert_int_equal(plain_encode(&p, buf), uet_offset(&p.net) + 4);
	memcpy(buf + uet_offset(&p.net), uet, len);
	return uet_offset(&p.net) + len;
}

uint16_t ip4_checksum(const uint8_t *packet)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2) {
		if (i != 10)
			sum += (uint32_t)packet[i] << 8 | packet[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

static void fix_ip4(uint8_t *packet)
{
	uint16_t sum = ip4_checksum(packet);

	packet[10] = (uint8_t)(sum >> 8);
	packet[11] = (uint8_t)sum;
}

void set_ip_length(uint8_t *packet, size_t len)
{
	bool v4 = packet[0] >> 4 == 4;
	size_t at = v4 ? 2 : 4, value = v4 ? len : len - 40;

	packet[at] = (uint8_t)(value >> 8);
	packet[at + 1] = (uint8_t)value;
	if (v4)
		fix_ip4(packet);
}

void set_ip_tos(uint8_t *packet, uint8_t tos)
{
	if (packet[0] >> 4 == 4) {
		packet[1] = tos;
		fix_ip4(packet);
	} else {
		packet[0] = (uint8_t)(0x60 | tos >> 4);
		packet[1] = (uint8_t)(tos << 4 | (packet[1] & 0xf));
	}
}
