/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of packets of the data path, RUD_REQ with a standard request or a response with data, and ACK_CC with a
 * response, over IPv4 and UDP: decoders that extract what a transport needs and nothing else. Inline, for most of them
 * is branches that the caller's next step would repeat. Whatever else arrives, and whatever is wrong with a packet, is
 * wire_decode's. */
#ifndef WEFT_WIRE_HOT_H
#define WEFT_WIRE_HOT_H

#include "likely.h"
#include "wire_build.h"
#include "wire_fmt.h"

enum {
	HOT_PDS_AT = IP4_BYTES + UDP_BYTES,
	HOT_DATA_BYTES = HOT_PDS_AT + 12 + 44,   /* RUD_REQ with a standard request */
	HOT_ANSWER_BYTES = HOT_PDS_AT + 12 + 20, /* RUD_REQ with a response with data */
	HOT_ACK_BYTES = HOT_PDS_AT + 32 + 12,    /* ACK_CC with a response */
};

/* What a packet of the data path is. */
enum wire_hot { WIRE_HOT_NONE, WIRE_HOT_DATA, WIRE_HOT_ACK };

/* Type and next header, the prologue without flags. */
#define HOT_KIND(type, next_hdr) ((uint32_t)(type) << 4 | (uint32_t)(next_hdr))

/* Whether these 28 bytes are a sound IPv4 header, without options, of an untrimmed UDP packet to `dst` and `udp_port`.
 * If so `seen` remembers them. */
__attribute__((cold)) bool wire_see_header(const uint8_t *buf, uint16_t udp_port, const struct weft_ip *dst,
					   struct wire_seen *seen);

/* Whether an IPv4 packet is from `src`. */
static HOT bool wire_hot_is_from(const uint8_t *buf, const struct weft_ip *src)
{
	return raw32(buf + IP4_SRC_AT) == raw32(src->b + 12);
}

/* A sound IPv4 and UDP packet to our address and port, which is all there. */
static HOT bool hot_net(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, const struct weft_ip *dst,
			struct wire_seen *seen)
{
	if (unlikely(raw64(buf) != seen->version || raw64(buf + 8) != seen->ttl ||
		     raw32(buf + IP4_DST_AT) != seen->dst || raw32(buf + UDP_PORT_AT) != seen->udp))
		if (!wire_see_header(buf, udp_port, dst, seen))
			return false;
	return likely(seen->total <= len + more);
}

/* What both kinds have in common; `total` is the IP packet's length. */
static HOT void hot_common(const uint8_t *buf, uint32_t kind, uint32_t header_bytes, uint32_t total, struct wire_pkt *p)
{
	const uint8_t *pds = buf + HOT_PDS_AT;

	put_raw64(p->net.src.b, 0);
	put_raw64(p->net.src.b + 8, (uint64_t)raw32(buf + IP4_SRC_AT) << 32 | 0xffff0000);
	p->net.entropy = load16(buf + IP4_BYTES);
	p->pds.type = (uint8_t)(kind >> 4);
	p->pds.next_hdr = kind & 0xf;
	p->pds.psn = load32(pds + 4);
	SET_FIELDS32(&p->pds, dpdcid, load32(pds + 8));
	p->header_bytes = (uint16_t)header_bytes;
	p->payload_bytes = (uint16_t)(total - header_bytes);
	p->trimmed = 0;
	p->has_ses = 1;
}

/* The same for packets with data. */
static HOT void hot_request(const uint8_t *buf, uint32_t kind, uint32_t header_bytes, uint32_t total,
			    struct wire_pkt *p)
{
	const uint8_t *pds = buf + HOT_PDS_AT;

	hot_common(buf, kind, header_bytes, total, p);
	p->net.dscp = buf[1] >> 2;
	p->net.ecn = buf[1] & 3;
	p->pds.flags = pds[1] & 0x7f;
	p->pds.offset = (int16_t)load16(pds + 2);
	if (p->pds.flags & WIRE_F_SYN) {
		p->pds.psn_offset = p->pds.dpdcid & 0xfff;
		p->pds.use_rsv_pdc = p->pds.dpdcid >> 15;
		p->pds.dpdcid = 0;
	}
}

static HOT bool hot_data(const uint8_t *buf, size_t len, struct wire_pkt *p)
{
	const uint8_t *ses = buf + HOT_PDS_AT + 12;
	uint32_t total = load16(buf + 2);

	if (len < HOT_DATA_BYTES || total < HOT_DATA_BYTES || ses_ext(WIRE_NH_STD, ses[0] & 0x3f) != EXT_NONE)
		return false;
	uint64_t word = load64(ses), place = load64(ses + 32);
	hot_request(buf, HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_STD), HOT_DATA_BYTES, total, p);
	SET_FIELDS64(&p->ses, job_id, word & UINT64_C(0x3f3fffff00ffffff));
	SET_FIELDS32(&p->ses, resource_index, load32(ses + 8) & 0x0fff0fff);
	p->ses.ri_generation = ses[4];
	p->ses.buffer_offset = load64(ses + 12);
	p->ses.initiator = load32(ses + 20);
	p->ses.match = load64(ses + 24);
	p->ses.header_data = place;
	if (p->ses.flags & WIRE_SES_SOM)
		place = 0;
	SET_FIELDS64(&p->ses, message_offset, place & (UINT64_C(0x3fff) << 32 | UINT32_MAX));
	p->ses.request_length = load32(ses + 40);
	return true;
}

static HOT bool hot_answer(const uint8_t *buf, struct wire_pkt *p)
{
	const uint8_t *ses = buf + HOT_PDS_AT + 12;
	uint32_t total = load16(buf + 2);

	if (total < HOT_ANSWER_BYTES)
		return false;
	uint64_t word = load64(ses), more = load64(ses + 8);
	hot_request(buf, HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA), HOT_ANSWER_BYTES, total, p);
	SET_FIELDS64(&p->ses, job_id, word & UINT64_C(0x3f00ffff00ffffff));
	p->ses.return_code = word >> 48 & 0x3f;
	p->ses.read_message_id = (uint16_t)(more >> 48);
	p->ses.payload_length = more >> 32 & 0x3fff;
	p->ses.message_offset = load32(ses + 16);
	return true;
}

static HOT bool hot_ack(const uint8_t *buf, uint32_t total, struct wire_pkt *p)
{
	const uint8_t *pds = buf + HOT_PDS_AT, *ses = pds + 32;
	uint32_t sack = load32(pds + 12);

	if (unlikely(total < HOT_ACK_BYTES || sack >> 28 != WIRE_CC_NSCC))
		return false;
	hot_common(buf, HOT_KIND(WIRE_PDS_ACK_CC, WIRE_NH_RSP), HOT_ACK_BYTES, total, p);
	p->pds.flags = pds[1] & 0x7f;
	p->pds.offset = (int16_t)load16(pds + 2);
	p->pds.cc_type = WIRE_CC_NSCC;
	SET_FIELDS32(&p->pds, sack_offset, sack);
	p->pds.sack_bitmap = load64(pds + 16);
	p->pds.service_time = load16(pds + 24);
	p->ses.opcode = ses[0] & 0x3f;
	p->ses.return_code = ses[1] & 0x3f;
	return true;
}

/* What a packet may be at a glance: an ACK without P, or a request, but the first packet of a message or one that
 * establishes a connection. */
static HOT enum wire_hot wire_glance_hot(const uint8_t *buf, size_t len)
{
	const uint8_t *pds = buf + HOT_PDS_AT;

	if (unlikely(len < HOT_ACK_BYTES))
		return WIRE_HOT_NONE;
	uint32_t prologue = load16(pds);
	if ((prologue & (0xff80 | WIRE_F_ACK_P)) == HOT_KIND(WIRE_PDS_ACK_CC, WIRE_NH_RSP) << 7)
		return WIRE_HOT_ACK;
	if ((prologue & (0xff80 | WIRE_F_SYN)) == HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_STD) << 7 &&
	    len >= HOT_DATA_BYTES && !(pds[12 + 1] & WIRE_SES_SOM))
		return WIRE_HOT_DATA;
	return WIRE_HOT_NONE;
}

/* wire_decode_hot for what is WIRE_HOT_ACK at a glance: false is WIRE_HOT_NONE. */
static HOT bool wire_decode_hot_ack(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port,
				    const struct weft_ip *dst, struct wire_seen *seen, struct wire_pkt *p)
{
	return hot_net(buf, len, more, udp_port, dst, seen) && hot_ack(buf, seen->total, p);
}

/* The same for what is WIRE_HOT_DATA at a glance. Of `p` it sets less:
 * net.src, entropy and ecn; pds.flags, psn, dpdcid, spdcid; payload_bytes, has_ses; ses.message_id, opcode,
 * request_length, message_offset, payload_length. If the opcode is one that brings an extension the packet may still
 * not be one for wire_decode_hot, and payload_bytes includes the extension. */
static HOT bool wire_decode_hot_middle(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port,
				       const struct weft_ip *dst, struct wire_seen *seen, struct wire_pkt *p)
{
	const uint8_t *pds = buf + HOT_PDS_AT, *ses = pds + 12;
	uint32_t kind = HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_STD);

	if (!hot_net(buf, len, more, udp_port, dst, seen) || unlikely(seen->total < HOT_DATA_BYTES))
		return false;
	hot_common(buf, kind, HOT_DATA_BYTES, seen->total, p);
	p->net.ecn = buf[1] & 3;
	p->pds.flags = pds[1] & 0x7f;
	p->ses.opcode = ses[0] & 0x3f;
	p->ses.message_id = load16(ses + 2);
	p->ses.payload_length = load32(ses + 32) & LEN14_MAX;
	p->ses.message_offset = load32(ses + 36);
	p->ses.request_length = load32(ses + 40);
	return true;
}

/* Says whether a packet that is wholly at `buf` but for `more` bytes of payload, without trailer, is one of the data
 * path for the engine at `dst`, an IPv4 address, which keeps `seen` for data and ACKs. If so wire_decode would accept
 * it, too, and these fields of `p` are as it would set them: net.src, entropy; pds.type, next_hdr, flags, psn, offset,
 * dpdcid, spdcid; header_bytes, payload_bytes, trimmed, has_ses. Data: also net.dscp and ecn; pds.psn_offset and
 * use_rsv_pdc in a SYN; of ses job_id, message_id, flags, opcode, ri_generation, resource_index, pid_on_fep,
 * buffer_offset, initiator, match, request_length, message_offset, payload_length, header_data in a SOM. Data that are
 * a response: the same of net and pds; of ses job_id, message_id, opcode, return_code, read_message_id, message_offset,
 * payload_length. ACKs: also
 * pds.cc_type (it is NSCC), sack_offset, mpr, cc_flags, sack_bitmap, service_time; of ses opcode and return_code. The
 * rest of `p` is left alone or means nothing. */
static HOT enum wire_hot wire_decode_hot(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port,
					 const struct weft_ip *dst, struct wire_seen seen[2], struct wire_pkt *p)
{
	if (len < HOT_ANSWER_BYTES)
		return WIRE_HOT_NONE;
	uint32_t kind = load16(buf + HOT_PDS_AT) >> 7;
	if (kind == HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_STD) && hot_net(buf, len, more, udp_port, dst, &seen[0]))
		return hot_data(buf, len, p) ? WIRE_HOT_DATA : WIRE_HOT_NONE;
	if (kind == HOT_KIND(WIRE_PDS_ACK_CC, WIRE_NH_RSP) && len >= HOT_ACK_BYTES &&
	    !(buf[HOT_PDS_AT + 1] & WIRE_F_ACK_P) && wire_decode_hot_ack(buf, len, more, udp_port, dst, &seen[1], p))
		return WIRE_HOT_ACK;
	if (kind == HOT_KIND(WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA) && hot_net(buf, len, more, udp_port, dst, &seen[0]))
		return hot_answer(buf, p) ? WIRE_HOT_DATA : WIRE_HOT_NONE;
	return WIRE_HOT_NONE;
}

#endif
