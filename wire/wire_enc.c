/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoder. Bits of fields that do not fit their place are gathered in `bad`, tested once at the end. */
#include "wire_hot.h"

/* What decides the layout. Constant for the packets of the data path, so that the compiler leaves nothing to decide. */
struct shape {
	bool v4, native, crc;
	uint8_t type, next_hdr; /* next_hdr: 0 for control packets */
};

/* What does not fit into `bits` bits. */
static inline uint64_t excess(uint64_t value, unsigned bits)
{
	return value >> bits;
}

/* Addresses stay in network order; so do the words around them, for one sum over all. */
static HOT void put_ip4(const struct wire_net *net, uint8_t proto, uint32_t total, uint8_t *buf)
{
	enum { DF = 0x40 << 16 };
	uint32_t src = raw32(net->src.b + 12), dst = raw32(net->dst.b + 12);
	uint32_t first =
		0x45 | (uint32_t)(net->dscp << 2 | net->ecn) << 8 | (uint32_t)__builtin_bswap16((uint16_t)total) << 16;
	uint32_t ttl_proto = SENT_TTL | (uint32_t)proto << 8;
	uint16_t sum = fold16((uint64_t)first + DF + ttl_proto + src + dst);

	put_raw64(buf, (uint64_t)DF << 32 | first);
	put_raw64(buf + 8, (uint64_t)src << 32 | (uint32_t)(uint16_t)~sum << 16 | ttl_proto);
	put_raw32(buf + 16, dst);
}

static HOT void put_ip6(const struct wire_net *net, uint8_t proto, uint32_t total, uint8_t *buf)
{
	store64(buf, UINT64_C(6) << 60 | (uint64_t)(net->dscp << 2 | net->ecn) << 52 |
			     (uint64_t)(total - IP6_BYTES) << 16 | (uint64_t)proto << 8 | SENT_TTL);
	memcpy(buf + 8, net->src.b, sizeof net->src.b);
	memcpy(buf + 24, net->dst.b, sizeof net->dst.b);
}

/* IP and UDP (or entropy) headers for a packet of `total` bytes. */
static HOT uint64_t put_net(const struct wire_net *net, struct shape shape, uint32_t total, uint8_t *buf)
{
	uint32_t ip_bytes = shape.v4 ? IP4_BYTES : IP6_BYTES, ip_length = shape.v4 ? total : total - IP6_BYTES;
	uint8_t proto = shape.native ? IP_PROTO_NATIVE : IP_PROTO_UDP;

	if (shape.v4)
		put_ip4(net, proto, total, buf);
	else
		put_ip6(net, proto, total, buf);
	if (shape.native)
		store32(buf + ip_bytes, (uint32_t)net->entropy << 16);
	else
		store64(buf + ip_bytes, (uint64_t)FIELDS32(net, dst_port) << 32 | (uint64_t)(total - ip_bytes) << 16);
	return (FIELDS32(net, dscp) & 0xfcc0) | excess(ip_length, 16);
}

/* Bytes 0..7; `second` are bytes 2 and 3. */
static HOT uint64_t put_prologue(const struct wire_pds *d, uint8_t type, uint8_t nibble, uint16_t second, uint8_t *b)
{
	store64(b, (uint64_t)type << 59 | (uint64_t)nibble << 55 | (uint64_t)d->flags << 48 | (uint64_t)second << 32 |
			   d->psn);
	return excess(nibble, 4) | (d->flags & 0x80);
}

/* The last two bytes of the first twelve: a PDC's number, or before it is known where its PSNs start. */
static HOT uint64_t put_ids(const struct wire_pds *d, uint8_t *b)
{
	if (!(d->flags & WIRE_F_SYN)) {
		store32(b + 8, FIELDS32(d, dpdcid));
		return 0;
	}
	store32(b + 8, (uint32_t)d->spdcid << 16 | (uint32_t)d->use_rsv_pdc << 15 | d->psn_offset);
	return excess(d->use_rsv_pdc, 1) | excess(d->psn_offset, 12);
}

static HOT uint64_t put_request_pds(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	return put_prologue(d, shape.type, shape.next_hdr, (uint16_t)d->offset, b) | put_ids(d, b);
}

static uint64_t put_cc_request_pds(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	store32(b + 12, (uint32_t)d->ccc_id << 24 | d->credit);
	return put_request_pds(d, shape, b) | excess(d->credit, 24);
}

static HOT uint64_t put_ack(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	store32(b + 8, FIELDS32(d, dpdcid));
	return put_prologue(d, shape.type, shape.next_hdr, d->flags & WIRE_F_ACK_P ? d->opaque : (uint16_t)d->offset,
			    b);
}

static HOT uint64_t put_nscc(const struct wire_pds *d, uint8_t *b)
{
	uint64_t word = (uint64_t)d->service_time << 48 | (uint64_t)d->rcvd_bytes << 16 | d->ooo_count;
	uint64_t bad = excess(d->rcvd_bytes, 24);

	if (d->rc | d->rcv_cwnd_pend) {
		word |= (uint64_t)d->rc << 47 | (uint64_t)d->rcv_cwnd_pend << 40;
		bad |= excess(d->rc, 1) | excess(d->rcv_cwnd_pend, 7);
	}
	store64(b, word);
	return bad;
}

static uint64_t put_credit(const struct wire_pds *d, uint8_t *b)
{
	store64(b, (uint64_t)d->credit << 40 | d->ooo_count);
	return excess(d->credit, 24);
}

/* Bytes 0..23 of ACK_CC and ACK_CCX. */
static HOT uint64_t put_sack(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	uint32_t word = FIELDS32(d, sack_offset);

	store32(b + 12, word | (uint32_t)d->cc_type << 28);
	store64(b + 16, d->sack_bitmap);
	return put_ack(d, shape, b) | (word & 0xf0000000) | excess(d->cc_type, 4);
}

static HOT uint64_t put_ack_cc(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	uint64_t bad = put_sack(d, shape, b);

	if (d->cc_type == WIRE_CC_NSCC)
		return bad | put_nscc(d, b + 24);
	if (d->cc_type == WIRE_CC_CREDIT)
		return bad | put_credit(d, b + 24);
	store64(b + 24, d->ccx[0]);
	return bad;
}

static uint64_t put_ack_ccx(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	store64(b + 24, d->ccx[0]);
	store64(b + 32, d->ccx[1]);
	return put_sack(d, shape, b);
}

static uint64_t put_nack(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	store32(b + 8, FIELDS32(d, dpdcid));
	store32(b + 12, d->payload);
	if (shape.type == WIRE_PDS_NACK_CCX) {
		store64(b + 16, d->ccx[0]);
		store64(b + 24, d->ccx[1]);
	}
	return put_prologue(d, shape.type, shape.next_hdr, (uint16_t)(d->code << 8 | d->vendor_code), b);
}

static uint64_t put_cp(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	store32(b + 12, d->payload);
	return put_prologue(d, shape.type, d->ctl, d->opaque, b) | put_ids(d, b);
}

static uint64_t put_uud(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	uint8_t prologue[8];
	uint64_t bad = put_prologue(d, shape.type, shape.next_hdr, 0, prologue);

	memcpy(b, prologue, PDS_MIN_BYTES);
	return bad;
}

static HOT uint64_t put_pds(const struct wire_pds *d, struct shape shape, uint8_t *b)
{
	switch (shape.type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
		return put_request_pds(d, shape, b);
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		return put_cc_request_pds(d, shape, b);
	case WIRE_PDS_ACK:
		return put_ack(d, shape, b);
	case WIRE_PDS_ACK_CC:
		return put_ack_cc(d, shape, b);
	case WIRE_PDS_ACK_CCX:
		return put_ack_ccx(d, shape, b);
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		return put_nack(d, shape, b);
	case WIRE_PDS_CP:
		return put_cp(d, shape, b);
	case WIRE_PDS_UUD_REQ:
		return put_uud(d, shape, b);
	default:
		return put_prologue(d, shape.type, shape.next_hdr, 0, b);
	}
}

/* The first twelve bytes of requests; `word` are the fields from job_id on, with what goes into bytes 2 and 3. */
static HOT uint64_t put_request(const struct wire_ses *s, uint64_t word, uint8_t *b)
{
	uint32_t target = FIELDS32(s, resource_index);
	uint64_t bad = (word & UINT64_C(0xc0c00000ff000000)) | (target & 0xf000f000);

	if (s->version | s->ri_generation) {
		word |= (uint64_t)s->version << 54 | (uint64_t)s->ri_generation << 24;
		bad |= excess(s->version, 2);
	}
	store64(b, word);
	store32(b + 8, target);
	return bad;
}

static HOT uint64_t put_std(const struct wire_ses *s, uint8_t *b)
{
	uint64_t part = s->header_data, bad = 0;

	if (!(s->flags & WIRE_SES_SOM)) {
		part = FIELDS64(s, message_offset);
		bad = excess(part, 32 + 14);
	}
	store64(b + 12, s->buffer_offset);
	store32(b + 20, s->initiator);
	store64(b + 24, s->match);
	store64(b + 32, part);
	store32(b + 40, s->request_length);
	return bad | put_request(s, FIELDS64(s, job_id), b);
}

/* The fields from job_id on, with a length in the message id's place. */
static uint64_t word_with_length(const struct wire_ses *s, uint32_t length)
{
	return (FIELDS64(s, job_id) & ~(UINT64_C(0xffff) << 32)) | (uint64_t)(uint16_t)length << 32;
}

static uint64_t put_single(const struct wire_ses *s, uint8_t *b)
{
	return put_request(s, word_with_length(s, s->request_length), b) | excess(s->request_length, 14);
}

static uint64_t put_small(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 12, s->buffer_offset);
	return put_single(s, b);
}

static uint64_t put_medium(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 12, s->flags & WIRE_SES_HD ? s->header_data : s->buffer_offset);
	store32(b + 20, s->initiator);
	store64(b + 24, s->match);
	return put_single(s, b);
}

/* The first eight bytes of responses; `word` are the fields from job_id on, with what goes into bytes 2 and 3. */
static HOT uint64_t put_response(const struct wire_ses *s, uint64_t word, uint8_t generation, uint8_t *b)
{
	uint64_t bad = (word & UINT64_C(0xc0000000ff000000)) | excess(s->return_code, 6);

	word &= ~(UINT64_C(0xff) << 48); /* flags */
	word |= (uint64_t)s->return_code << 48 | (uint64_t)generation << 24;
	if (s->version | s->list) {
		word |= (uint64_t)s->list << 62 | (uint64_t)s->version << 54;
		bad |= excess(s->list | s->version, 2);
	}
	store64(b, word);
	return bad;
}

static HOT uint64_t put_rsp(const struct wire_ses *s, uint8_t *b)
{
	store32(b + 8, s->modified_length);
	return put_response(s, FIELDS64(s, job_id), s->ri_generation, b);
}

static uint64_t put_rsp_data(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 8,
		(uint64_t)s->read_message_id << 48 | (uint64_t)(uint16_t)s->payload_length << 32 | s->modified_length);
	store32(b + 16, s->message_offset);
	return put_response(s, FIELDS64(s, job_id), 0, b) | excess(s->payload_length, 14);
}

static uint64_t put_rsp_small(const struct wire_ses *s, uint8_t *b)
{
	store32(b + 8, s->original_psn);
	return put_response(s, word_with_length(s, s->payload_length), 0, b) | excess(s->payload_length, 14);
}

static HOT uint64_t put_ses(const struct wire_ses *s, uint8_t next_hdr, uint8_t *b)
{
	switch (next_hdr) {
	case WIRE_NH_SMALL:
		return put_small(s, b);
	case WIRE_NH_MEDIUM:
		return put_medium(s, b);
	case WIRE_NH_STD:
		return put_std(s, b);
	case WIRE_NH_RSP:
		return put_rsp(s, b);
	case WIRE_NH_RSP_DATA:
		return put_rsp_data(s, b);
	case WIRE_NH_RSP_DATA_SMALL:
		return put_rsp_small(s, b);
	default:
		return 0;
	}
}

static uint64_t put_amo(const struct wire_ses *s, uint8_t *b)
{
	store32(b, (uint32_t)s->amo_opcode << 24 | (uint32_t)s->amo_datatype << 16 | (uint32_t)s->amo_control << 8);
	for (unsigned i = 0; amo_has_operands(s->amo_opcode) && i < 2; i++) {
		store64(b + 4 + 8 * i, s->amo_compare[i]);
		store64(b + 20 + 8 * i, s->amo_swap[i]);
	}
	return 0;
}

static uint64_t put_rndv(const struct wire_ses *s, uint8_t *b)
{
	store64(b, (uint64_t)s->rndv_eager_length << 32 | (uint64_t)s->rndv_ri_generation << 24 |
			   (uint64_t)s->rndv_pid_on_fep << 12 | s->rndv_resource_index);
	store64(b + 8, s->rndv_offset);
	store64(b + 16, s->rndv_match);
	return excess(s->rndv_pid_on_fep, 12) | excess(s->rndv_resource_index, 12);
}

static HOT size_t encode_as(const struct wire_pkt *p, struct shape shape, uint8_t *buf)
{
	uint32_t at = (shape.v4 ? IP4_BYTES : IP6_BYTES) + (shape.native ? ENTROPY_BYTES : UDP_BYTES);
	uint64_t bad = put_pds(&p->pds, shape, buf + at);

	at += pds_bytes(shape.type);
	bad |= put_ses(&p->ses, shape.next_hdr, buf + at);
	at += ses_bytes(shape.next_hdr);
	enum ses_ext ext = ses_ext(shape.next_hdr, p->ses.opcode);
	if (ext != EXT_NONE) {
		bad |= (ext == EXT_AMO ? put_amo : put_rndv)(&p->ses, buf + at);
		at += ext_bytes(ext, p->ses.amo_opcode);
	}
	bad |= put_net(&p->net, shape, at + p->payload_bytes + (shape.crc ? CRC_BYTES : 0), buf);
	return bad ? 0 : at;
}

static __attribute__((noinline)) size_t encode_any(const struct wire_pkt *p, uint8_t *buf)
{
	uint8_t next_hdr = p->pds.type == WIRE_PDS_CP ? WIRE_NH_NONE : p->pds.next_hdr;
	struct shape shape = {.v4 = weft_ip_is_v4(&p->net.src),
			      .native = p->net.native,
			      .crc = p->net.crc,
			      .type = p->pds.type,
			      .next_hdr = next_hdr};

	if (shape.type > 31 || pds_bytes(shape.type) == 0 || !ses_known(next_hdr) ||
	    shape.v4 != weft_ip_is_v4(&p->net.dst))
		return 0;
	return encode_as(p, shape, buf);
}

size_t wire_encode(const struct wire_pkt *p, uint8_t *buf)
{
	static const struct shape data = {.v4 = true, .type = WIRE_PDS_RUD_REQ, .next_hdr = WIRE_NH_STD};
	static const struct shape ack = {.v4 = true, .type = WIRE_PDS_ACK_CC, .next_hdr = WIRE_NH_RSP};

	if (!(p->net.native | p->net.crc) && weft_ip_is_v4(&p->net.src) && weft_ip_is_v4(&p->net.dst)) {
		if (p->pds.type == data.type && p->pds.next_hdr == data.next_hdr)
			return encode_as(p, data, buf);
		if (p->pds.type == ack.type && p->pds.next_hdr == ack.next_hdr)
			return encode_as(p, ack, buf);
	}
	return encode_any(p, buf);
}
