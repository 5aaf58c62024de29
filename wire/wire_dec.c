/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoder. Each step takes bytes from the rest of the packet and is sure of their number before it reads. The
 * usual two kinds of packets have decoders of their own, wire_hot.h. */
#include "wire_hot.h"

/* The part of a packet not decoded yet. */
struct rest {
	const uint8_t *at;
	uint32_t bytes; /* readable here, without trailer */
};

static HOT void take(struct rest *r, uint32_t bytes)
{
	r->at += bytes;
	r->bytes -= bytes;
}

/* Zero: memset of this size becomes a string instruction, slower than all the rest of a header. */
static HOT void clear72(void *p)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	pair *pairs = p;

	pairs[0] = pairs[1] = pairs[2] = pairs[3] = (pair){0, 0};
	put_raw64((uint8_t *)p + 64, 0);
}

_Static_assert(sizeof(struct wire_pds) == 72, "what clear72 clears");
_Static_assert(offsetof(struct wire_ses, amo_compare) == 72, "what clear72 clears");

static HOT struct weft_ip mapped(const uint8_t *ip4)
{
	struct weft_ip ip;

	put_raw64(ip.b, 0);
	put_raw64(ip.b + 8, (uint64_t)raw32(ip4) << 32 | 0xffff0000);
	return ip;
}

/* False for IPv4-mapped addresses in an IPv6 header: they must not appear there and would pass for IPv4 peers. */
static HOT bool get_addresses(const uint8_t *buf, bool v4, struct wire_net *net)
{
	if (v4) {
		net->src = mapped(buf + IP4_SRC_AT);
		net->dst = mapped(buf + IP4_SRC_AT + 4);
		return true;
	}
	memcpy(net->src.b, buf + IP6_SRC_AT, sizeof net->src.b);
	memcpy(net->dst.b, buf + IP6_SRC_AT + sizeof net->src.b, sizeof net->dst.b);
	return !weft_ip_is_v4(&net->src) && !weft_ip_is_v4(&net->dst);
}

/* `bytes`: what there is of the packet, header included. */
static enum wire_error get_ip(const uint8_t *buf, size_t bytes, const struct ip_view *ip, struct wire_net *net)
{
	bool v4 = ip->header_bytes == IP4_BYTES;

	net->dscp = ip->tos >> 2;
	net->ecn = ip->tos & 3;
	if (!ip->plain || ip->total_bytes < ip->header_bytes || (v4 && ip4_sum(buf) != 0xffff))
		return WIRE_ERR_IP;
	if (ip->total_bytes > bytes)
		return WIRE_ERR_SHORT;
	return get_addresses(buf, v4, net) ? WIRE_OK : WIRE_ERR_IP;
}

/* UDP header; its checksum is 0 or ignored. `ip_payload`: bytes after the IP header. */
static enum wire_error get_udp(struct rest *r, uint32_t ip_payload, uint16_t udp_port, bool trimmed,
			       struct wire_net *net)
{
	if (r->bytes < UDP_BYTES)
		return WIRE_ERR_SHORT;
	uint32_t udp_bytes = load16(r->at + 4);
	net->entropy = load16(r->at);
	net->dst_port = load16(r->at + 2);
	/* A switch that trims shortens the IP length only. */
	if (net->dst_port != udp_port || (trimmed ? udp_bytes < ip_payload : udp_bytes != ip_payload))
		return WIRE_ERR_UDP;
	take(r, UDP_BYTES);
	return WIRE_OK;
}

static enum wire_error get_entropy(struct rest *r, struct wire_net *net)
{
	if (r->bytes < ENTROPY_BYTES)
		return WIRE_ERR_SHORT;
	net->entropy = load16(r->at);
	net->dst_port = 0;
	take(r, ENTROPY_BYTES);
	return WIRE_OK;
}

static enum wire_error get_l4(struct rest *r, const struct ip_view *ip, uint16_t udp_port, bool trimmed,
			      struct wire_net *net)
{
	net->native = ip->proto == IP_PROTO_NATIVE;
	if (net->native)
		return get_entropy(r, net);
	if (ip->proto != IP_PROTO_UDP)
		return WIRE_ERR_UDP;
	return get_udp(r, ip->total_bytes - ip->header_bytes, udp_port, trimmed, net);
}

static enum wire_error check_crc(const uint8_t *buf, size_t len, const struct ip_view *ip)
{
	uint32_t trailer, from = ip->header_bytes == IP4_BYTES ? IP4_SRC_AT : IP6_SRC_AT;

	if (ip->total_bytes > len)
		return WIRE_ERR_CRC;
	if (ip->total_bytes < ip->header_bytes + CRC_BYTES)
		return WIRE_ERR_SHORT;
	uint32_t end = ip->total_bytes - CRC_BYTES;
	memcpy(&trailer, buf + end, sizeof trailer);
	return le32toh(trailer) == wire_crc32c(0, buf + from, end - from) ? WIRE_OK : WIRE_ERR_CRC;
}

/* Bytes 8..11 of requests, ACKs, NACKs and control packets. */
static HOT void get_ids(const uint8_t *b, bool syn, struct wire_pds *d)
{
	uint32_t ids = load32(b + 8);

	if (syn) {
		d->spdcid = (uint16_t)(ids >> 16);
		d->use_rsv_pdc = ids >> 15 & 1;
		d->psn_offset = ids & 0xfff;
	} else {
		SET_FIELDS32(d, dpdcid, ids);
	}
}

static HOT void get_request_pds(const uint8_t *b, struct wire_pds *d)
{
	d->offset = (int16_t)load16(b + 2);
	get_ids(b, d->flags & WIRE_F_SYN, d);
}

static void get_cc_request_pds(const uint8_t *b, struct wire_pds *d)
{
	uint32_t word = load32(b + 12);

	get_request_pds(b, d);
	d->ccc_id = (uint8_t)(word >> 24);
	d->credit = word & 0xffffff;
}

static HOT void get_ack(const uint8_t *b, struct wire_pds *d)
{
	uint16_t second = load16(b + 2);

	if (d->flags & WIRE_F_ACK_P)
		d->opaque = second;
	else
		d->offset = (int16_t)second;
	get_ids(b, false, d);
}

static HOT void get_nscc(uint64_t state, struct wire_pds *d)
{
	uint8_t penalty = (uint8_t)(state >> 40);

	d->service_time = (uint16_t)(state >> 48);
	d->rcvd_bytes = state >> 16 & 0xffffff;
	d->ooo_count = (uint16_t)state;
	if (penalty) {
		d->rc = penalty >> 7;
		d->rcv_cwnd_pend = penalty & 0x7f;
	}
}

/* Bytes 0..23 of ACK_CC and ACK_CCX. */
static HOT void get_sack(const uint8_t *b, struct wire_pds *d)
{
	uint32_t word = load32(b + 12);

	get_ack(b, d);
	SET_FIELDS32(d, sack_offset, word & 0x0fffffff);
	d->cc_type = (uint8_t)(word >> 28);
	d->sack_bitmap = load64(b + 16);
}

static HOT void get_ack_cc(const uint8_t *b, struct wire_pds *d)
{
	uint64_t state = load64(b + 24);

	get_sack(b, d);
	if (d->cc_type == WIRE_CC_NSCC) {
		get_nscc(state, d);
	} else if (d->cc_type == WIRE_CC_CREDIT) {
		d->credit = (uint32_t)(state >> 40);
		d->ooo_count = (uint16_t)state;
	} else {
		d->ccx[0] = state;
	}
}

static void get_ack_ccx(const uint8_t *b, struct wire_pds *d)
{
	get_sack(b, d);
	d->ccx[0] = load64(b + 24);
	d->ccx[1] = load64(b + 32);
}

static void get_nack(const uint8_t *b, struct wire_pds *d)
{
	d->code = b[2];
	d->vendor_code = b[3];
	d->payload = load32(b + 12);
	get_ids(b, false, d);
	if (d->type == WIRE_PDS_NACK_CCX) {
		d->ccx[0] = load64(b + 16);
		d->ccx[1] = load64(b + 24);
	}
}

static void get_cp(const uint8_t *b, struct wire_pds *d)
{
	d->opaque = load16(b + 2);
	d->payload = load32(b + 12);
	get_ids(b, d->flags & WIRE_F_SYN, d);
}

/* What follows the prologue, of a header that is all there. */
static HOT void get_pds_fields(const uint8_t *b, uint8_t type, struct wire_pds *d)
{
	if (type != WIRE_PDS_UUD_REQ)
		d->psn = load32(b + 4);
	switch (type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
		get_request_pds(b, d);
		break;
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		get_cc_request_pds(b, d);
		break;
	case WIRE_PDS_ACK:
		get_ack(b, d);
		break;
	case WIRE_PDS_ACK_CC:
		get_ack_cc(b, d);
		break;
	case WIRE_PDS_ACK_CCX:
		get_ack_ccx(b, d);
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		get_nack(b, d);
		break;
	case WIRE_PDS_CP:
		get_cp(b, d);
		break;
	}
}

/* The first twelve bytes of requests; returns the first eight. */
static HOT uint64_t get_request(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b);

	SET_FIELDS64(s, job_id, word & UINT64_C(0x3f3fffff00ffffff));
	SET_FIELDS32(s, resource_index, load32(b + 8) & 0x0fff0fff);
	s->ri_generation = b[4];
	if (word & UINT64_C(0x00c0000000000000))
		s->version = word >> 54 & 3;
	return word;
}

static HOT void get_std(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 32);

	s->buffer_offset = load64(b + 12);
	s->initiator = load32(b + 20);
	s->match = load64(b + 24);
	if (get_request(b, s) & (uint64_t)WIRE_SES_SOM << 48)
		s->header_data = word;
	else
		SET_FIELDS64(s, message_offset, word & (UINT64_C(0x3fff) << 32 | UINT32_MAX));
	s->request_length = load32(b + 40);
}

/* The request length stands in the message id's place. */
static void get_single(const uint8_t *b, struct wire_ses *s)
{
	s->payload_length = s->request_length = get_request(b, s) >> 32 & LEN14_MAX;
	s->message_id = 0;
}

static void get_small(const uint8_t *b, struct wire_ses *s)
{
	get_single(b, s);
	s->buffer_offset = load64(b + 12);
}

static void get_medium(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 12);

	get_single(b, s);
	if (s->flags & WIRE_SES_HD)
		s->header_data = word;
	else
		s->buffer_offset = word;
	s->initiator = load32(b + 20);
	s->match = load64(b + 24);
}

/* The first eight bytes of responses; returns them. The flags of requests stand where they have the return code. */
static HOT uint64_t get_response(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b);

	SET_FIELDS64(s, job_id, word & UINT64_C(0x3f00ffff00ffffff));
	s->return_code = word >> 48 & 0x3f;
	if (word & UINT64_C(0xc0c0000000000000)) {
		s->list = (uint8_t)(word >> 62);
		s->version = word >> 54 & 3;
	}
	return word;
}

static HOT void get_rsp(const uint8_t *b, struct wire_ses *s)
{
	get_response(b, s);
	s->ri_generation = b[4];
	s->modified_length = load32(b + 8);
}

static void get_rsp_data(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 8);

	get_response(b, s);
	s->read_message_id = (uint16_t)(word >> 48);
	s->payload_length = word >> 32 & LEN14_MAX;
	s->modified_length = (uint32_t)word;
	s->message_offset = load32(b + 16);
}

static void get_rsp_small(const uint8_t *b, struct wire_ses *s)
{
	s->payload_length = get_response(b, s) >> 32 & LEN14_MAX;
	s->message_id = 0;
	s->original_psn = load32(b + 8);
}

/* A header that is all there. */
static HOT void get_ses_fields(const uint8_t *b, uint8_t next_hdr, struct wire_ses *s)
{
	clear72(s);
	switch (next_hdr) {
	case WIRE_NH_STD:
		get_std(b, s);
		break;
	case WIRE_NH_RSP:
		get_rsp(b, s);
		break;
	case WIRE_NH_SMALL:
		get_small(b, s);
		break;
	case WIRE_NH_MEDIUM:
		get_medium(b, s);
		break;
	case WIRE_NH_RSP_DATA:
		get_rsp_data(b, s);
		break;
	default:
		get_rsp_small(b, s);
	}
}

static enum wire_error get_amo(struct rest *r, struct wire_ses *s)
{
	if (r->bytes < EXT_AMO_BYTES)
		return WIRE_ERR_SHORT;
	s->amo_opcode = r->at[0];
	s->amo_datatype = r->at[1];
	s->amo_control = r->at[2];
	if (!amo_has_operands(s->amo_opcode)) {
		take(r, EXT_AMO_BYTES);
		return WIRE_OK;
	}
	if (r->bytes < EXT_CSWAP_BYTES)
		return WIRE_ERR_SHORT;
	for (unsigned i = 0; i < 2; i++) {
		s->amo_compare[i] = load64(r->at + 4 + 8 * i);
		s->amo_swap[i] = load64(r->at + 20 + 8 * i);
	}
	take(r, EXT_CSWAP_BYTES);
	return WIRE_OK;
}

static enum wire_error get_rndv(struct rest *r, struct wire_ses *s)
{
	if (r->bytes < EXT_RNDV_BYTES)
		return WIRE_ERR_SHORT;
	uint64_t word = load64(r->at);
	s->rndv_eager_length = (uint32_t)(word >> 32);
	s->rndv_ri_generation = (uint8_t)(word >> 24);
	s->rndv_pid_on_fep = word >> 12 & 0xfff;
	s->rndv_resource_index = word & 0xfff;
	s->rndv_offset = load64(r->at + 8);
	s->rndv_match = load64(r->at + 16);
	take(r, EXT_RNDV_BYTES);
	return WIRE_OK;
}

/* SES header and extension; `r` moves on only when both are all there. */
static enum wire_error get_ses(struct rest *r, uint8_t next_hdr, struct wire_ses *s)
{
	struct rest after = *r;

	if (!ses_known(next_hdr))
		return WIRE_ERR_SES;
	if (r->bytes < ses_bytes(next_hdr))
		return WIRE_ERR_SHORT;
	get_ses_fields(r->at, next_hdr, s);
	take(&after, ses_bytes(next_hdr));
	enum ses_ext ext = ses_ext(next_hdr, s->opcode);
	if (ext != EXT_NONE) {
		enum wire_error error = (ext == EXT_AMO ? get_amo : get_rndv)(&after, s);
		if (error != WIRE_OK)
			return error;
	}
	*r = after;
	return WIRE_OK;
}

static enum wire_error get_headers(struct rest *r, struct wire_pkt *p)
{
	struct wire_pds *d = &p->pds;

	if (r->bytes < PDS_MIN_BYTES)
		return WIRE_ERR_SHORT;
	uint16_t prologue = load16(r->at);
	clear72(d);
	p->has_ses = 0;
	d->type = (uint8_t)(prologue >> 11);
	*(d->type == WIRE_PDS_CP ? &d->ctl : &d->next_hdr) = prologue >> 7 & 0xf;
	d->flags = prologue & 0x7f;
	if (pds_bytes(d->type) == 0)
		return WIRE_ERR_PDS;
	if (r->bytes < pds_bytes(d->type))
		return WIRE_ERR_SHORT;
	get_pds_fields(r->at, d->type, d);
	take(r, pds_bytes(d->type));
	if (d->next_hdr == WIRE_NH_NONE)
		return WIRE_OK;
	enum wire_error error = get_ses(r, d->next_hdr, &p->ses);
	p->has_ses = error == WIRE_OK;
	return error == WIRE_ERR_SHORT && p->trimmed ? WIRE_OK : error;
}

enum wire_error wire_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			    struct wire_pkt *p)
{
	struct ip_view ip;

	if (!ip_view(buf, len, &ip))
		return len < IP4_BYTES || (buf[0] >> 4 == 6 && len < IP6_BYTES) ? WIRE_ERR_SHORT : WIRE_ERR_IP;
	enum wire_error error = get_ip(buf, len + more, &ip, &p->net);
	p->trimmed = dscp_trimmed(p->net.dscp);
	p->net.crc = require_crc && !p->trimmed;
	if (error == WIRE_OK && p->net.crc)
		error = check_crc(buf, len, &ip);
	if (error != WIRE_OK)
		return error;
	uint32_t end = ip.total_bytes - (p->net.crc ? CRC_BYTES : 0);
	struct rest r = {buf + ip.header_bytes, (end < len ? end : (uint32_t)len) - ip.header_bytes};
	error = get_l4(&r, &ip, udp_port, p->trimmed, &p->net);
	if (error != WIRE_OK || (error = get_headers(&r, p)) != WIRE_OK)
		return error;
	p->header_bytes = (uint16_t)(r.at - buf);
	p->payload_bytes = p->trimmed ? 0 : (uint16_t)(end - p->header_bytes);
	return WIRE_OK;
}

/* 0xffff divides a header's sum when its checksum is right; the sum is never 0, for the first word is not. */
static bool sum_is_right(const uint8_t *ip)
{
	uint64_t sum = (uint64_t)raw32(ip) + raw32(ip + 4) + raw32(ip + 8) + raw32(ip + 12) + raw32(ip + 16);

	return sum % 0xffff == 0;
}

bool wire_see_header(const uint8_t *buf, uint16_t udp_port, const struct weft_ip *dst, struct wire_seen *seen)
{
	/* Version, header length; MF and fragment offset. */
	const uint64_t plain = UINT64_C(0xff3f0000000000ff);

	if ((raw64(buf) & plain) != 0x45 || buf[9] != IP_PROTO_UDP || raw32(buf + 16) != raw32(dst->b + 12) ||
	    dscp_trimmed(buf[1] >> 2) || !sum_is_right(buf))
		return false;
	uint32_t total = load16(buf + 2);
	if (load32(buf + UDP_PORT_AT) != ((uint32_t)udp_port << 16 | (total - IP4_BYTES)))
		return false;
	*seen = (struct wire_seen){raw64(buf), raw64(buf + 8), raw32(buf + 16), raw32(buf + UDP_PORT_AT), total};
	return true;
}
