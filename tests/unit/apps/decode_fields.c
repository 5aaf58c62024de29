/* SPDX-License-Identifier: BSD-3-Clause */
/* decode_fields FILE [crc] - what wire_decode finds in each packet of a capture, a line of JSON each, under the names
 * the Wireshark dissector uses. With `crc` packets end in a checked trailer. */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

enum { ETHERNET_BYTES = 14 };

static void number(const char *name, uint64_t value)
{
	printf(", \"%s\": %" PRIu64, name, value);
}

static void words(const char *name, const uint64_t word[2], int bytes)
{
	char text[40];
	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, word[0], word[1]);
	printf(", \"%s\": \"%.*s\"", name, 2 * bytes, text);
}

static void signed_number(const char *name, int value)
{
	printf(", \"%s\": %d", name, value);
}

static bool is_ack(const struct wire_pds *d)
{
	return d->type == WIRE_PDS_ACK || d->type == WIRE_PDS_ACK_CC || d->type == WIRE_PDS_ACK_CCX;
}

static void ids(const struct wire_pds *d)
{
	number("spdcid", d->spdcid);
	number("dpdcid", d->dpdcid);
	number("psn_offset", d->psn_offset);
	number("use_rsv_pdc", d->use_rsv_pdc);
}

static void congestion(const struct wire_pds *d)
{
	number("cc_type", d->cc_type);
	number("cc_flags", d->cc_flags);
	number("mpr", d->mpr);
	signed_number("sack.offset", d->sack_offset);
	number("sack.base", (uint32_t)(d->psn + (uint32_t)(int32_t)d->sack_offset));
	number("sack", d->sack_bitmap);
	number("service_time", d->service_time);
	number("service_ns", d->service_time * 128U);
	number("rc", d->rc);
	number("rcv_cwnd_pend", d->rcv_cwnd_pend);
	number("rcvd_bytes", d->rcvd_bytes);
	number("ooo_count", d->ooo_count);
	number("credit", d->credit);
	if (d->type == WIRE_PDS_ACK_CCX)
		words("ccx", d->ccx, 16);
	else if (d->cc_type > WIRE_CC_CREDIT)
		words("ccx", d->ccx, 8);
}

static void ack(const struct wire_pds *d)
{
	bool probe = d->flags & WIRE_F_ACK_P;
	number("cack", d->psn);
	number("opaque", d->opaque);
	signed_number("ack_offset", d->offset);
	number("psn", probe ? 0 : (uint32_t)(d->psn + (uint32_t)(int32_t)d->offset));
	number("flags.m", !!(d->flags & WIRE_F_ACK_M));
	number("flags.p", probe);
	number("flags.clear", !!(d->flags & WIRE_F_ACK_CLEAR));
	number("flags.close", !!(d->flags & WIRE_F_ACK_CLOSE));
	ids(d);
	if (d->type != WIRE_PDS_ACK)
		congestion(d);
}

static void nack(const struct wire_pds *d)
{
	number("nack.code", d->code);
	number("nack.vendor", d->vendor_code);
	number("nack.payload", d->payload);
	number("psn", d->psn);
	number("flags.m", !!(d->flags & WIRE_F_ACK_M));
	number("flags.nt", !!(d->flags & WIRE_F_NACK_NT));
	ids(d);
	if (d->type == WIRE_PDS_NACK_CCX)
		words("ccx", d->ccx, 16);
}

static void request_or_control(const struct wire_pds *d)
{
	bool control = d->type == WIRE_PDS_CP;
	number("psn", d->psn);
	number("flags.ar", !!(d->flags & WIRE_F_AR));
	number("flags.syn", !!(d->flags & WIRE_F_SYN));
	number("flags.isrod", control && d->flags & WIRE_F_ISROD);
	number("cp.type", d->ctl);
	number("cp.payload", d->payload);
	number("opaque", d->opaque);
	signed_number("clear_offset", d->offset);
	number("clear_psn", control ? 0 : (uint32_t)(d->psn + (uint32_t)(int32_t)d->offset));
	number("ccc_id", d->ccc_id);
	number("credit", d->credit);
	ids(d);
}

static void rudi(const struct wire_pds *d)
{
	number("pkt_id", d->psn);
	number("flags.m", !!(d->flags & WIRE_F_ACK_M));
}

static void pds(const struct wire_pds *d)
{
	bool is_rudi = d->type == WIRE_PDS_RUDI_REQ || d->type == WIRE_PDS_RUDI_RESP;
	number("type", d->type);
	number("next_hdr", d->next_hdr);
	number("flags", d->flags);
	number("flags.retx", d->type != WIRE_PDS_UUD_REQ && d->flags & WIRE_F_RETX);
	if (is_ack(d))
		ack(d);
	else if (d->type == WIRE_PDS_NACK || d->type == WIRE_PDS_NACK_CCX)
		nack(d);
	else if (is_rudi)
		rudi(d);
	else if (d->type != WIRE_PDS_UUD_REQ)
		request_or_control(d);
}

static void extension(const struct wire_ses *s)
{
	number("amo.opcode", s->amo_opcode);
	number("amo.datatype", s->amo_datatype);
	number("amo.control", s->amo_control);
	if (s->amo_compare[0] || s->amo_compare[1] || s->amo_swap[0] || s->amo_swap[1]) {
		words("amo.compare", s->amo_compare, 16);
		words("amo.swap", s->amo_swap, 16);
	}
	number("rndv.eager_length", s->rndv_eager_length);
	number("rndv.ri_generation", s->rndv_ri_generation);
	number("rndv.pid_on_fep", s->rndv_pid_on_fep);
	number("rndv.resource_index", s->rndv_resource_index);
	number("rndv.buffer_offset", s->rndv_offset);
	number("rndv.match", s->rndv_match);
}

static void ses(const struct wire_ses *s, bool response)
{
	number(response ? "rsp.opcode" : "ses.opcode", s->opcode);
	number("rsp.list", s->list);
	number("rsp.code", s->return_code);
	number("ses.flags", s->flags);
	number("ses.version", s->version);
	number("ses.som", s->flags & WIRE_SES_SOM);
	number("ses.eom", !!(s->flags & WIRE_SES_EOM));
	number("ses.hd", !!(s->flags & WIRE_SES_HD));
	number("ses.rel", !!(s->flags & WIRE_SES_REL));
	number("ses.ie", !!(s->flags & WIRE_SES_IE));
	number("ses.dc", !!(s->flags & WIRE_SES_DC));
	number("ses.message_id", s->message_id);
	number("ses.ri_generation", s->ri_generation);
	number("ses.job_id", s->job_id);
	number("ses.pid_on_fep", s->pid_on_fep);
	number("ses.resource_index", s->resource_index);
	number("ses.buffer_offset", s->buffer_offset);
	number("ses.initiator", s->initiator);
	number("ses.match", s->match);
	number("ses.header_data", s->header_data);
	number("ses.payload_length", s->payload_length);
	number("ses.message_offset", s->message_offset);
	number("ses.request_length", s->request_length);
	number("ses.modified_length", s->modified_length);
	number("ses.read_message_id", s->read_message_id);
	number("ses.original_psn", s->original_psn);
	extension(s);
}

static void print(const uint8_t *ip, const struct pcap_pkthdr *h, uint32_t link_bytes, bool crc)
{
	struct wire_pkt p = {0};
	enum wire_error error = wire_decode(ip, h->caplen - link_bytes, h->len - h->caplen, WIRE_UDP_PORT, crc, &p);
	printf("{\"error\": \"%s\"", wire_error_name(error));
	if (error == WIRE_OK) {
		number("ev", p.net.entropy);
		number("trimmed", p.trimmed);
		number("payload_bytes", p.payload_bytes);
		pds(&p.pds);
		if (p.has_ses)
			ses(&p.ses, p.pds.next_hdr >= WIRE_NH_RSP);
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
