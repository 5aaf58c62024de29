/* SPDX-License-Identifier: BSD-3-Clause */
/* decode_fields FILE [crc] - what wire_check and the list of fields find in each packet of a capture, a line of JSON
 * each, under the names the Wireshark dissector uses. With `crc` packets end in a checked trailer. */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire_field.h"

enum { ETHERNET_BYTES = 14 };

static void number(const char *name, uint64_t value)
{
	printf(", \"%s\": %" PRIu64, name, value);
}

static void field(const struct wire_field *f, const uint8_t *header)
{
	if (f->show == WIRE_SHOW_SIGNED) {
		printf(", \"%s\": %" PRId64, f->name, (int64_t)wire_field_value(f, header));
	} else if (f->show == WIRE_SHOW_BYTES) {
		printf(", \"%s\": \"", f->name);
		for (uint32_t i = 0; i < f->bytes; i++)
			printf("%02x", header[f->at + i]);
		printf("\"");
	} else {
		number(f->name, wire_field_value(f, header));
	}
}

static void fields(const struct wire_part *part)
{
	const struct wire_field *f = wire_fields;

	while (f->name || f->group != part->group)
		f++;
	for (f++; f->name; f++)
		field(f, part->header);
}

/* What the dissector says besides: it follows from fields. */
static void derived(const struct wire_view *v, enum wire_group group)
{
	const struct wire_hdr *h = v->hdr;

	switch (group) {
	case WIRE_GROUP_REQUEST:
		number("clear_psn", wire_hdr_psn(h) + (uint32_t)wire_hdr_clear_offset(h));
		break;
	case WIRE_GROUP_ACK:
		number("psn", wire_hdr_cack(h) + (uint32_t)wire_hdr_ack_offset(h));
		break;
	case WIRE_GROUP_SACK:
		number("sack.base", wire_hdr_cack(h) + (uint32_t)wire_ack_cc_sack_offset(v->ack_cc));
		break;
	case WIRE_GROUP_NSCC:
		number("service_ns", 128U * wire_ack_cc_service_time(v->ack_cc));
		break;
	case WIRE_GROUP_MEDIUM:
		number("ses.request_length", wire_medium_length(v->medium));
		break;
	case WIRE_GROUP_SMALL:
		number("ses.request_length", wire_small_length(v->small));
		break;
	default:
		break;
	}
}

static void print(const uint8_t *ip, const struct pcap_pkthdr *h, uint32_t link_bytes, bool crc)
{
	struct wire_part parts[WIRE_PARTS_MAX];
	struct wire_rules rules;
	struct wire_view v;

	wire_rules_init(&rules, WIRE_UDP_PORT, crc);
	enum wire_error error = wire_check(&rules, ip, h->caplen - link_bytes, h->len - h->caplen, &v);
	printf("{\"error\": \"%s\"", wire_error_name(error));
	if (error == WIRE_OK) {
		number("ev", wire_view_entropy(&v));
		number("trimmed", v.outer->trimmed);
		/* A dissector that was not told of trailers takes them for payload. */
		number("payload_bytes", v.payload_bytes + (v.outer->crc && !crc ? 4 : 0));
		uint32_t n = wire_parts(&v, parts);
		for (uint32_t i = 0; i < n; i++) {
			fields(&parts[i]);
			derived(&v, parts[i].group);
		}
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	char why[PCAP_ERRBUF_SIZE];
	pcap_t *in = argc > 1 ? pcap_open_offline(argv[1], why) : NULL;
	if (!in) {
		fprintf(stderr, "decode_fields: %s\n", argc > 1 ? why : "usage: decode_fields FILE [crc]");
		return 1;
	}
	uint32_t link_bytes = pcap_datalink(in) == DLT_EN10MB ? ETHERNET_BYTES : 0;
	struct pcap_pkthdr *h;
	const u_char *bytes;
	int rc;
	while ((rc = pcap_next_ex(in, &h, &bytes)) == 1) {
		if (h->caplen >= link_bytes)
			print(bytes + link_bytes, h, link_bytes, argc > 2);
	}
	pcap_close(in);
	return rc == PCAP_ERROR_BREAK ? 0 : 1;
}
