/* SPDX-License-Identifier: BSD-3-Clause */
/* Received packets. wire_check decides what a packet is and finds out whether all of it is there and in order, once;
 * afterwards its fields are read in place (wire_hdr.h). Inline, for it is on the way of every packet: what the network
 * headers say is remembered, and most packets of a connection repeat them. */
#ifndef WEFT_WIRE_CHECK_H
#define WEFT_WIRE_CHECK_H

#include <stdbool.h>

#include "likely.h"
#include "wire.h"
#include "wire_hdr.h"

/* The kind of a packet decides what its receiver does with it. */
enum wire_kind {
	WIRE_KIND_NONE,      /* no type of UET */
	WIRE_KIND_DATA,      /* RUD, ROD request with a standard SES header, and a payload that fits into its message */
	WIRE_KIND_READ_DATA, /* RUD, ROD request with a response with data, likewise */
	WIRE_KIND_TRIMMED,   /* RUD, ROD request that has lost its payload to a switch; its SES header may be cut */
	WIRE_KIND_REFUSED,   /* RUD, ROD request of another form, or its payload does not fit */
	WIRE_KIND_ACK,       /* ACK, ACK_CC */
	WIRE_KIND_NACK,
	WIRE_KIND_CP,
	WIRE_KIND_DATAGRAM, /* UUD request */
	WIRE_KIND_RUDI,     /* RUDI request or response */
};

/* Network headers found to be in order, and what they say. */
struct wire_outer {
	/* IPv4 and UDP headers as they stand in a packet, but for the entropy: bytes 0-7, 8-15, 16-19, 22-25. */
	uint64_t version, ttl;
	uint32_t dst, port;
	struct weft_ip src;
	uint32_t total_bytes; /* of the IP packet; UINT32_MAX: another packet with these headers may be wrong */
	uint32_t end;         /* where the payload ends, trailer not included */
	uint8_t bytes;        /* of the IP and UDP or entropy header */
	uint8_t tos;          /* DSCP and ECN */
	bool trimmed;         /* the DSCP says so */
	bool native;          /* no UDP header */
	bool crc;             /* a CRC32C follows the payload */
	uint8_t encap;        /* enum wire_encap: what an answer is wrapped in */
	uint8_t reserved[10];
};
_Static_assert(sizeof(struct wire_outer) == 64, "a cache line");

/* What a receiver takes, and the network headers it has seen last: of usual packets, and of others. */
struct wire_rules {
	struct wire_outer seen_data, seen_ack, seen_short_ack, seen_other;
	struct weft_ip dst; /* its address, unless any_dst */
	bool any_dst;
	bool require_crc;  /* packets end in a CRC32C, but trimmed ones; else each is looked at whether it has one */
	uint16_t udp_port; /* its UDP port, beside 49150; packets without UDP need none */
};

void wire_rules_init(struct wire_rules *rules, uint16_t udp_port, bool require_crc);
/* From now on packets to other addresses are WIRE_NOT_OURS. */
void wire_rules_set_dst(struct wire_rules *rules, const struct weft_ip *dst);

/* A packet that is in order. What the pointers lead to is there, but for the SES header of a trimmed packet. */
struct wire_view {
	const uint8_t *ip;
	const struct wire_outer *outer; /* of the rules, until they check another packet */
	union {                         /* by type */
		const struct wire_hdr *hdr;
		const struct wire_request_cc *request_cc;
		const struct wire_ack_cc *ack_cc;
		const struct wire_ack_ccx *ack_ccx;
		const struct wire_nack *nack;
		const struct wire_nack_ccx *nack_ccx;
		const struct wire_cp *cp;
	};
	union { /* by next_hdr */
		const uint8_t *ses;
		const struct wire_req *req;
		const struct wire_std *std;
		const struct wire_medium *medium;
		const struct wire_small *small;
		const struct wire_rsp *rsp;
		const struct wire_rsp_data *rsp_data;
		const struct wire_rsp_small *rsp_small;
	};
	const uint8_t *entropy; /* two bytes */
	uint32_t ses_bytes;     /* SES header with extension; 0: there is none, or it is cut */
	uint32_t header_bytes;  /* from the IP header to the end of those */
	uint32_t payload_bytes; /* after them; 0 when trimmed */
	enum wire_kind kind;
	uint8_t type, next_hdr; /* as in the PDS header, but next_hdr is 0 when there is no SES header, or it is cut */
	bool usual;             /* IPv4, UDP, and WIRE_KIND_ACK, but no P, or WIRE_KIND_DATA, but neither SYN nor SOM */
	enum wire_error error;  /* what wire_check returns */
};

/* ---- steps of wire_check ---- */

/* What is behind the network headers. */
struct wire_inner {
	uint8_t error; /* enum wire_error; if there is one the rest means nothing */
	uint8_t kind;
	uint8_t type, next_hdr; /* as in struct wire_view */
	uint8_t pds_bytes;      /* the PDS header */
	uint8_t ses_bytes;      /* SES header with extension, 0 when there is none, or it is cut */
};

/* Headers of usual packets. What follows about these three forms is no second decision on what a packet is: it is the
 * answer that wire_check_any gives to them, written down. Where it is given, wire_check_any would give the same view,
 * `usual` aside (tests/unit/wire/test_wire_check.c, tests/fuzz/fuzz_wire.c). */
enum {
	WIRE_USUAL_NET_BYTES = 20 + 8,
	WIRE_USUAL_ACK_BYTES = WIRE_USUAL_NET_BYTES + 32 + 12,
	WIRE_USUAL_SHORT_ACK_BYTES = WIRE_USUAL_NET_BYTES + 12,
	WIRE_USUAL_DATA_BYTES = WIRE_USUAL_NET_BYTES + 12 + 44,
};

/* Checks IP and UDP or entropy header, lengths, trailer and address, and that there are at least the four bytes behind
 * that all PDS headers have. */
enum wire_error wire_check_outer(const struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more,
				 struct wire_outer *o);

/* Any headers at `pds`, `left` bytes of which are there, at least four. */
struct wire_inner wire_check_inner(const uint8_t *pds, uint32_t left, bool trimmed);

/* Whether a packet, of which WIRE_USUAL_NET_BYTES are there, has the same headers. */
static inline __attribute__((always_inline)) bool wire_outer_is(const struct wire_outer *o, const uint8_t *ip)
{
	uint64_t version, ttl;
	uint32_t dst, port;

	memcpy(&version, ip, sizeof version);
	memcpy(&ttl, ip + 8, sizeof ttl);
	memcpy(&dst, ip + 16, sizeof dst);
	memcpy(&port, ip + 22, sizeof port);
	return likely(version == o->version && ttl == o->ttl && dst == o->dst && port == o->port);
}

/* Opcodes that bring an extension. */
static inline bool wire_op_extends(uint8_t opcode)
{
	const uint64_t ops = 1 << WIRE_OP_ATOMIC | 1 << WIRE_OP_FETCHING_ATOMIC | 1 << WIRE_OP_TSEND_ATOMIC |
			     1 << WIRE_OP_TSEND_FETCH_ATOMIC | 1 << WIRE_OP_RENDEZVOUS_SEND |
			     1 << WIRE_OP_RENDEZVOUS_TSEND;
	return ops >> (opcode & 63) & 1;
}

/* READ, some atomics, messages that are announced or given up: the length is of something else. */
static inline bool wire_op_may_lack_payload(uint8_t opcode)
{
	const uint64_t ops = 1 << WIRE_OP_READ | 1 << WIRE_OP_ATOMIC | 1 << WIRE_OP_FETCHING_ATOMIC |
			     1 << WIRE_OP_RENDEZVOUS_SEND | 1 << WIRE_OP_RENDEZVOUS_TSEND | 1 << WIRE_OP_MSG_ERROR;
	return ops >> (opcode & 63) & 1;
}

/* Where in its message a request's payload begins. */
static inline uint32_t wire_std_offset(const struct wire_std *s)
{
	return wire_req_som(&s->req) ? 0 : wire_std_message_offset(s);
}

/* A packet of a READ, which says how much it asks for instead of bringing it: whether that is within its message. */
static inline bool wire_std_asks(const struct wire_std *s, uint64_t offset, uint32_t length)
{
	return wire_req_opcode(&s->req) == WIRE_OP_READ && offset + wire_std_payload_length(s) <= length;
}

/* A request that can be placed: within its message, and all of its payload, or all that it asks for. One that is the
 * first and last of its message has all of it. */
static inline __attribute__((always_inline)) bool wire_std_fits(const struct wire_std *s, uint32_t payload_bytes)
{
	uint32_t length = wire_std_request_length(s);

	if (unlikely(length == UINT32_MAX))
		return false;
	uint64_t offset = 0;
	if (likely(!wire_req_som(&s->req))) {
		offset = wire_std_message_offset(s);
		if (unlikely(wire_std_payload_length(s) != payload_bytes))
			return !payload_bytes && wire_std_asks(s, offset, length);
	}
	if (unlikely(offset + payload_bytes > length))
		return false;
	/* All of a message in one packet, or at least some of it. */
	bool enough = wire_req_som(&s->req) && wire_req_eom(&s->req) ? payload_bytes == length : payload_bytes > 0;
	return likely(enough) || !length || wire_op_may_lack_payload(wire_req_opcode(&s->req));
}

/* Whether wire_std_fits is certain: in the middle of a message, of an opcode without extension, with payload. */
static inline __attribute__((always_inline)) bool wire_std_continues(const struct wire_std *s, uint32_t payload_bytes)
{
	uint32_t length = wire_std_request_length(s);
	uint64_t end = (uint64_t)wire_std_message_offset(s) + payload_bytes;

	return !wire_req_som(&s->req) && !wire_op_extends(wire_req_opcode(&s->req)) && length != UINT32_MAX &&
	       wire_std_payload_length(s) == payload_bytes && end <= length;
}

/* Whether a request of kind REFUSED is so because the end of its payload is missing. */
bool wire_view_is_cut(const struct wire_view *v);

static inline bool wire_rsp_data_fits(const struct wire_rsp_data *d, uint32_t payload_bytes)
{
	return wire_rsp_opcode((const struct wire_rsp *)d) == WIRE_RSP_W_DATA &&
	       wire_rsp_data_payload_length(d) == payload_bytes;
}

/* ---- the check ---- */

/* What is the same for all packets with these network headers is known; `inner` says what is behind them. */
static inline __attribute__((always_inline)) void wire_view_set(struct wire_view *v, const uint8_t *ip,
								uint32_t net_bytes, const struct wire_outer *o,
								struct wire_inner inner)
{
	v->ip = ip;
	v->outer = o;
	v->hdr = (const struct wire_hdr *)(ip + net_bytes);
	v->ses = ip + net_bytes + inner.pds_bytes;
	v->entropy = ip + net_bytes - (o->native ? 4 : 8);
	v->ses_bytes = inner.ses_bytes;
	v->header_bytes = net_bytes + inner.pds_bytes + inner.ses_bytes;
	v->payload_bytes = o->end - v->header_bytes;
	v->type = inner.type;
	v->next_hdr = inner.next_hdr;
	v->kind = inner.kind;
	v->usual = false;
}

static inline __attribute__((always_inline)) void
wire_view_set_usual_inner(struct wire_view *v, const uint8_t *ip, const struct wire_outer *o, struct wire_inner inner)
{
	wire_view_set(v, ip, WIRE_USUAL_NET_BYTES, o, inner);
	v->entropy = ip + 20;
	v->usual = true;
}

/* A usual packet, by its kind; of ACKs the longer form. */
static inline __attribute__((always_inline)) void wire_view_set_usual(struct wire_view *v, const uint8_t *ip,
								      const struct wire_outer *o, enum wire_kind kind)
{
	static const struct wire_inner data = {WIRE_OK, WIRE_KIND_DATA, WIRE_PDS_RUD_REQ, WIRE_NH_STD, 12, 44};
	static const struct wire_inner ack = {WIRE_OK, WIRE_KIND_ACK, WIRE_PDS_ACK_CC, WIRE_NH_RSP, 32, 12};

	wire_view_set_usual_inner(v, ip, o, kind == WIRE_KIND_ACK ? ack : data);
}

static inline __attribute__((always_inline)) void wire_view_set_short_ack(struct wire_view *v, const uint8_t *ip,
									  const struct wire_outer *o)
{
	static const struct wire_inner ack = {WIRE_OK, WIRE_KIND_ACK, WIRE_PDS_ACK, WIRE_NH_NONE, 12, 0};

	wire_view_set_usual_inner(v, ip, o, ack);
}

/* What the PDS header of a usual packet begins with, by its kind; 0: it is none, or a short ACK. `prologue` is that of
 * a packet over IPv4 and UDP. */
static inline enum wire_kind wire_usual_kind(uint32_t prologue)
{
	if ((prologue & (0xff80 | WIRE_F_ACK_P)) == (WIRE_PDS_ACK_CC << 11 | WIRE_NH_RSP << 7))
		return WIRE_KIND_ACK;
	if ((prologue & (0xff80 | WIRE_F_SYN)) == (WIRE_PDS_RUD_REQ << 11 | WIRE_NH_STD << 7))
		return WIRE_KIND_DATA;
	return WIRE_KIND_NONE;
}

static inline bool wire_is_short_ack(uint32_t prologue)
{
	return (prologue & (0xff80 | WIRE_F_ACK_P)) == (WIRE_PDS_ACK << 11 | WIRE_NH_NONE << 7);
}

/* Whether a packet has these network headers and is all there: `bytes` of headers in one piece, and payload behind
 * them if it `has_payload`. */
static inline __attribute__((always_inline)) bool wire_outer_again(const struct wire_outer *o, const uint8_t *ip,
								   uint32_t len, uint32_t more, uint32_t bytes,
								   bool has_payload)
{
	return len >= bytes && wire_outer_is(o, ip) && likely(o->total_bytes <= len + more) &&
	       likely(o->end >= bytes + has_payload);
}

/* The rest of wire_check: any packet. */
struct wire_view wire_check_any(struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more);

/* `len` bytes at `ip`, starting with the IP header, followed elsewhere by `more` of payload (0 for packets from a NIC).
 * Bytes beyond the IP length are padding. Reads nothing outside, accepts anything. On an error `v` means nothing.
 *
 * Most packets have the network headers of one before, and are one of three forms over IPv4 and UDP: these are usual,
 * where their fields lie is constant, and what wire_check_any says of them is remembered. */
static inline __attribute__((always_inline)) enum wire_error
wire_check(struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more, struct wire_view *v)
{
	if (likely(len >= WIRE_USUAL_ACK_BYTES)) {
		enum wire_kind kind = wire_usual_kind((uint32_t)wire_load(ip + WIRE_USUAL_NET_BYTES, 2));
		const struct wire_outer *data = &rules->seen_data, *ack = &rules->seen_ack;
		if (kind == WIRE_KIND_ACK && wire_outer_again(ack, ip, len, more, WIRE_USUAL_ACK_BYTES, false)) {
			wire_view_set_usual(v, ip, ack, WIRE_KIND_ACK);
			return WIRE_OK;
		}
		if (kind == WIRE_KIND_DATA && wire_outer_again(data, ip, len, more, WIRE_USUAL_DATA_BYTES, true)) {
			wire_view_set_usual(v, ip, data, WIRE_KIND_DATA);
			if (likely(wire_std_continues(v->std, v->payload_bytes)))
				return WIRE_OK;
		}
	} else if (len >= WIRE_USUAL_SHORT_ACK_BYTES) {
		const struct wire_outer *ack = &rules->seen_short_ack;
		if (wire_is_short_ack((uint32_t)wire_load(ip + WIRE_USUAL_NET_BYTES, 2)) &&
		    wire_outer_again(ack, ip, len, more, WIRE_USUAL_SHORT_ACK_BYTES, false)) {
			wire_view_set_short_ack(v, ip, ack);
			return WIRE_OK;
		}
	}
	*v = wire_check_any(rules, ip, len, more);
	v->usual = false; /* which the compiler would not know otherwise */
	return v->error;
}

/* ---- fields of the network headers ---- */

static inline uint16_t wire_view_entropy(const struct wire_view *v)
{
	return (uint16_t)wire_load(v->entropy, 2);
}

static inline uint8_t wire_view_ecn(const struct wire_view *v)
{
	return v->outer->tos & 3;
}

static inline uint8_t wire_view_dscp(const struct wire_view *v)
{
	return v->outer->tos >> 2;
}

/* What a request says of credit; 0 when its type says nothing. */
static inline bool wire_view_has_credit(const struct wire_view *v)
{
	return v->type == WIRE_PDS_RUD_CC_REQ || v->type == WIRE_PDS_ROD_CC_REQ;
}

static inline uint8_t wire_view_ccc_id(const struct wire_view *v)
{
	return wire_view_has_credit(v) ? wire_request_cc_ccc_id(v->request_cc) : 0;
}

static inline uint32_t wire_view_credit(const struct wire_view *v)
{
	return wire_view_has_credit(v) ? wire_request_cc_credit_target(v->request_cc) : 0;
}

/* The packet's source, until the next packet is checked. */
static inline const struct weft_ip *wire_view_src(const struct wire_view *v)
{
	return &v->outer->src;
}

/* Whether a packet is from `ip`, an address of our family: of IPv4 addresses the second half says it all. */
static inline __attribute__((always_inline)) bool wire_view_is_from(const struct wire_view *v, const struct weft_ip *ip)
{
	const uint8_t *src = wire_view_src(v)->b;

	assert(!v->usual || weft_ip_is_v4(ip));
	return likely(memcmp(src + 8, ip->b + 8, 8) == 0) && likely(v->usual || memcmp(src, ip->b, 8) == 0);
}

#endif
