/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoder. Each step takes the bytes left of the packet and is sure of their number before it reads. */
#include "wire_fmt.h"

/* The part of a packet not decoded yet. */
struct rest {
	const uint8_t *at;
	uint32_t bytes; /* readable here, without trailer */
};

static inline void take(struct rest *r, uint32_t bytes)
{
	r->at += bytes;
	r->bytes -= bytes;
}

/* False for IPv4-mapped addresses in an IPv6 header: they must not appear there and would pass for IPv4 peers. */
static inline bool get_addresses(const uint8_t *buf, bool v4, struct wire_net *net)
{
	if (v4) {
		net->src = weft_ip_v4(load32(buf + IP4_SRC_AT));
		net->dst = weft_ip_v4(load32(buf + IP4_SRC_AT + 4));
		return true;
	}
	memcpy(net->src.b, buf + IP6_SRC_AT, sizeof net->src.b);
	memcpy(net->dst.b, buf + IP6_SRC_AT + sizeof net->src.b, sizeof net->dst.b);
	return !weft_ip_is_v4(&net->src) && !weft_ip_is_v4(&net->dst);
}

static inline enum wire_error get_ip(const uint8_t *buf, size_t len, size_t more, struct ip_view *ip,
				     struct wire_net *net)
{
	if (!ip_view(buf, len, ip))
		return len < IP4_BYTES || (buf[0] >> 4 == 6 && len < IP6_BYTES) ? WIRE_ERR_SHORT : WIRE_ERR_IP;
	bool v4 = ip->header_bytes == IP4_BYTES;
	if (!ip->plain || ip->total_bytes < ip->header_bytes || (v4 && ip4_sum(buf) != 0xffff))
		return WIRE_ERR_IP;
	if (ip->total_bytes > len + more)
		return WIRE_ERR_SHORT;
	if (!get_addresses(buf, v4, net))
		return WIRE_ERR_IP;
	net->dscp = ip->tos >> 2;
	net->ecn = ip->tos & 3;
	return WIRE_OK;
}

/* UDP header; its checksum is 0 or ignored. `ip_payload`: bytes after the IP header. */
static inline enum wire_error get_udp(struct rest *r, uint32_t ip_payload, uint16_t udp_port, bool trimmed,
				      struct wire_net *net)
{
	if (r->bytes < UDP_BYTES)
		return WIRE_ERR_SHORT;
	uint64_t udp = load64(r->at);
	uint32_t udp_bytes = (uint16_t)(udp >> 16);
	net->entropy = (uint16_t)(udp >> 48);
	net->dst_port = (uint16_t)(udp >> 32);
	net->native = 0;
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
	net->native = 1;
	take(r, ENTROPY_BYTES);
	return WIRE_OK;
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
static inline void get_ids(const uint8_t *b, bool syn, struct wire_pds *d)
{
	uint32_t ids = load32(b + 8);

	d->spdcid = (uint16_t)(ids >> 16);
	if (syn) {
		d->use_rsv_pdc = ids >> 15 & 1;
		d->psn_offset = ids & 0xfff;
	} else {
		d->dpdcid = (uint16_t)ids;
	}
}

static inline void get_nscc(uint64_t state, struct wire_pds *d)
{
	d->service_time = (uint16_t)(state >> 48);
	d->rc = state >> 47 & 1;
	d->rcv_cwnd_pend = state >> 40 & 0x7f;
	d->rcvd_bytes = state >> 16 & 0xffffff;
	d->ooo_count = (uint16_t)state;
}

static inline void get_ack_cc(const uint8_t *b, struct wire_pds *d)
{
	uint32_t word = load32(b + 12);
	uint64_t state = load64(b + 24);

	d->cc_type = (uint8_t)(word >> 28);
	d->cc_flags = word >> 24 & 0xf;
	d->mpr = (uint8_t)(word >> 16);
	d->sack_offset = (int16_t)word;
	d->sack_bitmap = load64(b + 16);
	if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_NSCC) {
		get_nscc(state, d);
	} else if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_CREDIT) {
		d->credit = (uint32_t)(state >> 40);
		d->ooo_count = (uint16_t)state;
	} else {
		d->ccx[0] = state;
		if (d->type == WIRE_PDS_ACK_CCX)
			d->ccx[1] = load64(b + 32);
	}
}

static inline void get_ack(const uint8_t *b, uint16_t second, struct wire_pds *d)
{
	if (d->flags & WIRE_F_ACK_P)
		d->opaque = second;
	else
		d->offset = (int16_t)second;
	get_ids(b, false, d);
	if (d->type != WIRE_PDS_ACK)
		get_ack_cc(b, d);
}

static inline void get_request_pds(const uint8_t *b, uint16_t second, struct wire_pds *d)
{
	d->offset = (int16_t)second;
	get_ids(b, d->flags & WIRE_F_SYN, d);
	if (d->type >= WIRE_PDS_RUD_CC_REQ) {
		uint32_t word = load32(b + 12);
		d->ccc_id = (uint8_t)(word >> 24);
		d->credit = word & 0xffffff;
	}
}

static void get_nack(const uint8_t *b, uint16_t second, struct wire_pds *d)
{
	d->code = (uint8_t)(second >> 8);
	d->vendor_code = (uint8_t)second;
	d->payload = load32(b + 12);
	get_ids(b, false, d);
	if (d->type == WIRE_PDS_NACK_CCX) {
		d->ccx[0] = load64(b + 16);
		d->ccx[1] = load64(b + 24);
	}
}

static void get_cp(const uint8_t *b, uint16_t second, struct wire_pds *d)
{
	d->ctl = d->next_hdr;
	d->next_hdr = WIRE_NH_NONE;
	d->opaque = second;
	d->payload = load32(b + 12);
	get_ids(b, d->flags & WIRE_F_SYN, d);
}

/* The fields of a header that is all there; `second`: its bytes 2 and 3. */
static inline void get_pds_fields(const uint8_t *b, uint16_t second, struct wire_pds *d)
{
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		get_request_pds(b, second, d);
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		get_ack(b, second, d);
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		get_nack(b, second, d);
		break;
	case WIRE_PDS_CP:
		get_cp(b, second, d);
		break;
	}
}

static inline enum wire_error get_pds(struct rest *r, struct wire_pds *d)
{
	if (r->bytes < PDS_MIN_BYTES)
		return WIRE_ERR_SHORT;
	uint32_t word = load32(r->at);
	memset(d, 0, sizeof *d);
	d->type = (uint8_t)(word >> 27);
	d->next_hdr = word >> 23 & 0xf;
	d->flags = word >> 16 & 0x7f;
	uint32_t size = pds_bytes(d->type);
	if (size == 0)
		return WIRE_ERR_PDS;
	if (r->bytes < size)
		return WIRE_ERR_SHORT;
	if (size > PDS_MIN_BYTES)
		d->psn = load32(r->at + 4);
	get_pds_fields(r->at, (uint16_t)word, d);
	take(r, size);
	return WIRE_OK;
}

/* The first twelve bytes of requests; returns the id or length in bytes 2 and 3. */
static inline uint16_t get_request(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b);
	uint32_t target = load32(b + 8);

	s->opcode = word >> 56 & 0x3f;
	s->version = word >> 54 & 3;
	s->flags = word >> 48 & 0x3f;
	s->ri_generation = (uint8_t)(word >> 24);
	s->job_id = word & 0xffffff;
	s->pid_on_fep = target >> 16 & 0xfff;
	s->resource_index = target & 0xfff;
	return (uint16_t)(word >> 32);
}

static inline void get_std(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 32);

	s->message_id = get_request(b, s);
	s->buffer_offset = load64(b + 12);
	s->initiator = load32(b + 20);
	s->match = load64(b + 24);
	if (s->flags & WIRE_SES_SOM) {
		s->header_data = word;
	} else {
		s->payload_length = word >> 32 & LEN14_MAX;
		s->message_offset = (uint32_t)word;
	}
	s->request_length = load32(b + 40);
}

static void get_small(const uint8_t *b, struct wire_ses *s)
{
	s->payload_length = s->request_length = get_request(b, s) & LEN14_MAX;
	s->buffer_offset = load64(b + 12);
}

static void get_medium(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 12);

	s->payload_length = s->request_length = get_request(b, s) & LEN14_MAX;
	if (s->flags & WIRE_SES_HD)
		s->header_data = word;
	else
		s->buffer_offset = word;
	s->initiator = load32(b + 20);
	s->match = load64(b + 24);
}

/* The first eight bytes of responses; returns the id or length in bytes 2 and 3. */
static inline uint16_t get_response(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b);

	s->list = (uint8_t)(word >> 62);
	s->opcode = word >> 56 & 0x3f;
	s->version = word >> 54 & 3;
	s->return_code = word >> 48 & 0x3f;
	s->job_id = word & 0xffffff;
	return (uint16_t)(word >> 32);
}

static inline void get_rsp(const uint8_t *b, struct wire_ses *s)
{
	s->message_id = get_response(b, s);
	s->ri_generation = b[4];
	s->modified_length = load32(b + 8);
}

static void get_rsp_data(const uint8_t *b, struct wire_ses *s)
{
	uint64_t word = load64(b + 8);

	s->message_id = get_response(b, s);
	s->read_message_id = (uint16_t)(word >> 48);
	s->payload_length = word >> 32 & LEN14_MAX;
	s->modified_length = (uint32_t)word;
	s->message_offset = load32(b + 16);
}

static void get_rsp_small(const uint8_t *b, struct wire_ses *s)
{
	s->payload_length = get_response(b, s) & LEN14_MAX;
	s->original_psn = load32(b + 8);
}

static inline void get_ses_fields(const uint8_t *b, uint8_t next_hdr, struct wire_ses *s)
{
	memset(s, 0, offsetof(struct wire_ses, amo_opcode));
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
static inline enum wire_error get_ses(struct rest *r, uint8_t next_hdr, struct wire_ses *s)
{
	uint32_t size = ses_bytes(next_hdr);
	struct rest after = *r;

	if (!ses_known(next_hdr))
		return WIRE_ERR_SES;
	if (r->bytes < size)
		return WIRE_ERR_SHORT;
	get_ses_fields(r->at, next_hdr, s);
	take(&after, size);
	enum ses_ext ext = ses_ext(next_hdr, s->opcode);
	enum wire_error error = ext == EXT_NONE ? WIRE_OK : (ext == EXT_AMO ? get_amo : get_rndv)(&after, s);
	if (error == WIRE_OK)
		*r = after;
	return error;
}

static inline enum wire_error get_headers(struct rest *r, struct wire_pkt *p)
{
	enum wire_error error = get_pds(r, &p->pds);

	p->has_ses = 0;
	if (error != WIRE_OK || p->pds.next_hdr == WIRE_NH_NONE)
		return error;
	error = get_ses(r, p->pds.next_hdr, &p->ses);
	if (error == WIRE_ERR_SHORT && p->trimmed)
		return WIRE_OK;
	p->has_ses = error == WIRE_OK;
	return error;
}

enum wire_error wire_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			    struct wire_pkt *p)
{
	struct ip_view ip;
	enum wire_error error = get_ip(buf, len, more, &ip, &p->net);

	if (error != WIRE_OK)
		return error;
	if (ip.proto != IP_PROTO_UDP && ip.proto != IP_PROTO_NATIVE)
		return WIRE_ERR_UDP;
	p->trimmed = dscp_trimmed(p->net.dscp);
	p->net.crc = require_crc && !p->trimmed;
	if (p->net.crc && (error = check_crc(buf, len, &ip)) != WIRE_OK)
		return error;
	uint32_t end = ip.total_bytes - (p->net.crc ? CRC_BYTES : 0), readable = end < len ? end : (uint32_t)len;
	struct rest r = {buf + ip.header_bytes, readable - ip.header_bytes};
	error = ip.proto == IP_PROTO_UDP ? get_udp(&r, ip.total_bytes - ip.header_bytes, udp_port, p->trimmed, &p->net)
					 : get_entropy(&r, &p->net);
	if (error != WIRE_OK || (error = get_headers(&r, p)) != WIRE_OK)
		return error;
	p->header_bytes = (uint16_t)(r.at - buf);
	p->payload_bytes = p->trimmed ? 0 : (uint16_t)(end - p->header_bytes);
	return WIRE_OK;
}
