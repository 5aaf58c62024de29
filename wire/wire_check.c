/* SPDX-License-Identifier: BSD-3-Clause */
/* What wire_check does when a packet is not like the one before it. Every step is sure of the bytes it reads. */
#include "wire_check.h"

#include "wire_fmt.h"

/* ---- network headers ---- */

/* False for IPv4-mapped addresses in an IPv6 header: they must not appear there and would pass for IPv4 peers. */
static bool get_addresses(const uint8_t *ip, bool v4, struct weft_ip *src, struct weft_ip *dst)
{
	if (v4) {
		*src = weft_ip_v4(load32(ip + IP4_SRC_AT));
		*dst = weft_ip_v4(load32(ip + IP4_DST_AT));
		return true;
	}
	memcpy(src->b, ip + IP6_SRC_AT, sizeof src->b);
	memcpy(dst->b, ip + IP6_SRC_AT + sizeof src->b, sizeof dst->b);
	return !weft_ip_is_v4(src) && !weft_ip_is_v4(dst);
}

/* `bytes`: what there is of the packet, header included. */
static enum wire_error check_ip(const uint8_t *ip, size_t bytes, const struct ip_view *view, struct weft_ip *src,
				struct weft_ip *dst)
{
	bool v4 = view->header_bytes == IP4_BYTES;

	if (!view->plain || view->total_bytes < view->header_bytes || (v4 && ip4_sum(ip) != 0xffff))
		return WIRE_ERR_IP;
	if (view->total_bytes > bytes)
		return WIRE_ERR_SHORT;
	return get_addresses(ip, v4, src, dst) ? WIRE_OK : WIRE_ERR_IP;
}

/* Whether the four bytes at `end` are the CRC32C of what is before them. */
static bool crc_is_right(const uint8_t *ip, uint32_t end)
{
	uint32_t from = ip[0] >> 4 == 4 ? IP4_SRC_AT : IP6_SRC_AT;

	return load32(ip + end) == wire_crc32c(0, ip + from, end - from);
}

static enum wire_error check_crc(const uint8_t *ip, uint32_t len, const struct ip_view *view)
{
	if (view->total_bytes > len)
		return WIRE_ERR_CRC;
	if (view->total_bytes < view->header_bytes + CRC_BYTES)
		return WIRE_ERR_SHORT;
	return crc_is_right(ip, view->total_bytes - CRC_BYTES) ? WIRE_OK : WIRE_ERR_CRC;
}

/* UDP header; its checksum is 0 or ignored. A switch that trims shortens the IP length only. */
static enum wire_error check_udp(const uint8_t *udp, uint32_t left, uint32_t ip_payload, uint16_t udp_port,
				 struct wire_outer *o)
{
	if (left < UDP_BYTES)
		return WIRE_ERR_SHORT;
	uint32_t udp_bytes = load16(udp + 4), to = load16(udp + 2);
	bool fits = o->trimmed ? udp_bytes >= ip_payload : udp_bytes == ip_payload;
	if (to == WIRE_UDP_PORT_49150)
		o->encap |= WIRE_ENCAP_UDP_49150;
	return (to == udp_port || to == WIRE_UDP_PORT_49150) && fits ? WIRE_OK : WIRE_ERR_UDP;
}

/* UDP or entropy header, and that a PDS header begins behind it; `left` bytes of which are there. */
static enum wire_error check_l4(const uint8_t *l4, uint32_t left, const struct ip_view *view, uint16_t udp_port,
				struct wire_outer *o)
{
	o->native = view->proto == IP_PROTO_NATIVE;
	o->encap = (uint8_t)((o->native ? WIRE_ENCAP_NATIVE : WIRE_ENCAP_UDP) | (o->crc ? WIRE_ENCAP_CRC : 0));
	uint32_t bytes = o->native ? ENTROPY_BYTES : UDP_BYTES;
	enum wire_error error = left < bytes ? WIRE_ERR_SHORT : WIRE_OK;
	if (!o->native && view->proto != IP_PROTO_UDP)
		return WIRE_ERR_UDP;
	if (!o->native)
		error = check_udp(l4, left, view->total_bytes - view->header_bytes, udp_port, o);
	o->bytes = (uint8_t)(view->header_bytes + bytes);
	return error == WIRE_OK && left < bytes + PDS_MIN_BYTES ? WIRE_ERR_SHORT : error;
}

/* Whether all packets with these network headers are in order, but for their number of bytes. */
static bool may_remember(const struct wire_rules *rules, const struct wire_outer *o)
{
	return weft_ip_is_v4(&o->src) && !o->encap && !o->trimmed && !rules->require_crc;
}

static void remember(const uint8_t *ip, uint32_t total_bytes, struct wire_outer *o)
{
	o->version = raw64(ip);
	o->ttl = raw64(ip + 8);
	o->dst = raw32(ip + IP4_DST_AT);
	o->port = raw32(ip + UDP_PORT_AT);
	o->total_bytes = total_bytes;
}

enum wire_error wire_check_outer(const struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more,
				 struct wire_outer *o)
{
	struct ip_view view;
	struct weft_ip dst;

	o->total_bytes = UINT32_MAX;
	if (!ip_view(ip, len, &view))
		return len < IP4_BYTES || (ip[0] >> 4 == 6 && len < IP6_BYTES) ? WIRE_ERR_SHORT : WIRE_ERR_IP;
	enum wire_error error = check_ip(ip, (size_t)len + more, &view, &o->src, &dst);
	o->tos = view.tos;
	o->trimmed = dscp_trimmed(view.tos >> 2);
	o->crc = rules->require_crc && !o->trimmed;
	if (error == WIRE_OK && o->crc)
		error = check_crc(ip, len, &view);
	if (error != WIRE_OK)
		return error;
	o->end = view.total_bytes - (o->crc ? CRC_BYTES : 0);
	uint32_t left = (o->end < len ? o->end : len) - view.header_bytes;
	error = check_l4(ip + view.header_bytes, left, &view, rules->udp_port, o);
	if (error != WIRE_OK)
		return error;
	if (!rules->any_dst && !weft_ip_eq(&dst, &rules->dst))
		return WIRE_NOT_OURS;
	if (may_remember(rules, o))
		remember(ip, view.total_bytes, o);
	return WIRE_OK;
}

static void forget(struct wire_rules *rules)
{
	rules->seen_data.total_bytes = rules->seen_ack.total_bytes = rules->seen_short_ack.total_bytes = UINT32_MAX;
}

void wire_rules_init(struct wire_rules *rules, uint16_t udp_port, bool require_crc)
{
	*rules = (struct wire_rules){.any_dst = true, .require_crc = require_crc, .udp_port = udp_port};
	forget(rules);
}

void wire_rules_set_dst(struct wire_rules *rules, const struct weft_ip *dst)
{
	rules->dst = *dst;
	rules->any_dst = false;
	forget(rules);
}

/* ---- PDS and SES ---- */

/* The kind of an untrimmed packet. */
static enum wire_kind kind_of(uint8_t type, uint8_t next_hdr)
{
	switch (type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		if (next_hdr == WIRE_NH_STD)
			return WIRE_KIND_DATA;
		return next_hdr == WIRE_NH_RSP_DATA ? WIRE_KIND_READ_DATA : WIRE_KIND_REFUSED;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		return WIRE_KIND_ACK;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		return WIRE_KIND_NACK;
	case WIRE_PDS_CP:
		return WIRE_KIND_CP;
	case WIRE_PDS_RUDI_REQ:
	case WIRE_PDS_RUDI_RESP:
		return WIRE_KIND_RUDI;
	default:
		assert(type == WIRE_PDS_UUD_REQ); /* types without a length are refused before */
		return WIRE_KIND_DATAGRAM;
	}
}

static bool is_request(enum wire_kind kind)
{
	return kind == WIRE_KIND_DATA || kind == WIRE_KIND_READ_DATA || kind == WIRE_KIND_REFUSED;
}

struct wire_inner wire_check_inner(const uint8_t *pds, uint32_t left, bool trimmed)
{
	const struct wire_hdr *hdr = (const struct wire_hdr *)pds;
	uint8_t type = wire_hdr_type(hdr), next_hdr = ses_form(hdr);
	uint32_t bytes = wire_pds_bytes(type);

	assert(left >= PDS_MIN_BYTES);
	if (!bytes)
		return (struct wire_inner){.error = WIRE_ERR_PDS};
	if (left < bytes)
		return (struct wire_inner){.error = WIRE_ERR_SHORT};
	enum wire_kind kind = kind_of(type, next_hdr);
	struct wire_inner inner = {.kind = (uint8_t)(trimmed && is_request(kind) ? WIRE_KIND_TRIMMED : kind),
				   .type = type,
				   .next_hdr = next_hdr,
				   .pds_bytes = (uint8_t)bytes};
	if (next_hdr == WIRE_NH_NONE)
		return inner;
	if (!ses_known(next_hdr))
		return (struct wire_inner){.error = WIRE_ERR_SES};
	uint32_t span = ses_span(pds + bytes, left - bytes, next_hdr);
	assert(span <= UINT8_MAX);
	if (span <= left - bytes)
		inner.ses_bytes = (uint8_t)span;
	else if (!trimmed)
		inner.error = WIRE_ERR_SHORT;
	else
		inner.next_hdr = WIRE_NH_NONE;
	return inner;
}

/* ---- trailers ---- */

/* No field says whether a CRC32C follows the payload. Lengths do: it is four bytes more than the SES header has for it.
 */
enum trailer {
	TRAILER_NONE,
	TRAILER_CRC, /* the four bytes can be nothing else */
	TRAILER_ASK, /* ... or payload: they are a CRC if they are right */
};

static enum trailer trailer_by_length(uint32_t bytes, uint32_t payload_bytes)
{
	return bytes == payload_bytes + CRC_BYTES ? TRAILER_CRC : TRAILER_NONE;
}

static bool is_payload_mtu(uint32_t bytes)
{
	return bytes == 1024 || bytes == 2048 || bytes == 4096 || bytes == 8192;
}

/* The first packet of several has a whole Payload MTU, of which UET has few; between Wefts there are others. */
static enum trailer trailer_of_first(uint32_t bytes)
{
	if (is_payload_mtu(bytes) || bytes < CRC_BYTES)
		return TRAILER_NONE;
	return is_payload_mtu(bytes - CRC_BYTES) ? TRAILER_CRC : TRAILER_ASK;
}

/* Atomics have a payload of that length or, with their operands in the header or none at all, no payload. */
static enum trailer trailer_of_extended(const struct wire_std *s, uint32_t bytes)
{
	bool plain = bytes < CRC_BYTES || (bytes == wire_std_request_length(s) && bytes != CRC_BYTES);

	return plain ? TRAILER_NONE : TRAILER_ASK;
}

/* `bytes`: behind the headers of a standard request. */
static enum trailer trailer_of_std(const struct wire_std *s, uint32_t bytes)
{
	uint8_t opcode = wire_req_opcode(&s->req);

	if (opcode == WIRE_OP_READ || opcode == WIRE_OP_MSG_ERROR)
		return trailer_by_length(bytes, 0);
	if (wire_op_extends(opcode))
		return trailer_of_extended(s, bytes);
	if (!wire_req_som(&s->req))
		return trailer_by_length(bytes, wire_std_payload_length(s));
	if (wire_req_eom(&s->req))
		return trailer_by_length(bytes, wire_std_request_length(s));
	return trailer_of_first(bytes);
}

static enum trailer trailer_of(const struct wire_view *v, uint32_t bytes)
{
	if (v->type == WIRE_PDS_CP)
		return bytes >= CRC_BYTES ? TRAILER_ASK : TRAILER_NONE;
	switch (v->next_hdr) {
	case WIRE_NH_STD:
		return trailer_of_std(v->std, bytes);
	case WIRE_NH_SMALL:
	case WIRE_NH_MEDIUM:
		return wire_op_may_lack_payload(wire_req_opcode(v->req))
			       ? (bytes >= CRC_BYTES ? TRAILER_ASK : TRAILER_NONE)
			       : trailer_by_length(bytes, wire_medium_length(v->medium));
	case WIRE_NH_RSP_DATA:
		return trailer_by_length(bytes, wire_rsp_data_payload_length(v->rsp_data));
	case WIRE_NH_RSP_DATA_SMALL:
		return trailer_by_length(bytes, wire_rsp_payload_length(v->rsp));
	default:
		return trailer_by_length(bytes, 0);
	}
}

/* Finds out whether the packet has a trailer, and takes it off what `o` says of it. */
static enum wire_error take_trailer(const struct wire_view *v, uint32_t len, struct wire_outer *o)
{
	enum trailer trailer = trailer_of(v, v->payload_bytes);

	if (likely(trailer == TRAILER_NONE))
		return WIRE_OK;
	o->total_bytes = UINT32_MAX; /* not what a packet with these network headers has always */
	if (o->end > len || !crc_is_right(v->ip, o->end - CRC_BYTES))
		return trailer == TRAILER_CRC ? WIRE_ERR_CRC : WIRE_OK;
	o->end -= CRC_BYTES;
	o->crc = true;
	o->encap |= WIRE_ENCAP_CRC;
	return WIRE_OK;
}

/* ---- both ---- */

bool wire_view_is_cut(const struct wire_view *v)
{
	const struct wire_std *s = v->std;

	if (v->kind != WIRE_KIND_REFUSED || v->next_hdr != WIRE_NH_STD ||
	    wire_op_may_lack_payload(wire_req_opcode(&s->req)))
		return false;
	if (!wire_req_som(&s->req))
		return v->payload_bytes < wire_std_payload_length(s);
	uint32_t length = wire_std_request_length(s);
	return v->payload_bytes < (wire_req_eom(&s->req) ? length : length != 0);
}

/* Whether a request can be placed. */
static enum wire_kind kind_that_fits(const struct wire_view *v)
{
	if (v->kind == WIRE_KIND_DATA && !wire_std_fits(v->std, v->payload_bytes))
		return WIRE_KIND_REFUSED;
	if (v->kind == WIRE_KIND_READ_DATA && !wire_rsp_data_fits(v->rsp_data, v->payload_bytes))
		return WIRE_KIND_REFUSED;
	return v->kind;
}

/* Where the network headers are kept: with those of usual packets if it looks like one. */
static struct wire_outer *place_of(struct wire_rules *rules, const uint8_t *ip, uint32_t len)
{
	if (len < WIRE_USUAL_SHORT_ACK_BYTES)
		return &rules->seen_other;
	uint32_t prologue = load16(ip + WIRE_USUAL_NET_BYTES);
	if (len < WIRE_USUAL_ACK_BYTES)
		return wire_is_short_ack(prologue) ? &rules->seen_short_ack : &rules->seen_other;
	switch (wire_usual_kind(prologue)) {
	case WIRE_KIND_ACK:
		return &rules->seen_ack;
	case WIRE_KIND_DATA:
		return &rules->seen_data;
	default:
		return &rules->seen_other;
	}
}

/* Switches trim what carries payload. Anything else under their DSCPs was not trimmed, and only its trailer is missing.
 */
static bool may_be_trimmed(enum wire_kind kind)
{
	return kind == WIRE_KIND_TRIMMED || kind == WIRE_KIND_RUDI || kind == WIRE_KIND_DATAGRAM;
}

struct wire_view wire_check_any(struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more)
{
	struct wire_outer *o = place_of(rules, ip, len);
	struct wire_view v = {.error = wire_check_outer(rules, ip, len, more, o)};

	if (v.error != WIRE_OK)
		return v;
	struct wire_inner inner = wire_check_inner(ip + o->bytes, (o->end < len ? o->end : len) - o->bytes, o->trimmed);
	v.error = inner.error;
	if (v.error == WIRE_OK && rules->require_crc && o->trimmed && !may_be_trimmed(inner.kind))
		v.error = WIRE_ERR_CRC;
	if (v.error != WIRE_OK)
		return v;
	wire_view_set(&v, ip, o->bytes, o, inner);
	if (!o->trimmed && !o->crc)
		v.error = take_trailer(&v, len, o);
	v.payload_bytes = o->trimmed ? 0 : o->end - v.header_bytes;
	v.kind = kind_that_fits(&v);
	return v;
}
