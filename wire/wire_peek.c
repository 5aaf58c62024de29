/* SPDX-License-Identifier: BSD-3-Clause */
/* What switches need of a packet. They get anything: only IP lengths and bytes within head_len are trusted. */
#include "wire_fmt.h"

/* Bytes on the link of an IP packet; saturates where the field ends. */
static uint16_t link_bytes(uint32_t ip_bytes)
{
	uint32_t bytes = ip_bytes + WEFT_L1_OVERHEAD_BYTES;

	if (bytes < WEFT_WIRE_MIN_BYTES)
		return WEFT_WIRE_MIN_BYTES;
	return bytes > UINT16_MAX ? UINT16_MAX : (uint16_t)bytes;
}

static uint8_t class_flags(uint8_t dscp)
{
	if (dscp_trimmed(dscp))
		return WEFT_PKT_TRIMMED | WEFT_PKT_CONTROL;
	return wire_class_flags(dscp);
}

static void peek_ip(struct weft_pkt *pkt, const struct ip_view *ip)
{
	bool v4 = ip->header_bytes == IP4_BYTES;

	pkt->src = load32(pkt->head + (v4 ? IP4_SRC_AT : 20));
	pkt->dst = load32(pkt->head + (v4 ? IP4_SRC_AT + 4 : 36));
	pkt->dscp = ip->tos >> 2;
	pkt->ecn = ip->tos & 3;
	pkt->flags = (uint8_t)((pkt->flags & WEFT_PKT_TRAILER) | class_flags(pkt->dscp));
	pkt->wire_bytes = link_bytes(ip->total_bytes);
}

bool wire_peek(struct weft_pkt *pkt)
{
	struct ip_view ip;

	pkt->entropy = 0;
	if (!ip_view(pkt->head, pkt->head_len, &ip)) {
		pkt->src = pkt->dst = 0;
		pkt->dscp = pkt->ecn = 0;
		pkt->flags &= WEFT_PKT_TRAILER;
		pkt->wire_bytes = link_bytes((uint32_t)pkt->head_len + pkt->payload_len);
		return false;
	}
	peek_ip(pkt, &ip);
	uint32_t l4_bytes = ip.proto == IP_PROTO_UDP ? UDP_BYTES : ENTROPY_BYTES;
	if (!ip.plain || (ip.proto != IP_PROTO_UDP && ip.proto != IP_PROTO_NATIVE) ||
	    ip.header_bytes + l4_bytes > pkt->head_len || ip.header_bytes + l4_bytes > ip.total_bytes)
		return false;
	pkt->entropy = load16(pkt->head + ip.header_bytes);
	return true;
}

/* IPv4 checksum after one 16-bit word changed (RFC 1624, equation 3). */
static void fix_checksum(uint8_t *head, uint16_t old_word, uint16_t new_word)
{
	uint32_t sum = (uint16_t)~load16(head + 10) + (uint32_t)(uint16_t)~old_word + new_word;

	store16(head + 10, (uint16_t)~fold16(sum));
}

/* Writes the type of service (IPv4) or traffic class (IPv6) byte. */
static void set_tos(uint8_t *head, uint8_t tos)
{
	uint16_t old_word = load16(head), new_word;

	if (head[0] >> 4 == 4) {
		new_word = (uint16_t)((old_word & 0xff00) | tos);
		fix_checksum(head, old_word, new_word);
	} else {
		new_word = (uint16_t)((old_word & 0xf00f) | tos << 4);
	}
	store16(head, new_word);
}

static void set_total_bytes(uint8_t *head, uint32_t bytes)
{
	if (head[0] >> 4 == 4) {
		fix_checksum(head, load16(head + 2), (uint16_t)bytes);
		store16(head + 2, (uint16_t)bytes);
	} else {
		store16(head + 4, (uint16_t)(bytes - IP6_BYTES));
	}
}

void wire_mark_ce(struct weft_pkt *pkt)
{
	struct ip_view ip;

	if (!ip_view(pkt->head, pkt->head_len, &ip))
		return;
	set_tos(pkt->head, ip.tos | WEFT_ECN_CE);
	pkt->ecn = WEFT_ECN_CE;
}

/* Of headers behind a UDP or entropy header, `left` bytes of which are there. What is encrypted may be any: as much as
 * a request needs that has all a trimmed one is good for. */
static uint32_t headers_bytes(const uint8_t *b, uint32_t left)
{
	enum { TSS_BYTES = 16, REQUEST_BYTES = 16 + 44 };
	const struct wire_hdr *hdr = (const struct wire_hdr *)b;
	uint32_t bytes = wire_pds_bytes(wire_hdr_type(hdr));

	if (wire_hdr_type(hdr) == WIRE_PDS_TSS)
		return TSS_BYTES + REQUEST_BYTES;
	return bytes < left ? bytes + ses_span(b + bytes, left - bytes, ses_form(hdr)) : bytes;
}

/* All headers after IP, or the minimum a trimming switch keeps when they make no sense; at most `left`. */
static uint32_t kept_bytes(const uint8_t *b, uint32_t left, uint8_t proto)
{
	uint32_t l4_bytes = proto == IP_PROTO_UDP ? UDP_BYTES : ENTROPY_BYTES, kept = l4_bytes + TRIM_KEEP_BYTES;

	if (left >= l4_bytes + PDS_MIN_BYTES) {
		uint32_t headers = l4_bytes + headers_bytes(b + l4_bytes, left - l4_bytes);
		kept = headers > kept ? headers : kept;
	}
	return kept < left ? kept : left;
}

void wire_trim(struct weft_pkt *pkt, bool last_hop)
{
	struct ip_view ip;

	if (!ip_view(pkt->head, pkt->head_len, &ip) || ip.total_bytes < ip.header_bytes)
		return;
	uint32_t end = ip.total_bytes < pkt->head_len ? ip.total_bytes : pkt->head_len;
	uint32_t kept = ip.header_bytes + kept_bytes(pkt->head + ip.header_bytes, end - ip.header_bytes, ip.proto);
	uint8_t dscp = last_hop ? WIRE_DSCP_TRIMMED_LASTHOP : WIRE_DSCP_TRIMMED;

	set_tos(pkt->head, (uint8_t)(dscp << 2 | (ip.tos & 3)));
	set_total_bytes(pkt->head, kept);
	pkt->dscp = dscp;
	pkt->flags = class_flags(dscp);
	pkt->head_len = (uint16_t)kept;
	pkt->payload = NULL;
	pkt->payload_len = 0;
	pkt->wire_bytes = link_bytes(kept);
}
