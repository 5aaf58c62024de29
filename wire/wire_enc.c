/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoder. Fields wider than their place are found by gathering what is shifted out of them, one test at the end. */
#include "wire_fmt.h"

/* What does not fit into `bits` bits. */
static inline uint64_t excess(uint64_t value, unsigned bits)
{
	return value >> bits;
}

static inline uint32_t ip_low32(const struct weft_ip *ip)
{
	return load32(ip->b + 12);
}

static inline void put_ip4(const struct wire_net *net, uint8_t proto, uint32_t total, uint8_t *buf)
{
	uint32_t src = ip_low32(&net->src), dst = ip_low32(&net->dst);
	uint64_t first =
		UINT64_C(0x45) << 56 | (uint64_t)(net->dscp << 2 | net->ecn) << 48 | (uint64_t)total << 32 | IP4_DF;
	uint32_t ttl_proto = SENT_TTL << 24 | (uint32_t)proto << 16;
	uint64_t sum = (first >> 32) + (uint32_t)first + ttl_proto + src + dst;

	store64(buf, first);
	store64(buf + 8, (uint64_t)(ttl_proto | (uint16_t)~fold16(sum)) << 32 | src);
	store32(buf + 16, dst);
}

static inline void put_ip6(const struct wire_net *net, uint8_t proto, uint32_t total, uint8_t *buf)
{
	store64(buf, UINT64_C(6) << 60 | (uint64_t)(net->dscp << 2 | net->ecn) << 52 |
			     (uint64_t)(total - IP6_BYTES) << 16 | (uint64_t)proto << 8 | SENT_TTL);
	memcpy(buf + 8, net->src.b, sizeof net->src.b);
	memcpy(buf + 24, net->dst.b, sizeof net->dst.b);
}

/* IP and UDP (or entropy) headers for a packet of `total` bytes. */
static inline uint64_t put_net(const struct wire_net *net, bool v4, uint32_t total, uint8_t *buf)
{
	uint32_t ip_bytes = v4 ? IP4_BYTES : IP6_BYTES;
	uint8_t proto = net->native ? IP_PROTO_NATIVE : IP_PROTO_UDP;

	if (v4)
		put_ip4(net, proto, total, buf);
	else
		put_ip6(net, proto, total, buf);
	if (net->native)
		store32(buf + ip_bytes, (uint32_t)net->entropy << 16);
	else
		store64(buf + ip_bytes, (uint64_t)net->entropy << 48 | (uint64_t)net->dst_port << 32 |
						(uint64_t)(total - ip_bytes) << 16);
	return excess(net->dscp, 6) | excess(net->ecn, 2) | excess(v4 ? total : total - IP6_BYTES, 16) |
	       (v4 && !weft_ip_is_v4(&net->dst)) | (!v4 && weft_ip_is_v4(&net->dst));
}

/* The last two bytes of the first twelve: a PDC's number, or before it is known where its PSNs start. */
static inline uint16_t peer_pdc(const struct wire_pds *d)
{
	return d->flags & WIRE_F_SYN ? (uint16_t)(d->use_rsv_pdc << 15 | d->psn_offset) : d->dpdcid;
}

static inline uint64_t syn_excess(const struct wire_pds *d)
{
	return excess(d->use_rsv_pdc, 1) | excess(d->psn_offset, 12);
}

static inline void put_ids(const struct wire_pds *d, uint16_t dpdcid, uint8_t *b)
{
	store32(b + 8, (uint32_t)d->spdcid << 16 | dpdcid);
}

static inline uint64_t put_cc_request(const struct wire_pds *d, uint8_t *b)
{
	store32(b + 12, (uint32_t)d->ccc_id << 24 | d->credit);
	return excess(d->credit, 24);
}

static uint64_t put_nscc(const struct wire_pds *d, uint8_t *b)
{
	store64(b, (uint64_t)d->service_time << 48 | (uint64_t)d->rc << 47 | (uint64_t)d->rcv_cwnd_pend << 40 |
			   (uint64_t)d->rcvd_bytes << 16 | d->ooo_count);
	return excess(d->rc, 1) | excess(d->rcv_cwnd_pend, 7) | excess(d->rcvd_bytes, 24);
}

static uint64_t put_credit(const struct wire_pds *d, uint8_t *b)
{
	store64(b, (uint64_t)d->credit << 40 | d->ooo_count);
	return excess(d->credit, 24);
}

/* Bytes 12.. of ACK_CC and ACK_CCX. */
static inline uint64_t put_ack_cc(const struct wire_pds *d, uint8_t *b)
{
	uint64_t bad = excess(d->cc_type, 4) | excess(d->cc_flags, 4);

	store32(b + 12, (uint32_t)d->cc_type << 28 | (uint32_t)d->cc_flags << 24 | (uint32_t)d->mpr << 16 |
				(uint16_t)d->sack_offset);
	store64(b + 16, d->sack_bitmap);
	if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_NSCC)
		return bad | put_nscc(d, b + 24);
	if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_CREDIT)
		return bad | put_credit(d, b + 24);
	store64(b + 24, d->ccx[0]);
	if (d->type == WIRE_PDS_ACK_CCX)
		store64(b + 32, d->ccx[1]);
	return bad;
}

static inline uint64_t put_nack(const struct wire_pds *d, uint8_t *b)
{
	put_ids(d, d->dpdcid, b);
	store32(b + 12, d->payload);
	if (d->type == WIRE_PDS_NACK_CCX) {
		store64(b + 16, d->ccx[0]);
		store64(b + 24, d->ccx[1]);
	}
	return 0;
}

/* Bytes 2 and 3, by type. */
static inline uint16_t second_half(const struct wire_pds *d)
{
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		return (uint16_t)d->offset;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		return d->flags & WIRE_F_ACK_P ? d->opaque : (uint16_t)d->offset;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		return (uint16_t)(d->code << 8 | d->vendor_code);
	case WIRE_PDS_CP:
		return d->opaque;
	default:
		return 0;
	}
}

static inline uint64_t put_pds(const struct wire_pds *d, uint8_t *b)
{
	uint8_t nibble = d->type == WIRE_PDS_CP ? d->ctl : d->next_hdr;
	uint64_t bad = excess(nibble, 4) | excess(d->flags, 7);

	store32(b, (uint32_t)d->type << 27 | (uint32_t)nibble << 23 | (uint32_t)d->flags << 16 | second_half(d));
	if (d->type == WIRE_PDS_UUD_REQ)
		return bad;
	store32(b + 4, d->psn);
	switch (d->type) {
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		bad |= put_cc_request(d, b);
		/* fall through */
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
		put_ids(d, peer_pdc(d), b);
		return bad | syn_excess(d);
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		bad |= put_ack_cc(d, b);
		/* fall through */
	case WIRE_PDS_ACK:
		put_ids(d, d->dpdcid, b);
		return bad;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		return bad | put_nack(d, b);
	case WIRE_PDS_CP:
		put_ids(d, peer_pdc(d), b);
		store32(b + 12, d->payload);
		return bad | syn_excess(d);
	default:
		return bad;
	}
}

/* The first twelve bytes of requests. */
static inline uint64_t put_request(const struct wire_ses *s, uint16_t id_or_length, uint8_t *b)
{
	store64(b, (uint64_t)s->opcode << 56 | (uint64_t)s->version << 54 | (uint64_t)s->flags << 48 |
			   (uint64_t)id_or_length << 32 | (uint64_t)s->ri_generation << 24 | s->job_id);
	store32(b + 8, (uint32_t)s->pid_on_fep << 16 | s->resource_index);
	return excess(s->opcode, 6) | excess(s->version, 2) | excess(s->flags, 6) | excess(s->job_id, 24) |
	       excess(s->pid_on_fep, 12) | excess(s->resource_index, 12);
}

static inline uint64_t put_std(const struct wire_ses *s, uint8_t *b)
{
	bool som = s->flags & WIRE_SES_SOM;

	store64(b + 12, s->buffer_offset);
	store32(b + 20, s->initiator);
	store64(b + 24, s->match);
	store64(b + 32, som ? s->header_data : (uint64_t)s->payload_length << 32 | s->message_offset);
	store32(b + 40, s->request_length);
	return put_request(s, s->message_id, b) | (som ? 0 : excess(s->payload_length, 14));
}

static uint64_t put_small(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 12, s->buffer_offset);
	return put_request(s, (uint16_t)s->request_length, b) | excess(s->request_length, 14);
}

static uint64_t put_medium(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 12, s->flags & WIRE_SES_HD ? s->header_data : s->buffer_offset);
	store32(b + 20, s->initiator);
	store64(b + 24, s->match);
	return put_request(s, (uint16_t)s->request_length, b) | excess(s->request_length, 14);
}

/* The first eight bytes of responses. */
static inline uint64_t put_response(const struct wire_ses *s, uint16_t id_or_length, uint8_t generation, uint8_t *b)
{
	store64(b, (uint64_t)s->list << 62 | (uint64_t)s->opcode << 56 | (uint64_t)s->version << 54 |
			   (uint64_t)s->return_code << 48 | (uint64_t)id_or_length << 32 | (uint64_t)generation << 24 |
			   s->job_id);
	return excess(s->list, 2) | excess(s->opcode, 6) | excess(s->version, 2) | excess(s->return_code, 6) |
	       excess(s->job_id, 24);
}

static inline uint64_t put_rsp(const struct wire_ses *s, uint8_t *b)
{
	store32(b + 8, s->modified_length);
	return put_response(s, s->message_id, s->ri_generation, b);
}

static uint64_t put_rsp_data(const struct wire_ses *s, uint8_t *b)
{
	store64(b + 8,
		(uint64_t)s->read_message_id << 48 | (uint64_t)(uint16_t)s->payload_length << 32 | s->modified_length);
	store32(b + 16, s->message_offset);
	return put_response(s, s->message_id, 0, b) | excess(s->payload_length, 14);
}

static uint64_t put_rsp_small(const struct wire_ses *s, uint8_t *b)
{
	store32(b + 8, s->original_psn);
	return put_response(s, (uint16_t)s->payload_length, 0, b) | excess(s->payload_length, 14);
}

static inline uint64_t put_ses(const struct wire_ses *s, uint8_t next_hdr, uint8_t *b)
{
	switch (next_hdr) {
	case WIRE_NH_STD:
		return put_std(s, b);
	case WIRE_NH_RSP:
		return put_rsp(s, b);
	case WIRE_NH_SMALL:
		return put_small(s, b);
	case WIRE_NH_MEDIUM:
		return put_medium(s, b);
	case WIRE_NH_RSP_DATA:
		return put_rsp_data(s, b);
	case WIRE_NH_RSP_DATA_SMALL:
		return put_rsp_small(s, b);
	default:
		return 0;
	}
}

static uint64_t put_amo(const struct wire_ses *s, uint8_t *b, uint32_t *bytes)
{
	store32(b, (uint32_t)s->amo_opcode << 24 | (uint32_t)s->amo_datatype << 16 | (uint32_t)s->amo_control << 8);
	*bytes = EXT_AMO_BYTES;
	if (amo_has_operands(s->amo_opcode)) {
		for (unsigned i = 0; i < 2; i++) {
			store64(b + 4 + 8 * i, s->amo_compare[i]);
			store64(b + 20 + 8 * i, s->amo_swap[i]);
		}
		*bytes = EXT_CSWAP_BYTES;
	}
	return 0;
}

static uint64_t put_rndv(const struct wire_ses *s, uint8_t *b, uint32_t *bytes)
{
	store64(b, (uint64_t)s->rndv_eager_length << 32 | (uint64_t)s->rndv_ri_generation << 24 |
			   (uint64_t)s->rndv_pid_on_fep << 12 | s->rndv_resource_index);
	store64(b + 8, s->rndv_offset);
	store64(b + 16, s->rndv_match);
	*bytes = EXT_RNDV_BYTES;
	return excess(s->rndv_pid_on_fep, 12) | excess(s->rndv_resource_index, 12);
}

size_t wire_encode(const struct wire_pkt *p, uint8_t *buf)
{
	bool v4 = weft_ip_is_v4(&p->net.src);
	uint32_t at = (v4 ? IP4_BYTES : IP6_BYTES) + (p->net.native ? ENTROPY_BYTES : UDP_BYTES), ext_bytes = 0;
	uint32_t pds_size = pds_bytes(p->pds.type);
	uint8_t next_hdr = p->pds.type == WIRE_PDS_CP ? WIRE_NH_NONE : p->pds.next_hdr;

	if (pds_size == 0 || p->pds.type > 31 || !ses_known(next_hdr))
		return 0;
	uint64_t bad = put_pds(&p->pds, buf + at);
	at += pds_size;
	bad |= put_ses(&p->ses, next_hdr, buf + at);
	at += ses_bytes(next_hdr);
	enum ses_ext ext = ses_ext(next_hdr, p->ses.opcode);
	if (ext != EXT_NONE)
		bad |= (ext == EXT_AMO ? put_amo : put_rndv)(&p->ses, buf + at, &ext_bytes);
	at += ext_bytes;
	bad |= put_net(&p->net, v4, at + p->payload_bytes + (p->net.crc ? CRC_BYTES : 0), buf);
	return bad ? 0 : at;
}
