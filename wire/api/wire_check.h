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

/* What a receiver does with a packet is up to its kind. */
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
	WIRE_KIND_FOREIGN,  /* a type that Weft does not speak: RUDI, vendors' congestion states */
};

/* Network headers found to be in order, and what they say. */
struct wire_outer {
	/* IPv4 and UDP headers as they stand in a packet, but for the entropy: bytes 0-7, 8-15, 16-19, 22-25. */
	uint64_t version, ttl;
	uint32_t dst, port;
	struct weft_ip src;
	uint32_t total_bytes; /* of the IP packet; UINT32_MAX: another packet with these headers may be wrong */
	uint32_t end;         /* where the payload ends, trailer not included */
	uint16_t room;        /* for PDS and SES header, up to `end`; 0 when a switch trimmed the packet */
	uint8_t bytes;        /* of the IP and UDP or entropy header */
	int8_t entropy_at;    /* from where these end */
	uint8_t tos;          /* DSCP and ECN */
	bool trimmed;         /* the DSCP says so */
	bool native;          /* no UDP header */
	bool crc;             /* a CRC32C follows the payload */
	uint8_t reserved[8];
};
_Static_assert(sizeof(struct wire_outer) == 64, "so that a shift is enough to find one");

/* What a receiver takes, and the headers it has seen last: of data and, by the upper bit of the DSCP, of control
 * packets. */
struct wire_rules {
	struct wire_outer seen[2];
	struct weft_ip dst; /* its address, unless any_dst */
	bool any_dst;
	bool require_crc;  /* packets end in a CRC32C, but trimmed ones */
	uint16_t udp_port; /* its UDP port; packets without UDP need none */
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
	uint32_t ses_bytes;     /* SES header with extension; 0: there is none, or it is cut */
	uint32_t header_bytes;  /* from the IP header to the end of those */
	uint32_t payload_bytes; /* after them; 0 when trimmed */
	enum wire_kind kind;
};

/* ---- steps of wire_check ---- */

/* What type and form make of most packets. */
struct wire_shape {
	uint8_t kind;      /* enum wire_kind */
	uint8_t pds_bytes; /* PDS header */
	uint16_t bytes;    /* PDS and SES header; UINT16_MAX: unknown, or with room for an extension, see wire_inner */
};
extern const struct wire_shape wire_shapes[512]; /* by type << 4 | next_hdr */

/* What is behind the network headers. */
struct wire_inner {
	uint8_t error; /* enum wire_error; if there is one the rest means nothing */
	uint8_t kind;
	uint8_t pds_bytes, ses_bytes; /* as in struct wire_view */
};

enum { WIRE_COMPARED_BYTES = 28 + 4 }; /* and the beginning of a PDS header */

/* Checks IP and UDP or entropy header, lengths, trailer and address, and that there are at least the four bytes behind
 * that all PDS headers have. */
enum wire_error wire_check_outer(const struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more,
				 struct wire_outer *o);

/* Any headers at `pds`, `left` bytes of which are there, at least four. */
struct wire_inner wire_check_inner(const uint8_t *pds, uint32_t left, bool trimmed);

/* Whether a packet, of which WIRE_COMPARED_BYTES are there, has the same headers. */
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

/* READ, some atomics, and messages that are announced: the length is of something else. */
static inline bool wire_op_may_lack_payload(uint8_t opcode)
{
	const uint64_t ops = 1 << WIRE_OP_READ | 1 << WIRE_OP_ATOMIC | 1 << WIRE_OP_FETCHING_ATOMIC |
			     1 << WIRE_OP_RENDEZVOUS_SEND | 1 << WIRE_OP_RENDEZVOUS_TSEND;
	return ops >> (opcode & 63) & 1;
}

/* Where in its message a request's payload begins. */
static inline uint32_t wire_std_offset(const struct wire_std *s)
{
	return wire_req_som(&s->req) ? 0 : wire_std_message_offset(s);
}

/* A request that can be placed: within its message, and all of its payload. */
static inline __attribute__((always_inline)) bool wire_std_fits(const struct wire_std *s, uint32_t payload_bytes)
{
	uint32_t length = wire_std_request_length(s);

	if (unlikely(!wire_std_message_id(s) || length == UINT32_MAX))
		return false;
	uint64_t offset = 0;
	if (likely(!wire_req_som(&s->req))) {
		offset = wire_std_message_offset(s);
		if (unlikely(wire_std_payload_length(s) != payload_bytes))
			return false;
	}
	if (unlikely(offset + payload_bytes > length))
		return false;
	return likely(payload_bytes) || !length || wire_op_may_lack_payload(wire_req_opcode(&s->req));
}

static inline bool wire_rsp_data_fits(const struct wire_rsp_data *d, uint32_t payload_bytes)
{
	return wire_rsp_opcode((const struct wire_rsp *)d) == WIRE_RSP_W_DATA &&
	       wire_rsp_data_payload_length(d) == payload_bytes;
}

/* ---- the check ---- */

/* `len` bytes at `ip`, starting with the IP header, followed elsewhere by `more` of payload (0 for packets from a NIC).
 * Bytes beyond the IP length are padding. Reads nothing outside, accepts anything. On an error `v` means nothing. */
static inline __attribute__((always_inline)) enum wire_error
wire_check(struct wire_rules *rules, const uint8_t *ip, uint32_t len, uint32_t more, struct wire_view *v)
{
	struct wire_outer *o = &rules->seen[0];
	if (likely(len >= WIRE_COMPARED_BYTES))
		o += (size_t)(ip[1] >> 7);
	if (unlikely(len < WIRE_COMPARED_BYTES || !wire_outer_is(o, ip) || o->total_bytes > len + more)) {
		enum wire_error error = wire_check_outer(rules, ip, len, more, o);
		if (error != WIRE_OK)
			return error;
	}

	const uint8_t *pds = ip + o->bytes;
	const struct wire_shape *s = &wire_shapes[wire_load(pds, 2) >> 7];
	uint32_t kind = s->kind, pds_bytes = s->pds_bytes, header_bytes = (uint32_t)o->bytes + s->bytes, end = o->end;
	if (unlikely(s->bytes > o->room || header_bytes > len ||
		     (kind == WIRE_KIND_DATA && wire_op_extends(pds[pds_bytes] & 0x3f)))) {
		struct wire_inner inner = wire_check_inner(pds, (end < len ? end : len) - o->bytes, o->trimmed);
		if (inner.error != WIRE_OK)
			return (enum wire_error)inner.error;
		kind = inner.kind;
		pds_bytes = inner.pds_bytes;
		header_bytes = (uint32_t)o->bytes + pds_bytes + inner.ses_bytes;
		if (o->trimmed)
			end = header_bytes;
	}

	v->ip = ip;
	v->outer = o;
	v->hdr = (const struct wire_hdr *)pds;
	v->ses = pds + pds_bytes;
	v->ses_bytes = header_bytes - o->bytes - pds_bytes;
	v->header_bytes = header_bytes;
	v->payload_bytes = end - header_bytes;
	v->kind = kind;
	if (kind == WIRE_KIND_DATA && unlikely(!wire_std_fits(v->std, v->payload_bytes)))
		v->kind = WIRE_KIND_REFUSED;
	if (kind == WIRE_KIND_READ_DATA && unlikely(!wire_rsp_data_fits(v->rsp_data, v->payload_bytes)))
		v->kind = WIRE_KIND_REFUSED;
	return WIRE_OK;
}

/* ---- fields of the network headers ---- */

static inline uint16_t wire_view_entropy(const struct wire_view *v)
{
	return (uint16_t)wire_load((const uint8_t *)v->hdr + v->outer->entropy_at, 2);
}

static inline uint8_t wire_view_ecn(const struct wire_view *v)
{
	return v->outer->tos & 3;
}

static inline uint8_t wire_view_dscp(const struct wire_view *v)
{
	return v->outer->tos >> 2;
}

/* The packet's source, until the next packet is checked. */
static inline const struct weft_ip *wire_view_src(const struct wire_view *v)
{
	return &v->outer->src;
}

#endif
